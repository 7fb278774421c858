"""Counts are read from all stand-ins, unknown counts are not 0, and a failing platform does not affect the others."""

import json
import signal

import pytest

from lib.certificates import Authority
from lib.clock import to_ms
from lib.lines import uid
from platformworld import COUNTS, PLATFORMS, POSTED, Standins, World, some

HOUR = 3_600_000
POSTED_LONG_AGO = "2026-06-12T08:00:00Z"
READS = {"tiktok": "tiktok.query", "instagram": "instagram.*", "youtube": "youtube.batch", "facebook": "facebook.batch", "pinterest": "pinterest.pin"}


def read_times(world, name):
    """Returns the distinct times at which the posts of an author were read."""
    stored = world.counts()
    return {stored[platform][id]["at"] for platform in PLATFORMS for id in world.ids(platform, name)}


def test_all_five_platforms_are_read(world, clock, standins):
    names = world.add(authors=2, videos=3, login=lambda number: "instagram" if number % 2 else "facebook")
    world.refresh()
    world.expect_truth(at=clock.wall_ms)
    for name in names:
        assert read_times(world, name) == {clock.wall_ms}, "all readings of an author have the same time"
    calls = standins.calls()
    assert (calls["tiktok.query"], calls["youtube.batch"], calls["facebook.batch"]) == (2, 1, 2)
    assert (calls["instagram.insights"], calls["instagram.batch"]) == (3, 1)
    assert calls["pinterest.pin"] == 6 and 1 <= calls["pinterest.bulk"] <= 2
    # An hour later: higher counts, and the request forms are remembered.
    standins.forget()
    for of in standins.names():
        standins.command(of, "grow", seed=1)
    clock.advance(HOUR)
    world.refresh()
    world.expect_truth(at=clock.wall_ms)
    assert standins.count("pinterest", "pinterest.bulk") == 0


@pytest.mark.parametrize("failing", some(PLATFORMS, 2))
def test_failing_platform_does_not_affect_others(world, clock, standins, failing):
    world.configure(platforms={"retry_percent": 0})
    names = world.add(videos=2)
    world.refresh()
    before, first = world.counts()[failing], clock.wall_ms
    for of in standins.names():
        standins.command(of, "grow", seed=2)
    clock.advance(HOUR)
    standins.forget()
    name = {"tiktok": "internal_error", "youtube": "backendError", "pinterest": "server_error"}.get(failing, "2")
    standins.fault(failing, "error", name=name, route=f"{failing}.*")
    world.refresh(status=None)
    others = [platform for platform in PLATFORMS if platform != failing]
    world.expect_truth(others, at=clock.wall_ms)
    assert world.counts()[failing] == before and {post["at"] for post in before.values()} == {first}
    assert world.credential(names[0], failing)["state"] == 0
    assert 1 <= standins.count(failing, READS[failing]) <= 4
    # After it recovers, its counts are current again.
    standins.clear()
    clock.advance(2 * HOUR)
    world.refresh(status=None)
    world.expect_truth(at=clock.wall_ms)


@pytest.mark.parametrize("kind", some(["silent", "trickle", "reset"], 1))
def test_unresponsive_platform_does_not_affect_others(world, clock, standins, kind):
    world.configure(platforms={"timeout_ms": 5000, "retry_percent": 0})
    world.add(videos=2)
    standins.fault("pinterest", kind)
    world.refresh(status=None)                      # timeouts end the run long before the deadline
    world.expect_truth([platform for platform in PLATFORMS if platform != "pinterest"], at=clock.wall_ms)
    assert all(post["at"] is None and post["views"] is None for post in world.counts()["pinterest"].values())


def test_failed_call_is_retried(world, clock, standins):
    world.add(platforms=("tiktok", "youtube"))
    standins.fault("tiktok", "error", name="internal_error", times=1)
    standins.fault("youtube", "reset", times=1)
    world.refresh()
    world.expect_truth(("tiktok", "youtube"), at=clock.wall_ms)
    assert standins.count("tiktok", "tiktok.query") == standins.count("youtube", "youtube.batch") == 2


