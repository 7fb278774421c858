"""Stand-ins for the five platforms: they respond as documented, and reject undocumented requests.

Every shape cites its source and when the documentation was read:
  [V] the platform's own documentation, changelog or specification   (read November 2026)
  [P] measured or reported by a third-party project                  (read November 2026)
  [live] seen in responses of the platform itself
  [K] general knowledge, not looked up: no test may depend on it alone
"""
