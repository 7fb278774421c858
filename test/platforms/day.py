"""A simulated day: an hourly refresh of all five platforms with random faults, and at its end not one count that
nobody can account for.

    make test-day [DAY="--authors 2000 --videos 5 --hours 24 --seed 1"]

Each post is on all five, so 2,000 authors with 5 videos are 50,000 posts.
"""
import argparse
import collections
import json
import pathlib
import random
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parent.parent)]

from lib.clock import FakeClock                                     # noqa: E402
from lib.viewtally import Viewtally                                 # noqa: E402
from platformworld import COUNTS, PLATFORMS, Standins, World        # noqa: E402

HOUR = 3_600_000
BEGIN = "2026-07-10T00:55:00Z"
READ = {"tiktok": "tiktok.query", "instagram": "instagram.[bi]*", "youtube": "youtube.batch", "facebook": "facebook.batch", "pinterest": "pinterest.pin"}
TOKEN = {"tiktok": "tiktok.token.*", "instagram": "instagram.token.*", "pinterest": "pinterest.token.*"}
ERRORS = {"tiktok": ["internal_error", "rate_limit_exceeded", "error_with_200"], "youtube": ["backendError", "rateLimitExceeded", "RATE_LIMIT_EXCEEDED"],
          "instagram": ["2", "80002", "17", "transient"], "facebook": ["2", "80001", "32", "613"], "pinterest": ["server_error", "rate"]}
OPERATION = [("null", {}), ("error", {"name": "2"}), ("error", {"name": "100.33"}), ("raw", {"status": 200, "body": "oops"})]
WIRE = ["reset", "truncated", "cut_json", "garbage", "empty", "html", "not_http", "utf8"]


