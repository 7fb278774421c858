"""`viewtally events verify` compares the feed with the milestones and viral marks of the videos."""
import uuid

import pytest

from lib.lines import author, book, reading, uid, video

DATA = [
    author("Ada"), author("Bob"), book("Novel", "Ada", created_at="2026-01-01T00:00:00Z"),
    *(video(name, "Ada", "2026-07-01T08:00:00Z", ("youtube", "tiktok")) for name in ("v1", "v2", "old")),
    video("other", "Bob", "2026-07-02T08:00:00Z"),
    reading("old", "2026-07-02T08:00:00Z", 2000, baseline=True),
    reading("v1", "2026-07-03T08:00:00Z", 20000), reading("v2", "2026-07-03T08:00:00Z", 1500),
    reading("old", "2026-07-03T08:00:00Z", 12000), reading("other", "2026-07-03T08:00:00Z", 1500),
]
EVENTS = 7          # v1: 1,000, 10,000 and viral; v2: 1,000; old: 10,000 and viral; other: 1,000


@pytest.fixture
def world(make_viewtally, clock):
    clock.set_wall("2026-07-10T12:00:00Z")
    made = make_viewtally({}, clock)
    made.import_lines(DATA)
    return made


def change(world, statement, *values):
    assert len(world.sql(f"{statement} RETURNING 1", *values)) == 1


def of_video(name):
    return f"(SELECT id FROM videos WHERE title = '{name}')"


def test_complete_feed_has_no_differences(world):
    """A milestone that the baseline has reached has no event. This is not reported as a difference."""
    done = world.run("events", "verify")
    assert done.out.startswith(f"Compared {EVENTS} events of 2 authors with 4 videos: 0 differences.\nUndecided: 1 ")
    assert world.run("events", "verify", "--json").json() == {
        "authors": 2, "videos": 4, "events": EVENTS, "undecided": 1, "differences_count": 0, "differences": []}
    one = world.run("events", "verify", "--author", uid("Bob").upper(), "--json").json()
    assert (one["authors"], one["videos"], one["events"]) == (1, 1, 1)


def test_missing_event_is_reported(world):
    change(world, f"DELETE FROM events WHERE type = 1 AND value = 10000 AND video_id = {of_video('v1')}")
    done = world.run("events", "verify", status=1)
    assert "video.milestone_reached  10000  -      the event is missing" in done.out and uid("v1") in done.out
    assert f"Compared {EVENTS - 1} events of 2 authors with 4 videos: 1 difference.\n" in done.out
    assert world.run("events", "verify", "--json", status=1).json()["differences"] == [
        {"author_id": uid("Ada"), "video_id": uid("v1"), "type": "video.milestone_reached", "value": 10000, "event": None,
         "problem": "the event is missing"}]
    assert world.run("events", "verify", "--author", uid("Bob")).status == 0      # the feed of another author is complete


@pytest.mark.parametrize("statement, problem", [
    (f"UPDATE events SET occurred_at = occurred_at + 1 WHERE type = 1 AND value = 10000 AND video_id = {of_video('v1')}",
     "time or numbers differ from those of the video"),
    (f"UPDATE events SET value = value - 1 WHERE type = 0 AND video_id = {of_video('v1')}",
     "time or numbers differ from those of the video"),
    (f"UPDATE events SET video_id = {of_video('v2')} WHERE type = 1 AND value = 10000 AND video_id = {of_video('old')}",
     "the video has no such milestone or viral mark"),
    (f"UPDATE events SET video_id = {of_video('other')} WHERE type = 1 AND value = 10000 AND video_id = {of_video('old')}",
     "the author has no such video"),
    (f"INSERT INTO events SELECT author_id, id + 1000000, video_id, type, occurred_at, value, threshold, author_median_views FROM events "
     f"WHERE type = 0 AND video_id = {of_video('v1')}", "repeats an earlier event"),
], ids=["time", "views", "another video", "another author", "twice"])
def test_differences_are_reported(world, statement, problem):
    change(world, statement)
    assert [found["problem"] for found in world.run("events", "verify", "--json", status=1).json()["differences"]] == [problem]


def test_unknown_author_exits_with_1_and_wrong_usage_with_2(world):
    assert "no author has this id" in world.run("events", "verify", "--author", str(uuid.uuid4()), status=1).err
    assert "no author has this id or sign-in name" in world.run("events", "verify", "--author", "x", status=1).err
    assert world.run("events", "verify", "FILE", status=2).out == ""
    assert world.run("events", status=2).out == ""


@pytest.mark.sqlite_only("begins without a database")
def test_missing_database_is_not_created(make_viewtally):
    made = make_viewtally({})
    assert made.run("events", "verify", status=3).out == "" and not made.database.exists()