def test_missing_post_is_not_counted_as_zero(world, clock, standins):
    [name] = world.add(videos=3, platforms=("tiktok", "youtube"))
    world.refresh()
    deleted = world.ids("tiktok")[0], world.ids("youtube")[0]
    before = world.post("tiktok", deleted[0]), world.post("youtube", deleted[1])
    standins.command("tiktok", "post", id=deleted[0], state="deleted")
    standins.command("youtube", "post", id=deleted[1], state="deleted")

    def refresh_after(hours=1):
        clock.advance(hours * HOUR)
        for of in ("tiktok", "youtube"):
            standins.commands(of, [{"op": "forget"}, {"op": "grow", "seed": hours}])
        world.refresh(status=None)

    def was_requested(platform, id):
        return any(id in record["ids"] for record in standins.log(platform) if record["route"] in READS.values())

    for _ in range(3):
        refresh_after()
        assert (world.post("tiktok", deleted[0]), world.post("youtube", deleted[1])) == before
        assert was_requested("tiktok", deleted[0]) and was_requested("youtube", deleted[1])
    refresh_after(24)                                              # now missing for a day and in more than three runs
    refresh_after()
    assert not was_requested("tiktok", deleted[0]) and not was_requested("youtube", deleted[1]), "missing posts must be requested once a day only"
    assert (world.post("tiktok", deleted[0]), world.post("youtube", deleted[1])) == before
    for platform in ("tiktok", "youtube"):
        assert all(world.post(platform, id)["at"] == clock.wall_ms for id in world.ids(platform)[1:])
    # The post is public again.
    standins.command("tiktok", "post", id=deleted[0], state="public")
    refresh_after(24)
    assert world.post("tiktok", deleted[0])["at"] == clock.wall_ms
    refresh_after()
    assert world.post("tiktok", deleted[0])["at"] == clock.wall_ms, "the post must be requested hourly again"


def test_all_posts_missing_is_recorded_for_the_account(world, clock, standins):
    [name] = world.add(videos=20, platforms=("tiktok",))
    world.refresh()
    before = world.counts()["tiktok"]
    for id in world.ids("tiktok"):
        standins.command("tiktok", "post", id=id, state="private")
    for hours in (1, 1, 24, 1):
        clock.advance(hours * HOUR)
        standins.forget()
        world.refresh(status=None)
        assert standins.count("tiktok", "tiktok.query") == 1, "the account must still be read"
    assert world.counts()["tiktok"] == before
    assert world.credential(name, "tiktok")["last_error"] == "missing all"
    for id in world.ids("tiktok"):
        standins.command("tiktok", "post", id=id, state="public")
    clock.advance(HOUR)
    world.refresh()
    world.expect_truth(("tiktok",), at=clock.wall_ms)


def test_run_detects_that_all_posts_are_missing_if_each_call_reads_one_post(world, clock, standins):
    world.add(videos=3, platforms=("instagram",), login="instagram")
    error = "SELECT last_error FROM platform_credentials"
    world.refresh()
    standins.command("instagram", "post", id=world.ids("instagram")[0], state="deleted")
    clock.advance(HOUR)
    world.refresh(status=None)
    assert world.rows(error) == [(None,)], "one missing post of three is no error of the account"
    for id in world.ids("instagram"):
        standins.command("instagram", "post", id=id, state="deleted")
    clock.advance(HOUR)
    world.refresh(status=None)
    assert world.rows(error) == [("missing all",)]


def test_search_for_the_account_of_new_posts_is_no_error_of_the_accounts_tried(world, clock, standins):
    """The posts of the second account are requested from the first one first, which does not show that it is the wrong account."""
    first, second = world.add(authors=2, videos=2, platforms=("tiktok",), connect=False)
    for account in (first, second):
        tokens = standins.command("tiktok", "connect", account=world.accounts[account, "tiktok"])
        world.instance.run("platform", "connect", "--author", uid(second), "--platform", "tiktok", "--account", world.accounts[account, "tiktok"], stdin=json.dumps(tokens))
    error = "SELECT DISTINCT last_error FROM platform_credentials"
    world.refresh(status=None)
    assert world.rows(error) == [(None,)]
    assert all(world.post("tiktok", id)["at"] == clock.wall_ms for id in world.ids("tiktok", second))
    world.instance.import_lines([
        {"type": "video", "id": uid(id), "author_id": uid(second), "posts": [{"platform": "tiktok", "post_id": id, "posted_at": POSTED}]}
        for id in ("7000000000000000001", "7000000000000000002")])
    clock.advance(HOUR)
    world.refresh(status=None)
    assert world.rows("SELECT misses FROM platform_posts WHERE post_id LIKE '700000000000000000%'") == [(1,), (1,)]
    assert world.rows(error) == [(None,)]


def test_videos_that_neither_the_api_key_nor_their_owner_finds_are_missing(world, clock, standins):
    """The owner's call contains only videos that the API key did not find, so it does not show that the account is the wrong one."""
    [name] = world.add(videos=4, platforms=("youtube",))
    world.refresh()
    for id in world.ids("youtube")[:2]:
        standins.command("youtube", "post", id=id, state="deleted")
    clock.advance(HOUR)
    world.refresh(status=None)
    assert world.rows("SELECT misses FROM platform_posts ORDER BY post_id") == [(1,), (1,)]
    credential = world.credential(name, "youtube")
    assert (credential["failures"], credential["last_error"]) == (0, None)
    for id in world.ids("youtube")[2:]:
        standins.command("youtube", "post", id=id, state="deleted")
    clock.advance(HOUR)
    world.refresh(status=None)
    assert world.credential(name, "youtube")["last_error"] == "missing all", "now no source finds any of the videos"


