"""Facebook's responses of 2026: separate permissions, deleted posts, Reels with composite ids, usage inside batches."""
import json

import pytest

from lib.lines import uid

HOUR = 3_600_000
PERMISSIONS = {"pages_read_engagement", "pages_read_user_content", "read_insights"}


def page(world, videos=3, kind="reel"):
    """Creates a page with posts. Returns (author, account id, post ids)."""
    [name] = world.add(videos=videos, platforms=("facebook",), kind=kind)
    return name, world.accounts[name, "facebook"], world.ids("facebook")


def add_composite(world, standins, name, account, id):
    """Adds a post of the author whose id is {page}_{post}, for the Reel `id`. Returns its id."""
    composite = f"{account}_77"
    standins.command("facebook", "post", id=id, post_id=composite)
    world.instance.import_lines([{"type": "video", "id": uid("composite"), "author_id": uid(name),
                                  "posts": [{"platform": "facebook", "post_id": composite, "posted_at": "2026-07-08T08:00:00Z"}]}])
    return composite


def grant_all_except(standins, account, *missing):
    standins.command("facebook", "scopes", account=account, scopes=sorted(PERMISSIONS - set(missing)))


def test_insights_are_used_if_permission_for_user_content_is_missing(world, clock, standins):
    """Facebook rejects the fields of the object. Views, likes, comments and shares of a Reel come from its insights."""
    name, account, ids = page(world)
    grant_all_except(standins, account, "pages_read_user_content")
    world.refresh()
    stored, truth = world.counts()["facebook"], standins.command("facebook", "truth")
    for id in ids:
        assert stored[id] == {**truth[id], "saves": None, "at": clock.wall_ms}
    credential = world.credential(name, "facebook")
    assert (credential["state"], credential["failures"]) == (0, 0)


@pytest.mark.parametrize("kind", ["reel", "video"])
def test_page_stays_connected_if_only_the_permission_for_user_content_is_missing(world, clock, standins, kind):
    """Facebook rejects the fields of every object. The insights of a classic video need another request form, and those of a Reel fail
    temporarily: neither shows that the grant is lost."""
    name, account, ids = page(world, 2, kind)
    grant_all_except(standins, account, "pages_read_user_content")
    if kind == "reel":
        for skip in (1, 2):                         # the insights of both posts in the first batch
            standins.fault("facebook", "null", route="facebook.op", skip=skip, times=1)
    world.refresh(status=None)
    assert world.credential(name, "facebook")["state"] == 0
    truth = standins.command("facebook", "truth")
    assert [world.post("facebook", id)["views"] for id in ids] == [truth[id]["views"] for id in ids]


def test_object_counts_are_used_if_permission_for_insights_is_missing(world, clock, standins):
    name, account, ids = page(world)
    grant_all_except(standins, account, "read_insights")
    world.refresh()
    stored, truth = world.counts()["facebook"], standins.command("facebook", "truth")
    for id in ids:
        assert (stored[id]["views"], stored[id]["likes"], stored[id]["comments"]) == (None, truth[id]["likes"], truth[id]["comments"])
    credential = world.credential(name, "facebook")
    assert (credential["state"], credential["last_error"]) == (0, "insights none")
    # After the permission is granted, views are read by the original definition of a view.
    grant_all_except(standins, account)
    clock.advance(HOUR)
    world.refresh()
    world.expect_truth(("facebook",), at=clock.wall_ms)
    assert world.credential(name, "facebook")["failures"] == 0


@pytest.mark.parametrize("error_name", ["10.gone", "100.gone", "100.33"])
def test_deleted_post_is_missing_and_its_page_stays_connected(world, clock, standins, error_name):
    """This applies to every form of the error, in a batch with existing posts."""
    name, account, ids = page(world)
    standins.command("meta", "set", deleted_as=error_name)
    standins.command("facebook", "post", id=ids[1], state="deleted")
    world.refresh(status=None)
    assert [world.post("facebook", id)["at"] for id in ids] == [clock.wall_ms, None, clock.wall_ms]
    assert world.rows("SELECT misses FROM platform_posts WHERE post_id = ?", ids[1]) == [(1,)]
    credential = world.credential(name, "facebook")
    assert (credential["state"], credential["failures"]) == (0, 0)
    standins.command("meta", "set", deleted_as="10.gone")


