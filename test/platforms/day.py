"""A simulated day: hourly refreshes of all five platforms with random faults. At the end every wrong count must have a recorded reason.

    make test-day [DAY="--authors 2000 --videos 5 --hours 24 --seed 1"]

Each video has a post on all five platforms, so 2,000 authors with 5 videos have 50,000 posts.
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
        self.hidden_posts, self.revoked = collections.defaultdict(list), set()
        for name in self.standins.names():
            self.standins.commands(name, [{"op": "seed", "seed": seed}])
        self.outcomes, self.seconds = collections.Counter(), []

    def close(self):
        self.standins.close()

    # -- faults -------------------------------------------------------------------------------------------

    def set_faults(self):
        """Sets the faults of an hour: for some calls of each platform, sometimes for a whole platform."""
        for platform in PLATFORMS:
            self.fault(platform, "error", name=self.random.choice(ERRORS[platform]), route=READ[platform], probability=0.02)
            self.fault(platform, self.random.choice(WIRE), route=READ[platform], probability=0.02)
            if platform in ("instagram", "facebook"):
                kind, more = self.random.choice(OPERATION)
                self.fault(platform, kind, route=f"{platform}.op", probability=0.02, **more)
            if platform in TOKEN and self.random.random() < 0.3:
                self.fault(platform, "error", route=TOKEN[platform], probability=0.1, name={"tiktok": "server_error", "pinterest": "server_error"}.get(platform, "2"))
            self.hide_and_restore_posts(platform)
        if self.random.random() < 0.3:
            down = self.random.choice(PLATFORMS)
            self.standins.command(down, "clear")
            self.fault(down, "error", route=f"{down}.*", name=ERRORS[down][0])
        if self.random.random() < 0.3:
            self.fault(self.random.choice(PLATFORMS), "silent", times=2)
        self.expire_tokens()

    def fault(self, platform, kind, **values):
        self.standins.fault(platform, kind, **values)

    def hide_and_restore_posts(self, platform):
        operations = [{"op": "post", "id": id, "state": "public", "hidden": []} for id in self.hidden_posts.pop(platform, [])]
        chosen = self.random.sample(self.ids[platform], max(1, len(self.ids[platform]) // 200))
        for id in chosen:
            state = self.random.choice(["deleted", "hidden"])
            change = {"state": "deleted"} if state == "deleted" else {"hidden": [self.random.choice(COUNTS[:3])]}
            operations.append({"op": "post", "id": id, **change})
        self.hidden_posts[platform] = chosen
        self.standins.commands(platform, operations)

    def expire_tokens(self):
        for platform in ("tiktok", "pinterest"):
            for name in self.random.sample(self.names, max(1, len(self.names) // 100)):
                self.standins.command(platform, "token", account=self.world.accounts[name, platform], what="expire")
        if self.random.random() < 0.3:
            name, platform = self.random.choice(self.names), self.random.choice(("tiktok", "instagram", "facebook", "pinterest"))
            self.revoked.add((name, platform))
            self.standins.command(platform, "token", account=self.world.accounts[name, platform], what="revoke")

    # -- a run and its invariants ----------------------------------------------------------------------

    def hour(self, hour, set_faults=True):
        self.standins.clear()
        for name in self.standins.names():
            self.standins.commands(name, [{"op": "grow", "seed": hour, "most": 500}, {"op": "forget"}])
        # Retries wait for seconds, so they are enabled only in every sixth hour.
        self.world.configure(platforms={"retry_percent": 10 if hour % 6 == 0 else 0})
        if set_faults:
            self.set_faults()
        start = time.monotonic()
        finished = self.world.refresh(status=None, timeout=600)
        self.seconds.append(time.monotonic() - start)
        self.outcomes[finished.out.partition(" in ")[0]] += 1
        self.check_counters()
        self.clock.advance(HOUR)
        return finished

    def check_counters(self):
        """Checks the counters of the run: each live post is counted exactly once."""
        rows = self.world.rows("SELECT platform, name, value FROM refresh_counts WHERE source = 2 AND run_id = (SELECT max(id) FROM refresh_runs)")
        self.counters = {platform: collections.Counter() for platform in PLATFORMS}
        for platform, name, value in rows:
            if platform in range(len(PLATFORMS)):
                self.counters[PLATFORMS[platform]][name] += value
        unusable = {account for account, in self.world.rows("SELECT account_id FROM platform_credentials WHERE state <> 0")}
        for platform, platform_counters in self.counters.items():
            counted = sum(platform_counters[name] for name in ("read", "no_data", "missing", "permanent", "unread", "not_due"))
            # A run does not count the posts of an account that must be reconnected.
            unusable_count = sum(self.world.accounts[name, platform] in unusable for name in self.names)
            minimum = len(self.ids[platform]) - self.world_videos * unusable_count
            assert minimum <= counted <= len(self.ids[platform]), f"{platform}: {counted} of {len(self.ids[platform])} posts: {dict(platform_counters)}"
            assert platform_counters["accepted"] <= platform_counters["read"]

    def check(self):
        """Checks that every count is the current one of the stand-in, or an older one with a recorded reason.
        Returns the number of differences by reason."""
        stored = self.world.counts()
        unusable = {account for account, in self.world.rows("SELECT account_id FROM platform_credentials WHERE state <> 0")}
        reasons, equal, views = collections.Counter(), 0, collections.Counter()
        for platform in PLATFORMS:
            expected_counts, sent = self.standins.command(platform, "truth"), self.standins.command(platform, "served")
            requested = {id for record in self.standins.log(platform) for id in record["ids"]}
            unread = 0                                          # posts that the run must have counted as unread, missing or without data
            for id in self.ids[platform]:
                found, expected, served = stored[platform][id], expected_counts[id], sent["served"].get(id, {})
                views["stored"] += found["views"] or 0
                views["expected"] += expected.get("views", 0)
                differing = [name for name in COUNTS if found[name] != expected.get(name)]
                if not differing:
                    equal += 1
                    continue
                account = self.world.accounts[self.world.posts[platform][id][0], platform]
                if account in unusable:
                    reason = "reconnect required"
                elif id in sent["failed"]:
                    reason, unread = f"failed: {sent['failed'][id]}", unread + 1
                elif not expected or all(name not in expected for name in differing):
                    reason = "deleted, or a count is hidden"
                elif id not in requested:
                    reason, unread = "not requested: the platform was down", unread + 1
                elif any(found[name] != value and not (name == "views" and found[name] > value) for name, value in served.items()):
                    # The response arrived after the timeout of the call, so the post is counted as unread.
                    reason, unread = "response after the timeout", unread + 1
                else:
                    raise AssertionError(f"{platform} {id}: stored {found}, expected {expected}, last served {served}")
                reasons[f"{platform}: {reason}"] += 1
            platform_counters = self.counters[platform]
            assert unread <= platform_counters["unread"] + platform_counters["missing"] + platform_counters["no_data"] + platform_counters["not_due"], f"{platform}: {unread} unread; {dict(platform_counters)}"
        total = self.world.rows("SELECT sum(views) FROM videos")[0][0]
        assert total == views["stored"], "the sum over videos must equal the sum over posts"
        return {"posts": sum(len(ids) for ids in self.ids.values()), "equal": equal, "views": dict(views), "differ": dict(reasons)}

    def check_without_faults(self):
        """Runs without faults and checks that all readable counts are current. No call times out on a busy machine."""
        self.world.configure(platforms={"timeout_ms": 60_000, "connect_timeout_ms": 60_000, "deadline_s": 300})
        for platform in PLATFORMS:
            self.standins.commands(platform, [{"op": "post", "id": id, "state": "public", "hidden": []} for id in self.hidden_posts.pop(platform, [])])
        self.clock.advance(HOUR)         # closes open circuits
        # If the platform was down or the call was canceled, a revoked token has not been detected yet.
        self.hour(98, set_faults=False)
        for name, platform in self.revoked:
            assert self.world.credential(name, platform)["state"] == 1, f"{name} must reconnect {platform}"
        accounts = {account: key for key, account in self.world.accounts.items()}
        for account, error in self.world.rows("SELECT account_id, last_error FROM platform_credentials WHERE state <> 0"):
            # Only revoked accounts must reconnect, and those whose refresh response was lost on a slow machine.
            assert accounts[account] in self.revoked or "lost" in error, (accounts[account], error)
            self.world.connect(*accounts[account])
        self.hour(99, set_faults=False)
        self.world.expect_truth()


def simulate_day(directory, authors, videos, hours, seed, apart=False, timeout_ms=1000, deadline_s=10, report=lambda text: None):
    day = Day(pathlib.Path(directory), authors, videos, seed, apart, timeout_ms, deadline_s)
    try:
        for hour in range(hours):
            finished = day.hour(hour)
            report(f"{hour:2d}  {day.seconds[-1]:6.1f} s  {finished.out.splitlines()[0] if finished.out else finished}")
        result = day.check()
        faults = collections.Counter()
        for name in day.standins.names():
            for what, count in day.standins.command(name, "hits").items():
                faults[what.partition(" ")[2]] += count
        day.check_without_faults()
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
        result = simulate_day(directory, options.authors, options.videos, options.hours, options.seed, apart=True, timeout_ms=5000, deadline_s=50, report=lambda text: print(text, flush=True))
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