def test_deleted_private_videos_are_missing_even_if_the_api_key_responds_last(world, clock, standins):
    """The owner's token reads only the private videos. Both are deleted, and the run learns this before it has the other videos."""
    [name] = world.add(videos=4, platforms=("youtube",))
    private = world.ids("youtube")[:2]
    for id in private:
        standins.command("youtube", "post", id=id, state="private")
    world.refresh()
    world.expect_truth(("youtube",), at=clock.wall_ms)
    for id in private:
        standins.command("youtube", "post", id=id, state="deleted")
    clock.advance(HOUR)
    standins.fault("youtube", "slow", latency_ms=700, id=world.ids("youtube")[2])
    world.refresh(status=None)
    assert world.rows("SELECT misses FROM platform_posts ORDER BY post_id") == [(1,), (1,)]
    credential = world.credential(name, "youtube")
    assert (credential["failures"], credential["last_error"]) == (0, None)


@pytest.mark.parametrize("per_call, slow", [(1, 1), (7, 3), (50, 2)])
def test_counts_do_not_depend_on_batch_size_or_response_order(world, clock, standins, per_call, slow):
    world.configure(youtube={"ids_per_call": per_call})
    world.add(authors=3, videos=9)
    for platform in ("tiktok", "youtube", "pinterest"):         # responses arrive out of order
        standins.fault(platform, "slow", latency_ms=30 * slow, probability=1 / (slow + 1))
    world.refresh()
    world.expect_truth(at=clock.wall_ms)
    assert standins.count("youtube", "youtube.batch") == -(-27 // per_call), "ids of all authors share calls"


def test_hidden_counts_are_unknown_not_zero(world, clock, standins):
    world.add(videos=2)
    hidden = {"tiktok": ["comments"], "youtube": ["likes", "comments"], "instagram": ["saves"], "facebook": ["likes"], "pinterest": ["saves"]}
    for platform, names in hidden.items():
        standins.command(platform, "post", id=world.ids(platform)[0], hidden=names)
    standins.command("youtube", "set", as_integers=True)
    world.refresh()
    for platform, names in hidden.items():
        if platform != "facebook":                              # there, likes stay known: the insights of a Reel contain them
            assert [world.post(platform, world.ids(platform)[0])[name] for name in names] == [None] * len(names)
    first = {platform: world.post(platform, world.ids(platform)[1]) for platform in PLATFORMS}
    # Counts that are hidden later keep their last value.
    for platform, names in hidden.items():
        standins.command(platform, "grow", seed=3) if platform != "facebook" else None
        standins.command(platform, "post", id=world.ids(platform)[1], hidden=names)
    clock.advance(HOUR)
    world.refresh()
    for platform, names in hidden.items():
        if platform != "facebook":
            now = world.post(platform, world.ids(platform)[1])
            assert [now[name] for name in names] == [first[platform][name] for name in names]
            assert now["views"] > first[platform]["views"] and now["at"] == clock.wall_ms


def test_reading_without_views_keeps_the_time_of_the_last_views(world, clock, standins):
    world.add(platforms=("tiktok",))
    [id] = world.ids("tiktok")
    world.refresh()
    first = world.post("tiktok", id)
    standins.command("tiktok", "grow", seed=4, most=1000)
    standins.command("tiktok", "post", id=id, hidden=["views"], likes=777)
    clock.advance(HOUR)
    world.refresh(status=None)
    now = world.post("tiktok", id)
    assert (now["views"], now["at"]) == (first["views"], first["at"]) and now["likes"] == 777


def test_views_never_fall_but_other_counts_that_fall_are_stored(world, clock, standins):
    world.add()
    world.refresh()
    for platform in PLATFORMS:
        standins.command(platform, "post", id=world.ids(platform)[0], views=900, likes=50, comments=5)
    clock.advance(HOUR)
    world.refresh()
    for platform in PLATFORMS:
        now = world.post(platform, world.ids(platform)[0])
        assert (now["views"], now["likes"], now["comments"], now["at"]) == (1000, 50, 5, clock.wall_ms), "views never fall, other counts may"


def test_post_that_is_30_days_old_when_its_call_is_due_is_not_read(world, clock, standins):
    world.add(platforms=("tiktok",), posted_at=POSTED_LONG_AGO, names=["old"])
    world.add(platforms=("youtube",), names=["new"])
    clock.set_wall(to_ms(POSTED_LONG_AGO) + 30 * 24 * HOUR + 1)
    world.refresh(status=None)
    assert world.post("tiktok", world.ids("tiktok")[0])["at"] is None
    assert standins.count("tiktok", "tiktok.query") == 0


def test_response_after_30_days_is_dropped(world, clock, standins):
    world.add(platforms=("tiktok",), posted_at=POSTED_LONG_AGO)
    clock.set_wall(to_ms(POSTED_LONG_AGO) + 30 * 24 * HOUR - 10)
    world.connect("author-1", "tiktok")
    standins.fault("tiktok", "slow", route="tiktok.query", latency_ms=3000)
    process = world.instance.background("refresh")
    standins.wait_for("tiktok", "tiktok.query")
    clock.advance(11)
    assert process.wait(120) == 0, "dropping the response must not count as a rejected reading"
    assert world.post("tiktok", world.ids("tiktok")[0])["at"] is None


def test_response_for_a_post_whose_id_was_corrected_during_the_run_is_rejected(world, clock, standins):
    [name] = world.add(platforms=("tiktok",))
    [id] = world.ids("tiktok")
    standins.fault("tiktok", "slow", route="tiktok.query", latency_ms=3000)
    process = world.instance.background("refresh")
    standins.wait_for("tiktok", "tiktok.query")
    process.send_signal(signal.SIGSTOP)             # otherwise it could apply the response before the import
    [title] = {title for _, title in world.posts["tiktok"].values()}
    world.instance.import_lines([{"type": "video", "id": uid(title), "author_id": uid(name), "posts": [{"platform": "tiktok", "post_id": id + "9"}]}])
    process.send_signal(signal.SIGCONT)
    assert process.wait(120) == 1
    assert world.post("tiktok", id + "9") == {**dict.fromkeys(COUNTS), "at": None}
    assert world.rows("SELECT value FROM refresh_counts WHERE name = 'rejected:unknown_post'") == [(1,)]


def test_publish_id_of_tiktok_is_resolved_to_the_video_id_once(world, clock, standins):
    world.add(platforms=("tiktok",), videos=2)
    ids = world.ids("tiktok")
    publish = "v_pub_url~v2-1.7077642457847990000"
    [name] = {name for name, _ in world.posts["tiktok"].values()}
    world.instance.import_lines([{"type": "video", "id": uid("early"), "author_id": uid(name), "title": "early",
                                  "posts": [{"platform": "tiktok", "post_id": publish, "posted_at": "2026-07-10T11:00:00Z"}]}])
    standins.command("tiktok", "scopes", account=world.accounts[name, "tiktok"], scopes=["user.info.basic", "video.list", "video.publish"])
    standins.command("tiktok", "posts", account=world.accounts[name, "tiktok"], posts=[["7099999999999999999", "video", clock.wall_ms, 55, 5, 4, 3, 2]])
    standins.command("tiktok", "post", id="7099999999999999999", state="processing", publish_id=publish)
    world.refresh()
    assert publish not in [id for record in standins.log("tiktok") if record["route"] == "tiktok.query" for id in record["ids"]]
    assert standins.count("tiktok", "tiktok.publish_status") == 1
    assert world.post("tiktok", publish)["views"] is None and world.post("tiktok", ids[0])["views"] == 1000
    standins.command("tiktok", "post", id="7099999999999999999", state="public", publish_id=publish)
    for _ in range(2):
        clock.advance(HOUR)
        world.refresh()
    assert world.post("tiktok", publish)["views"] == 55
    standins.forget()
    clock.advance(HOUR)
    world.refresh()
    assert standins.calls("tiktok") == {"tiktok.query": 1}, "the resolved id must be stored"


def test_calls_use_verified_tls(viewtally, clock, tmp_path):
    """A platform with an untrusted certificate receives no request."""
    authority = Authority(tmp_path / "ca")
    standins = Standins(clock, tls=authority.issue("standin", "IP:127.0.0.1"), only="tiktok,youtube")
    try:
        world = World(viewtally, standins)
        world.configure(platforms={"ca_file": authority.ca, "retry_percent": 0})
        world.add(platforms=("tiktok", "youtube"), videos=2)
        world.refresh()
        world.expect_truth(("tiktok", "youtube"), at=clock.wall_ms)
        world.configure(platforms={"ca_file": Authority(tmp_path / "another").ca})
        standins.forget()
        clock.advance(HOUR)
        world.refresh(status=None)
        assert standins.calls() == {}
        world.expect_clean()
    finally:
        standins.close()