@pytest.mark.parametrize("videos", [1, 3])
@pytest.mark.parametrize("error_name", ["10.gone", "100.gone"])
def test_page_itself_is_requested_if_all_posts_are_deleted(world, clock, standins, error_name, videos):
    """If the batch returns no post, the run requests the page itself. The page exists, so the posts are missing."""
    name, account, ids = page(world, videos)
    standins.command("meta", "set", deleted_as=error_name)
    for id in ids:
        standins.command("facebook", "post", id=id, state="deleted")
    world.refresh(status=None)
    assert world.rows("SELECT misses FROM platform_posts ORDER BY 1") == [(1,)] * videos
    credential = world.credential(name, "facebook")
    assert (credential["state"], credential["last_error"]) == (0, None)
    assert [account in record["ids"] for record in standins.log("facebook") if record["route"] == "facebook.batch"] == [False, True]
    standins.command("meta", "set", deleted_as="10.gone")


def test_page_is_requested_even_if_its_posts_fill_a_whole_batch(world, clock, standins):
    """25 posts are 50 operations, the maximum of a batch."""
    name, account, ids = page(world, 25)
    for id in ids:
        standins.command("facebook", "post", id=id, state="deleted")
    world.refresh(status=None)
    assert world.rows("SELECT count(*) FROM platform_posts WHERE misses = 1") == [(25,)]
    assert world.credential(name, "facebook")["state"] == 0


def test_lost_grant_is_distinguished_from_deleted_posts(world, clock, standins):
    """If the page returns the same error as every post, the grant is lost and no post counts as missing."""
    name, account, ids = page(world)
    grant_all_except(standins, account, "pages_read_engagement")
    world.refresh(status=None)
    assert world.credential(name, "facebook")["state"] == 1
    assert world.rows("SELECT count(*) FROM platform_posts WHERE misses > 0") == [(0,)]


@pytest.mark.parametrize("pages", [1, 2])
def test_denied_posts_do_not_count_as_missing_if_another_post_is_deleted(world, clock, standins, pages):
    """A page without both permissions, of an author who has no other page, or one that cannot read these posts either."""
    first, second = world.add(authors=2, videos=3, platforms=("facebook",), connect=False)
    account, ids = world.accounts[first, "facebook"], world.ids("facebook", first)
    world.connect(first, "facebook")
    if pages == 2:
        connect_to(world, standins, first, world.accounts[second, "facebook"])
    grant_all_except(standins, account, "pages_read_user_content", "read_insights")
    standins.command("facebook", "post", id=ids[1], state="deleted")
    world.refresh(status=None)
    assert world.rows("SELECT post_id FROM platform_posts WHERE misses > 0") == [(ids[1],)]
    credential = world.credential(first, "facebook")
    assert (credential["state"], credential["last_error"]) == (0, "insights none")


def test_timed_out_page_request_changes_no_state(world, clock, standins):
    """A timed-out request for the page proves neither deleted posts nor a lost grant."""
    world.configure(platforms={"retry_percent": 0})
    name, account, [id] = page(world, 1)
    standins.command("facebook", "post", id=id, state="deleted")
    standins.fault("facebook", "null", route="facebook.op", id=account)
    world.refresh(status=None)
    assert world.credential(name, "facebook")["state"] == 0
    assert world.rows("SELECT count(*) FROM platform_posts WHERE misses > 0") == [(0,)]


def test_views_of_a_reel_include_replays(world, clock, standins):
    """A Reel whose views were first read without replays keeps that definition, so that its curve does not jump."""
    name, account, ids = page(world, 2)
    standins.command("meta", "set", replays=20, dead_metrics=["fb_reels_total_plays"])
    standins.command("facebook", "post", id=ids[1], state="deleted")
    world.refresh(status=None)
    assert world.post("facebook", ids[0])["views"] == 800
    standins.command("meta", "set", dead_metrics=[])
    standins.command("facebook", "post", id=ids[1], state="public")
    clock.advance(25 * HOUR)
    world.refresh(status=None)
    assert [world.post("facebook", id)["views"] for id in ids] == [800, 1001]
    assert dict(world.rows("SELECT post_id, views_source FROM platform_posts")) == {ids[0]: 1, ids[1]: 5}
    standins.command("meta", "set", replays=0)