class Day:
    def __init__(self, directory, authors, videos, seed, apart=False, timeout_ms=1000, deadline_s=10):
        self.clock = FakeClock(directory / "clock", BEGIN)
        self.instance = Viewtally(directory / "viewtally", clock=self.clock)
        self.standins = Standins(self.clock, apart=apart)
        self.world = World(self.instance, self.standins)
        self.world.configure(platforms={"timeout_ms": timeout_ms, "deadline_s": deadline_s, "retry_percent": 10},
                             **{name: {"in_flight": 16} for name in ("tiktok", "instagram", "youtube", "facebook", "pinterest")})
        self.random = random.Random(seed)
        self.names = self.world.add(authors=authors, videos=videos, posted_at="2026-07-08T08:00:00Z", login=lambda n: "instagram" if n % 2 else "facebook")
        self.world_videos = videos
        self.ids = {platform: self.world.ids(platform) for platform in PLATFORMS}
        self.away, self.revoked = collections.defaultdict(list), set()
        for name in self.standins.names():
            self.standins.many(name, [{"op": "seed", "seed": seed}])
        self.outcomes, self.seconds = collections.Counter(), []

    def close(self):
        self.standins.close()

    # -- faults -------------------------------------------------------------------------------------------

    def trouble(self):
        """Sets the faults of this hour: some calls of each platform, sometimes a whole platform."""
        for platform in PLATFORMS:
            self.fault(platform, "error", name=self.random.choice(ERRORS[platform]), route=READ[platform], probability=0.02)
            self.fault(platform, self.random.choice(WIRE), route=READ[platform], probability=0.02)
            if platform in ("instagram", "facebook"):
                kind, more = self.random.choice(OPERATION)
                self.fault(platform, kind, route=f"{platform}.op", probability=0.02, **more)
            if platform in TOKEN and self.random.random() < 0.3:
                self.fault(platform, "error", route=TOKEN[platform], probability=0.1, name={"tiktok": "server_error", "pinterest": "server_error"}.get(platform, "2"))
            self.posts_that_come_and_go(platform)
        if self.random.random() < 0.3:
            down = self.random.choice(PLATFORMS)
            self.standins.tell(down, "clear")
            self.fault(down, "error", route=f"{down}.*", name=ERRORS[down][0])
        if self.random.random() < 0.3:
            self.fault(self.random.choice(PLATFORMS), "silent", times=2)
        self.tokens_that_end()

    def fault(self, platform, kind, **values):
        self.standins.fault(platform, kind, **values)

    def posts_that_come_and_go(self, platform):
        operations = [{"op": "post", "id": id, "state": "public", "hidden": []} for id in self.away.pop(platform, [])]
        chosen = self.random.sample(self.ids[platform], max(1, len(self.ids[platform]) // 200))
        for id in chosen:
            state = self.random.choice(["deleted", "hidden"])
            change = {"state": "deleted"} if state == "deleted" else {"hidden": [self.random.choice(COUNTS[:3])]}
            operations.append({"op": "post", "id": id, **change})
        self.away[platform] = chosen
        self.standins.many(platform, operations)

    def tokens_that_end(self):
        for platform in ("tiktok", "pinterest"):
            for name in self.random.sample(self.names, max(1, len(self.names) // 100)):
                self.standins.tell(platform, "token", account=self.world.accounts[name, platform], what="expire")
        if self.random.random() < 0.3:
            name, platform = self.random.choice(self.names), self.random.choice(("tiktok", "instagram", "facebook", "pinterest"))
            self.revoked.add((name, platform))
            self.standins.tell(platform, "token", account=self.world.accounts[name, platform], what="revoke")

    # -- a run and its invariants ----------------------------------------------------------------------

    def hour(self, hour, trouble=True):
        self.standins.clear()
        for name in self.standins.names():
            self.standins.many(name, [{"op": "grow", "seed": hour, "most": 500}, {"op": "forget"}])
        # Retries wait for seconds, so only in every sixth hour.
        self.world.configure(platforms={"retry_percent": 10 if hour % 6 == 0 else 0})
        if trouble:
            self.trouble()
        begun = time.monotonic()
        finished = self.world.refresh(status=None, timeout=600)
        self.seconds.append(time.monotonic() - begun)
        self.outcomes[finished.out.partition(" in ")[0]] += 1
        self.keep_books()
        self.clock.advance(HOUR)
        return finished

    def keep_books(self):
        """Checks the run's counters: each live post is counted exactly once."""
        rows = self.world.rows("SELECT platform, name, value FROM refresh_counts WHERE source = 2 AND run_id = (SELECT max(id) FROM refresh_runs)")
        self.books = {platform: collections.Counter() for platform in PLATFORMS}
        for platform, name, value in rows:
            if platform in range(len(PLATFORMS)):
                self.books[PLATFORMS[platform]][name] += value
        marked = {account for account, in self.world.rows("SELECT account_id FROM platform_credentials WHERE state <> 0")}
        for platform, book in self.books.items():
            settled = sum(book[name] for name in ("read", "no_data", "missing", "permanent", "unread", "not_due"))
            # Posts of an unusable account are not part of a run.
            out = sum(self.world.accounts[name, platform] in marked for name in self.names)
            least = len(self.ids[platform]) - self.world_videos * out
            assert least <= settled <= len(self.ids[platform]), f"{platform}: {settled} of {len(self.ids[platform])} posts: {dict(book)}"
            assert book["accepted"] <= book["read"]

    def check(self):
        """Checks that every count is the stand-in's current one, or the last one that it returned with a recorded failure since.
        Returns the number of differences by reason."""
        have = self.world.counts()
        marked = {account for account, in self.world.rows("SELECT account_id FROM platform_credentials WHERE state <> 0")}
        reasons, equal, views = collections.Counter(), 0, collections.Counter()
        for platform in PLATFORMS:
            truth, told = self.standins.tell(platform, "truth"), self.standins.tell(platform, "served")
            asked = {id for record in self.standins.log(platform) for id in record["ids"]}
            unread = 0                                          # posts that the run must have counted as unread or missing
            for id in self.ids[platform]:
                found, true, served = have[platform][id], truth[id], told["served"].get(id, {})
                views["have"] += found["views"] or 0
                views["truth"] += true.get("views", 0)
                differing = [name for name in COUNTS if found[name] != true.get(name)]
                if not differing:
                    equal += 1
                    continue
                account = self.world.accounts[self.world.posts[platform][id][0], platform]
                if account in marked:
                    reason = "has to sign in again"
                elif id in told["failed"]:
                    reason, unread = f"failed: {told['failed'][id]}", unread + 1
                elif not true or all(name not in true for name in differing):
                    reason = "cannot be had: deleted, or a count is hidden"
                elif id not in asked:
                    reason, unread = "not asked: the platform was down", unread + 1
                elif any(found[name] != value and not (name == "views" and found[name] > value) for name, value in served.items()):
                    # In flight for longer than a call may take: counted as unread.
                    reason, unread = "told too late", unread + 1
                else:
                    raise AssertionError(f"{platform} {id}: {found}, and there it is {true}; told: {served}")
                reasons[f"{platform}: {reason}"] += 1
            book = self.books[platform]
            assert unread <= book["unread"] + book["missing"] + book["no_data"] + book["not_due"], f"{platform}: {unread} unread; {dict(book)}"
        total = self.world.rows("SELECT sum(views) FROM videos")[0][0]
        assert total == views["have"], "what the API sums up"
        return {"posts": sum(len(ids) for ids in self.ids.values()), "equal": equal, "views": dict(views), "differ": dict(reasons)}

    def calm(self):
        """Without faults: checks that everything readable was read."""
        for platform in PLATFORMS:
            self.standins.many(platform, [{"op": "post", "id": id, "state": "public", "hidden": []} for id in self.away.pop(platform, [])])
        self.clock.advance(HOUR)         # closes open circuits
        # A platform that was down when a login ended, or a canceled call, has not reported it yet.
        self.hour(98, trouble=False)
        for name, platform in self.revoked:
            assert self.world.credential(name, platform)["state"] == 1, f"{name} has to sign in again at {platform}"
        accounts = {account: key for key, account in self.world.accounts.items()}
        for account, error in self.world.rows("SELECT account_id, last_error FROM platform_credentials WHERE state <> 0"):
            # Only these must reconnect, and accounts whose refresh response was lost on a slow machine.
            assert accounts[account] in self.revoked or "lost" in error, (accounts[account], error)
            self.world.connect(*accounts[account])
        self.hour(99, trouble=False)
        self.world.expect_truth()


def whole_day(directory, authors, videos, hours, seed, apart=False, timeout_ms=1000, deadline_s=10, say=lambda text: None):
    day = Day(pathlib.Path(directory), authors, videos, seed, apart, timeout_ms, deadline_s)
    try:
        for hour in range(hours):
            finished = day.hour(hour)
            say(f"{hour:2d}  {day.seconds[-1]:6.1f} s  {finished.out.splitlines()[0] if finished.out else finished}")
        result = day.check()
        faults = collections.Counter()
        for name in day.standins.names():
            for what, count in day.standins.tell(name, "hits").items():
                faults[what.partition(" ")[2]] += count
        day.calm()
        day.world.expect_clean()
        result.update(outcomes=dict(day.outcomes), seconds=round(sum(day.seconds), 1), faults=dict(faults.most_common()))
        return result
    finally:
        day.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--authors", type=int, default=2000)
    parser.add_argument("--videos", type=int, default=5)
    parser.add_argument("--hours", type=int, default=24)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        result = whole_day(directory, options.authors, options.videos, options.hours, options.seed, apart=True, timeout_ms=5000, deadline_s=50, say=lambda text: print(text, flush=True))
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
