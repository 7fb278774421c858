"""Limits: wait times of the platforms, their scope, and the deadline of a run."""
import json
import signal

import pytest

from lib import wait
from lib.clock import to_ms
from lib.metrics import scrape
from lib.processes import is_sleeping
from lib.viewtally import sanitized
from platformworld import PLATFORMS, some

HOUR = 3_600_000


def test_rate_limit_that_outlasts_the_run_ends_its_calls(world, clock, standins):
    """TikTok's window of a minute exceeds the deadline of the run, so there are no more calls until the next run."""
    clock.set_monotonic(10_000_000)                 # does not advance, so a run that waits would never end
    world.configure(platforms={"deadline_s": 12, "retry_percent": 100})
    world.add(authors=3, platforms=("tiktok", "youtube"))
    standins.fault("tiktok", "error", name="rate_limit_exceeded")
    world.refresh(status=None)
    assert 1 <= standins.count("tiktok", "tiktok.query") <= 3
    world.expect_truth(("youtube",), at=clock.wall_ms)
    standins.clear()
    clock.advance(HOUR)
    world.refresh(status=None)
    world.expect_truth(at=clock.wall_ms, platforms=("tiktok", "youtube"))


def test_retry_after_is_respected(world, clock, standins):
    world.add(platforms=("tiktok",))
    standins.fault("tiktok", "error", name="rate_limit_exceeded", headers={"Retry-After": "1"}, times=1)
    world.refresh()
    world.expect_truth(("tiktok",), at=clock.wall_ms)
    first, second = [record["began"] for record in standins.log("tiktok")]
    assert second - first >= 0.999      # the run counts whole milliseconds


def test_wait_time_of_pinterest_is_respected(world, clock, standins):
    world.configure(pinterest={"bulk": "off"})
    world.add(authors=2, platforms=("pinterest",))
    account = world.accounts["author-1", "pinterest"]
    standins.fault("pinterest", "error", name="rate", account=account, headers={"x-ratelimit-reset": "1", "x-ratelimit-limit": '60, 100;w=1;name="a"'}, times=1)
    world.refresh()
    world.expect_truth(("pinterest",), at=clock.wall_ms)
    starts = [record["began"] for record in standins.log("pinterest") if record["account"] == account]
    assert len(starts) == 2 and starts[1] - starts[0] >= 0.999      # the run counts whole milliseconds


@pytest.mark.parametrize("code, is_app_limit", some([("4", True), ("80001", False), ("17", False), ("32", False), ("613", False)], 2))
def test_throttling_by_meta_pauses_app_or_account(world, clock, standins, code, is_app_limit):
    world.configure(platforms={"deadline_s": 12, "retry_percent": 0}, facebook={"in_flight": 1})
    names = world.add(authors=4, platforms=("facebook",))
    standins.fault("facebook", "error", name=code, times=1)
    world.refresh(status=None)
    calls = list(standins.log("facebook"))
    throttled = calls[0]["account"]
    accounts_called = {record["account"] for record in calls}
    assert [record["account"] for record in calls].count(throttled) == 1
    assert len(accounts_called) == (1 if is_app_limit else 4), "a limit of the app must pause all accounts, that of an account only itself"
    assert all(world.credential(name, "facebook")["state"] == 0 for name in names)


def test_wait_time_of_meta_that_outlasts_the_run_ends_the_calls_to_the_account(world, clock, standins):
    """Error 80002 with estimated_time_to_regain_access: the run reads only the other account. The next run calls both again."""
    world.configure(platforms={"deadline_s": 12, "retry_percent": 100})
    names = world.add(authors=2, platforms=("instagram",))
    account = world.accounts[names[0], "instagram"]
    header = json.dumps({account: [{"type": "instagram", "call_count": 100, "total_cputime": 23, "total_time": 23, "estimated_time_to_regain_access": 30}]})
    standins.fault("instagram", "error", name="80002", account=account, headers={"X-Business-Use-Case-Usage": header}, times=1)
    world.refresh(status=None)
    assert world.post("instagram", world.ids("instagram", names[1])[0])["at"] == clock.wall_ms
    assert world.post("instagram", world.ids("instagram", names[0])[0])["at"] is None
    assert [record["account"] for record in standins.log("instagram")].count(account) == 1
    clock.advance(HOUR)
    world.refresh(status=None)
    world.expect_truth(("instagram",), at=clock.wall_ms)