def test_reel_with_composite_id_is_read_by_video_id(world, clock, standins):
    """The insights of the composite id are always 0."""
    name, account, [id] = page(world, 1)
    composite = add_composite(world, standins, name, account, id)
    world.refresh(status=None)
    assert world.post("facebook", composite)["views"] == 1000
    assert world.rows("SELECT resolved_id FROM platform_posts WHERE post_id = ?", composite) == [(id,)]
    standins.forget()
    clock.advance(HOUR)
    world.refresh(status=None)
    assert standins.count("facebook", "facebook.batch") == 1, "the video id must be resolved only once"


def test_reel_is_read_by_video_id_after_its_page_has_got_permission(world, clock, standins):
    """Without permission the video id is unknown, so the post is read by its own id, but only in this run."""
    name, account, [id] = page(world, 1)
    composite = add_composite(world, standins, name, account, id)
    standins.fault("facebook", "error", name="10", route="facebook.op", id=composite, times=1)
    world.refresh(status=None)
    assert world.post("facebook", composite)["views"] == 0, "Meta counts no views of the composite id"
    assert world.rows("SELECT resolved_id, views_source FROM platform_posts WHERE post_id = ?", composite) == [(None, 4)]
    clock.advance(HOUR)
    world.refresh(status=None)
    assert world.post("facebook", composite)["views"] == 1000
    assert world.rows("SELECT resolved_id, views_source FROM platform_posts WHERE post_id = ?", composite) == [(id, 5)]


def connect_to(world, standins, name, account):
    """Connects one more page to the author."""
    tokens = standins.command("facebook", "connect", account=account)
    world.instance.run("platform", "connect", "--author", uid(name), "--platform", "facebook", "--account", account, stdin=json.dumps(tokens))


def test_reel_of_a_second_page_is_read_by_video_id(world, clock, standins):
    """The first page may not read posts of the second page, so it cannot find out the video id."""
    first, second = world.add(authors=2, platforms=("facebook",), connect=False)
    world.connect(first, "facebook")
    account = world.accounts[second, "facebook"]
    connect_to(world, standins, first, account)
    composite = add_composite(world, standins, first, account, world.ids("facebook", second)[0])
    world.refresh(status=None)
    assert world.post("facebook", composite)["views"] == 1000


def test_posts_of_every_page_of_an_author_are_read(world, clock, standins):
    """Connecting Facebook connects all pages of the person at once, up to a hundred."""
    names = world.add(authors=20, platforms=("facebook",), connect=False)
    for name in names:
        connect_to(world, standins, names[0], world.accounts[name, "facebook"])
    composite = add_composite(world, standins, names[0], world.accounts[names[-1], "facebook"], world.ids("facebook", names[-1])[0])
    world.refresh(status=None)
    assert world.post("facebook", composite)["views"] == 1000


def test_deleted_post_with_composite_id_is_read_less_often(world, clock, standins):
    name, account, [id] = page(world, 1)
    composite = add_composite(world, standins, name, account, id)
    standins.command("facebook", "post", id=id, state="deleted")
    for misses in (1, 2, 3):
        world.refresh(status=None)
        assert world.rows("SELECT misses FROM platform_posts WHERE post_id = ?", composite) == [(misses,)]
        clock.advance(HOUR)


@pytest.mark.parametrize("videos, fails_for_single_post", [(8, False), (1, True)])
def test_too_large_batch_is_halved(world, clock, standins, videos, fails_for_single_post):
    """A single post whose response is too large is not read, but does not count as missing."""
    world.configure(platforms={"retry_percent": 0})
    name, account, ids = page(world, videos)
    standins.fault("facebook", "error", name="1.reduce", route="facebook.batch", **({} if fails_for_single_post else {"times": 1}))
    world.refresh(status=None)
    sizes = [len(record["ids"]) for record in standins.log("facebook") if record["route"] == "facebook.batch"]
    assert sizes == ([1] if fails_for_single_post else [8, 4, 4])
    assert [world.post("facebook", id)["at"] for id in ids] == [None if fails_for_single_post else clock.wall_ms] * videos
    assert world.rows("SELECT count(*) FROM platform_posts WHERE misses > 0") == [(0,)]


def test_wait_time_is_read_from_batch_operations(world, clock, standins):
    """Meta sends the minutes in the headers of each operation, not in those of the response."""
    name, account, ids = page(world, 30)
    standins.command("meta", "set", regain_minutes=7)
    world.refresh(status=None)
    assert standins.count("facebook", "facebook.batch") == 1, "the second batch would have to wait until after the deadline"
    standins.command("meta", "set", regain_minutes=0)
