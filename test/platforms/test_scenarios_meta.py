"""More scenarios of Meta: several kinds of posts on a page, batches with Instagram Login, refreshing Instagram
tokens."""
from lib.lines import uid

HOUR = 3_600_000
DAY = 24 * HOUR


def test_each_kind_of_facebook_page_post_uses_its_own_request_form(world, clock, standins):
    """The kind of each post is determined once. Then the post is requested in the form of its kind; the form of the account stays."""
    world.add(videos=5, platforms=("facebook",))
    reel, classic, early, *_ = ids = world.ids("facebook")
    standins.command("facebook", "post", id=classic, kind="video")
    standins.command("facebook", "post", id=early, state="processing")         # a Reel without insights yet
    world.refresh()
    stored = world.counts()["facebook"]
    assert stored[reel]["shares"] == 4 and stored[classic]["shares"] is None, "a classic video has no shares metric"
    assert all(stored[id]["at"] == clock.wall_ms and stored[id]["views"] >= 1000 for id in ids)
    first = standins.count("facebook", "facebook.*")
    assert first > 1
    sources = dict(world.rows("SELECT post_id, views_source FROM platform_posts"))
    assert (sources[reel], sources[classic], sources[early]) == (5, 2, 3)
    name = world.posts["facebook"][reel][0]
    assert world.credential(name, "facebook")["tier"] == 0, "the request form of the account must stay"
    standins.command("facebook", "post", id=early, state="public")
    standins.command("facebook", "grow", seed=3)
    standins.forget()
    clock.advance(HOUR)
    world.refresh()
    assert standins.count("facebook", "facebook.*") == 1, "known kinds must not cause a second call"
    stored, truth = world.counts()["facebook"], standins.command("facebook", "truth")
    for id in ids:
        assert stored[id]["views"] == truth[id]["views"] and stored[id]["at"] == clock.wall_ms
    assert dict(world.rows("SELECT post_id, views_source FROM platform_posts")) == sources


def test_page_posts_are_read_by_media_views(world, clock, standins):
    """For ids of the form {page}_{post}, the views are post_media_view. A response without shares counts as 0 shares."""
    [name] = world.add(platforms=("facebook",))
    [id] = world.ids("facebook")
    page_post = f"{world.accounts[name, 'facebook']}_77"
    standins.command("facebook", "post", id=id, kind="video", post_id=page_post, shares=0)
    world.instance.import_lines([{"type": "video", "id": uid("of a page post"), "author_id": uid(name),
                                  "posts": [{"platform": "facebook", "post_id": page_post, "posted_at": "2026-07-08T08:00:00Z"}]}])
    world.refresh(status=None)
    found = world.post("facebook", page_post)
    assert (found["views"], found["likes"], found["comments"], found["shares"], found["saves"]) == (1000, 100, 10, 0, None)
    assert found["at"] == clock.wall_ms
    assert dict(world.rows("SELECT post_id, views_source FROM platform_posts"))[page_post] == 4


def test_batches_at_graph_instagram_com_are_optional(world, clock, standins):
    """Off by default, because Meta does not document them."""
    world.add(videos=60, platforms=("instagram",), login="instagram")
    world.refresh()
    assert standins.calls("instagram") == {"instagram.insights": 60}
    world.expect_truth(("instagram",), at=clock.wall_ms)
    world.configure(instagram={"batch": "on"})
    standins.command("meta", "set", instagram_batch=True)
    standins.command("instagram", "grow", seed=4)
    standins.forget()
    clock.advance(HOUR)
    world.refresh()
    assert standins.calls("instagram") == {"instagram.batch": 2}
    world.expect_truth(("instagram",), at=clock.wall_ms)


def test_error_of_one_post_kind_does_not_change_the_request_form_of_the_account(world, clock, standins):
    """An error caused by the kind of a post does not change the account's request form, even with one post per call."""
    world.add(videos=3, platforms=("instagram",), login="instagram")
    odd = world.ids("instagram")[1]
    standins.fault("instagram", "error", name="100.type", route="instagram.insights", id=odd, times=1)
    world.refresh()
    stored, truth = world.counts()["instagram"], standins.command("instagram", "truth")
    for id in world.ids("instagram"):
        for count in ("likes", "comments", "shares", "saves"):
            assert stored[id][count] == truth[id][count], (id, count)
        assert stored[id]["views"] == (None if id == odd else truth[id]["views"]), "the error named the metric of the views"
    assert world.credential(world.posts["instagram"][odd][0], "instagram")["dropped"] == ""


def test_instagram_token_is_refreshed_in_the_second_half_of_its_validity(world, clock, standins):
    """Tokens are valid for sixty days and refreshed in the second half of that time."""
    [name] = world.add(platforms=("instagram",), login="instagram", posted_at="2026-07-09T08:00:00Z")
    world.refresh()
    assert standins.count("instagram", "instagram.token.*") == 0
    before = world.credential(name, "instagram")
    clock.advance(31 * DAY)
    world.instance.import_lines([{"type": "video", "id": uid("of another day"), "author_id": uid(name),
                                  "posts": [{"platform": "instagram", "post_id": "17900000000099999", "posted_at": "2026-08-10T08:00:00Z"}]}])
    world.refresh(status=None)
    assert standins.count("instagram", "instagram.token.ig_refresh_token") == 1
    after = world.credential(name, "instagram")
    assert after["version"] > before["version"] and after["access_expires_at"] > before["access_expires_at"]
    standins.forget()
    clock.advance(HOUR)
    world.refresh(status=None)
    assert standins.count("instagram", "instagram.token.*") == 0