QUOTA_DAYS = [("2026-07-10T12:00:00Z", "2026-07-11T07:00:00Z"),         # summer: UTC-7
              ("2026-03-08T07:30:00Z", "2026-03-08T08:00:00Z"),         # before the change to daylight saving time at 10:00 UTC
              ("2026-03-08T12:00:00Z", "2026-03-09T07:00:00Z"),         # a day of 23 hours
              ("2026-11-01T12:00:00Z", "2026-11-02T08:00:00Z")]         # a day of 25 hours


@pytest.mark.parametrize("noon, midnight", some(QUOTA_DAYS, 1), ids=[row[0][:13] for row in some(QUOTA_DAYS, 1)])
def test_quota_of_youtube_resets_at_midnight_in_los_angeles(world, clock, standins, noon, midnight):
    clock.set_wall(noon)
    world.configure(platforms={"deadline_s": 30})            # too short to wait for the end of a pause of a minute
    world.add(platforms=("youtube", "pinterest"), posted_at=noon)
    standins.command("youtube", "set", units={"batch": 0, "list": 0})
    clock.advance(1000)
    world.refresh(status=None)
    assert standins.calls("youtube") == {"youtube.batch": 1, "youtube.list": 1}, "one call must suffice to detect each spent quota"
    standins.command("youtube", "set", units={"batch": 10_000, "list": 10_000})
    standins.forget()
    for when in (to_ms(noon) + 60_000, to_ms(midnight) - 60_000):
        clock.set_wall(when)
        world.refresh(status=None)
        assert standins.calls("youtube") == {}, "no call before midnight in Los Angeles"
        world.expect_truth(("pinterest",), at=when)
    clock.set_wall(to_ms(midnight) + 1000)
    world.refresh(status=None)
    world.expect_truth(("youtube", "pinterest"), at=clock.wall_ms)


@pytest.mark.parametrize("form, daily_as", some([("batch", "daily"), ("batch", "quotaExceeded"), ("both", "daily")], 2))
def test_other_method_is_used_when_one_quota_is_spent(world, clock, standins, form, daily_as):
    """videos.list replaces videos:batchGetStats until midnight, across runs; if both quotas are spent, there are no calls."""
    clock.set_wall("2026-07-10T12:00:00Z")
    world.add(videos=3, platforms=("youtube",), posted_at="2026-07-10T11:00:00Z")
    standins.command("youtube", "set", units={"batch": 0, "list": 10_000 if form == "batch" else 1}, daily_as=daily_as)
    world.refresh(status=None)
    assert standins.count("youtube", "youtube.batch") == 1
    world.expect_truth(("youtube",), at=clock.wall_ms)
    status = {api["api"]: api for api in json.loads(world.instance.run("platform", "status", "--json", status=None).out)["apis"]}["youtube"]
    assert status["quota_left"] == 0 and status["fallback_quota_left"] == 9_999 and status["quota_until"] == "2026-07-11T07:00:00.000Z"
    read_at = clock.wall_ms
    clock.advance(HOUR)
    world.refresh(status=None)
    assert standins.count("youtube", "youtube.batch") == 1, "the spent method must not be called before midnight"
    world.expect_truth(("youtube",), at=clock.wall_ms if form == "batch" else read_at)
    calls = standins.count("youtube", "youtube.list")
    status = {api["api"]: api for api in json.loads(world.instance.run("platform", "status", "--json", status=None).out)["apis"]}["youtube"]
    assert (status["paused_until"] is None) == (form == "batch")
    clock.advance(HOUR)
    world.refresh(status=None)
    assert standins.count("youtube", "youtube.list") == calls + (form == "batch")
    standins.command("youtube", "set", units={"batch": 10_000, "list": 10_000})
    clock.set_wall("2026-07-11T07:00:01Z")
    world.refresh(status=None)
    assert standins.count("youtube", "youtube.batch") == 2
    world.expect_truth(("youtube",), at=clock.wall_ms)


