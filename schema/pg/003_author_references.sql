-- additive: yes
-- When an author or a key is deleted, PostgreSQL looks for rows that refer to it. Without an index, it reads the whole table for each one,
-- so a restore was quadratic: it read all codes for each author and each key.
CREATE INDEX oauth_codes_by_author ON oauth_codes (author_id);
CREATE INDEX oauth_codes_by_key ON oauth_codes (key_id);
CREATE INDEX platform_links_by_author ON platform_links (author_id);
