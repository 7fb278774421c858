"""Which posts a run reads if it cannot read all."""
from lib.clock import to_ms

HOUR = 3_600_000


def counted(finished, platform, name):
    """Returns a counter from the report of `viewtally refresh`."""
    for line in finished.out.splitlines():
        words = line.split()
        if words[:3] == ["platforms", platform, name]:
            return int(words[3])
    return 0


def test_older_posts_are_read_less_often_if_the_quota_is_small(world, clock, standins):
    """35 posts, one per call, and about 15 calls per hour: 5 fresh posts are read hourly, 30 others every 6 hours."""
    world.configure(youtube={"units_per_day": 288, "ids_per_call": 1, "reserve_percent": 0})
    world.add(videos=5, platforms=("youtube",), posted_at="2026-07-10T09:00:00Z", names=["fresh"], connect=False)
    world.add(videos=30, platforms=("youtube",), posted_at="2026-07-07T09:00:00Z", names=["old"], connect=False)
    reads = dict.fromkeys(world.ids("youtube"), 0)
    for hour in range(12):
        finished = world.refresh()
        assert "every 6 hours" in finished.err
        if hour > 3:                # in the first hours some posts have never been read and are due immediately
            assert counted(finished, "youtube", "not_due") >= 20, finished.out
            assert counted(finished, "youtube", "unread") == 0, finished.out
        for id, post in world.counts()["youtube"].items():
            reads[id] += post["at"] == clock.wall_ms
        clock.advance(HOUR)
    assert {reads[id] for id in world.ids("youtube", "fresh")} == {12}
    assert all(2 <= reads[id] <= 4 for id in world.ids("youtube", "old")), sorted(reads.values())
    assert standins.count("youtube", "youtube.*") <= 12 * 16


def test_next_run_starts_with_the_posts_that_the_deadline_of_the_previous_run_left_unread(world, clock, standins):
    """TikTok takes a second for each of twenty accounts, but the run ends after ten: the next run starts there. Pinterest is read in both."""
    world.configure(platforms={"deadline_s": 10}, tiktok={"in_flight": 1})
    names = world.add(authors=20, platforms=("tiktok", "pinterest"), posted_at="2026-07-10T09:00:00Z")
    standins.fault("tiktok", "slow", latency_ms=1000)
    finished = world.refresh()
    read = [name for name in names if world.post("tiktok", world.ids("tiktok", name)[0])["at"]]
    assert 3 <= len(read) < 20 and read == names[:len(read)]
    assert counted(finished, "tiktok", "unread") == 20 - len(read)
    world.expect_truth(("pinterest",), at=clock.wall_ms)
    standins.clear()
    standins.forget()
    clock.advance(HOUR)
    world.refresh()
    world.expect_truth(("tiktok", "pinterest"), at=clock.wall_ms)
    first = standins.log("tiktok")[0]["account"]
    assert first in (world.accounts[names[len(read)], "tiktok"], world.accounts[names[len(read) - 1], "tiktok"]), first


def test_posts_are_not_read_before_posted_at(world, clock, standins):
    world.add(platforms=("tiktok",), posted_at="2026-07-10T12:00:01Z")
    world.refresh()
    assert standins.calls("tiktok") == {}
    clock.set_wall(to_ms("2026-07-10T12:00:01Z"))
    world.refresh()
    world.expect_truth(("tiktok",), at=clock.wall_ms)