def test_api_key_leaves_a_request_form_that_youtube_rejects(world, clock, standins):
    """All calls have the same API key, so single videos take the place of accounts: the third rejected video proves that the form is wrong."""
    world.configure(youtube={"in_flight": 1})
    world.add(videos=60, platforms=("youtube",))
    standins.fault("youtube", "error", name="invalidParameter", route="youtube.batch")
    world.refresh(status=None)
    assert standins.count("youtube", "youtube.list") > 0
    read = [id for id in world.ids("youtube") if world.post("youtube", id)["at"] == clock.wall_ms]
    assert len(read) == 57, "only the three videos that prove it are not read"
    standins.clear()
    clock.advance(HOUR)
    world.refresh()
    world.expect_truth(("youtube",), at=clock.wall_ms)


def test_video_that_makes_a_call_with_the_api_key_invalid_is_found(world, clock, standins):
    world.configure(youtube={"in_flight": 1})
    world.add(videos=10, platforms=("youtube",))
    bad = world.ids("youtube")[3]
    standins.fault("youtube", "error", name="invalidParameter", id=bad)
    world.refresh(status=None)
    assert [id for id in world.ids("youtube") if world.post("youtube", id)["at"] != clock.wall_ms] == [bad]
    assert standins.count("youtube", "youtube.list") == 0


@pytest.mark.skipif(sanitized(), reason="makes 23 runs, which are several times slower under AddressSanitizer")
def test_quota_units_are_counted_across_runs(world, clock, standins):
    """Twelve units a day, five videos, one per call: the units last for the day, and unread posts keep their counts."""
    world.configure(youtube={"units_per_day": 12, "ids_per_call": 1, "reserve_percent": 0})
    world.add(platforms=("youtube",), videos=5)
    clock.set_wall("2026-07-11T07:30:00Z")
    for _ in range(23):
        world.refresh(status=None)
        clock.advance(HOUR)
    assert 5 <= standins.count("youtube", "youtube.batch") <= 12 and standins.count("youtube", "youtube.list") <= 12
    assert all(post["views"] for post in world.counts()["youtube"].values()), "each post must be read at least once"


def test_circuit_opens_if_a_platform_is_down(world, clock, standins):
    """All calls fail with status 500, so the circuit opens after twenty."""
    world.configure(platforms={"retry_percent": 0}, facebook={"in_flight": 1})
    world.add(authors=40, platforms=("facebook",))
    standins.fault("facebook", "error", name="2")
    world.refresh(status=None)
    assert 20 <= standins.count("facebook", "facebook.batch") <= 24


def test_token_is_not_refreshed_while_the_circuit_is_open(world, clock, standins):
    """A call is in flight when twenty others fail. Its token is rejected, but its refresh and repetition must wait for the circuit."""
    world.configure(platforms={"retry_percent": 0}, tiktok={"in_flight": 21})
    names = world.add(authors=21, platforms=("tiktok",))
    accounts = [world.accounts[name, "tiktok"] for name in names]
    standins.command("tiktok", "token", account=accounts[0], what="expire")
    standins.fault("tiktok", "slow", route="tiktok.query", account=accounts[0], latency_ms=2000)
    for account in accounts[1:]:
        standins.fault("tiktok", "error", name="internal_error", account=account)
    world.refresh(status=None)
    assert standins.calls("tiktok") == {"tiktok.query": 21}


def test_run_does_not_start_during_the_run_of_another_process(world, clock, standins):
    world.add(platforms=("tiktok",))
    standins.fault("tiktok", "slow", route="tiktok.query", latency_ms=1500, times=1)
    process = world.instance.background("refresh")
    standins.wait_for("tiktok", "tiktok.query")
    process.send_signal(signal.SIGSTOP)             # otherwise it could end first on a busy machine
    finished = world.instance.run("refresh", "--wait", "0", status=None)
    process.send_signal(signal.SIGCONT)
    assert finished.status == 3, finished
    process.wait(60)
    assert standins.count("tiktok", "tiktok.query") == 1
    world.expect_truth(("tiktok",), at=clock.wall_ms)


def test_run_stops_with_calls_in_flight(world, clock, standins):
    world.configure(facebook={"in_flight": 40}, server={"drain_ms": 5000}, platforms={"timeout_ms": 300_000})
    world.add(authors=40, platforms=("facebook",))
    standins.fault("facebook", "silent")
    with world.instance as server:
        standins.wait_for("facebook", "facebook.batch", 40)
        server.signal(signal.SIGTERM)
        server.wait_stopped()                       # takes at most a tenth of the timeout
    wait.until(lambda: standins.command("facebook", "state")["in_flight"] == 0, "the calls to end")
    assert world.rows("SELECT count(*) FROM refresh_runs WHERE outcome IS NULL") == [(0,)]


def test_deadline_ends_a_run_with_an_unresponsive_platform(world, clock, standins):
    """An unresponsive platform and a timeout longer than the run: the run ends at the deadline, and the other platforms are read."""
    clock.set_monotonic(10_000_000)
    world.configure(platforms={"timeout_ms": 300_000, "deadline_s": 3000})
    world.add(authors=2, platforms=("tiktok", "pinterest"))
    standins.fault("pinterest", "silent")
    process = world.instance.background("refresh")
    standins.wait_for("pinterest", "pinterest.*")
    standins.wait_for("tiktok", "tiktok.query", 2)
    wait.until(lambda: standins.command("tiktok", "state")["in_flight"] == 0, "the responses of TikTok")
    wait.until(lambda: all(is_sleeping(process.pid) for _ in range(20)), "the run to read them")
    clock.set_monotonic(clock.monotonic_ms + 3_000_001)
    process.wait(60)
    world.expect_truth(("tiktok",), at=clock.wall_ms)
    assert all(post["at"] is None for post in world.counts()["pinterest"].values())


def test_account_close_to_its_limit_is_paused(world, clock, standins):
    """An account is paused if Meta reports a usage of 97 percent; another account continues."""
    world.configure(platforms={"deadline_s": 12, "retry_percent": 0})
    names = world.add(authors=2, videos=60, platforms=("instagram",))
    standins.command("meta", "account_set", account=world.accounts[names[0], "instagram"], usage_percent=97)
    world.refresh(status=None)
    calls = [record["account"] for record in standins.log("instagram")]
    assert [calls.count(world.accounts[name, "instagram"]) for name in names] == [1, 2]


def test_request_form_left_because_of_bad_requests_is_used_again_by_the_next_run(world, clock, standins):
    """That the app may not read many pins per call is remembered for a day; that single pins were rejected is not."""
    world.configure(pinterest={"in_flight": 1})
    world.add(authors=4, platforms=("pinterest",))
    world.refresh()
    standins.fault("pinterest", "raw", route="pinterest.pin", status=400, body='{"code": 999, "message": "x"}')
    clock.advance(HOUR)
    world.refresh(status=None)
    standins.clear()
    standins.forget()
    clock.advance(HOUR)
    world.refresh(status=None)
    assert standins.count("pinterest", "pinterest.bulk") == 0
    world.expect_truth(("pinterest",), at=clock.wall_ms)


def test_server_refreshes_on_schedule(world, clock, standins):
    world.add(authors=2, videos=2)
    with world.instance as server:
        wait.until(lambda: all(post["at"] for posts in world.counts().values() for post in posts.values()), "all posts to be read")
        world.expect_truth(at=clock.wall_ms)
        wait.until(lambda: scrape(server).get("viewtally_refresh_runs_total", result="succeeded"), "the run to be counted")
        metrics = scrape(server)
        for platform in PLATFORMS:
            accounts_called = sum(standins.calls(platform).values()) if platform not in ("instagram", "facebook") else standins.count(platform, f"{platform}.*")
            assert metrics.get("viewtally_platform_calls_total", platform=platform) == accounts_called > 0, platform
            assert metrics.get("viewtally_platform_posts_total", platform=platform, result="read") == 4
            assert metrics.get("viewtally_platform_call_outcomes_total", platform=platform, outcome="ok") > 0
