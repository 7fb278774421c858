"""`reading correct`, the only command that lowers views: the days that it subtracts from, the events that it keeps, and later readings."""
import datetime
import itertools

import pytest

from flow.test_erase import check_sums, data, sql
from lib import packed_days
from lib.lines import author, reading, uid, video

START = "2026-07-01T00:00:00.000Z"


def on(day, hour=1):
    return f"2026-07-{day:02}T{hour:02}:00:00.000Z"


@pytest.fixture
def world(viewtally):
    """One video: a baseline of 500, then 1,000, 2,000 and 20,000 gained on three days; and 300 on TikTok on the last of
    these days."""
    viewtally.import_lines([author("Ann"), video("v", "Ann", START, ("youtube", "tiktok")), reading("v", on(1), 500, baseline=True)])
    viewtally.import_lines([reading("v", on(2), 1500), reading("v", on(3), 3500), reading("v", on(4), 23500), reading("v", on(4), 300, "tiktok")])
    viewtally.key = viewtally.create_key(uid("Ann"))
    return viewtally


def days(instance):
    """Returns [(date, gained, gained since the first day)] of the only video, ascending."""
    packed = packed_days.unpack(sql(instance, "SELECT days FROM videos")[0][0])
    totals = itertools.accumulate(gained for _, gained in packed)
    return [(str(datetime.date(1970, 1, 1) + datetime.timedelta(day)), gained, total) for (day, gained), total in zip(packed, totals)]


def correct(instance, views, platform="youtube", status=0, dry_run=False):
    return instance.run("reading", "correct", platform, f"{platform}-v", str(views), *(["--dry-run"] if dry_run else []), status=status)


def video_row(instance):
    return sql(instance, "SELECT views, baseline FROM videos")[0]


@pytest.mark.parametrize("views, baseline, expected", [
    (23499, 500, [("2026-07-02", 1000, 1000), ("2026-07-03", 2000, 3000), ("2026-07-04", 20299, 23299)]),
    (3000, 500, [("2026-07-02", 1000, 1000), ("2026-07-03", 1800, 2800)]),
    (1200, 500, [("2026-07-02", 1000, 1000)]),
    (700, 500, [("2026-07-02", 500, 500)]),
    (200, 500, []),
    (0, 300, []),
])
def test_correction_subtracts_from_the_newest_days_then_from_the_baseline(world, views, baseline, expected):
    correct(world, views)
    assert days(world) == expected
    assert video_row(world) == (views + 300, baseline)
    check_sums(world)


def test_api_shows_the_corrected_numbers(world):
    world.start()
    with world.client(world.key) as client:
        for _ in range(3):
            assert data(client, "/videos")[0]["views"] == 23800
        events = data(client, "/events")
        before = data(client, "/videos")[0]
        assert correct(world, 1200).out == ("youtube post youtube-v: 1200 instead of 23500 views (22300 taken from days, 0 from the baseline); kept: "
                                            "milestones 10000; viral mark at 23800 views; 2 events.\n")
        after = data(client, "/videos")[0]
        assert after["views"] == 1500 and [p["views"] for p in after["platforms"]] == [300, 1200]
        assert after["viral"] == before["viral"] and after["milestones"] == before["milestones"] and after["viral"]["is_viral"]
        assert data(client, "/events") == events
        row, = data(client, "/stats?start_date=2026-07-01&end_date=2026-07-04")
        assert [(day["views"], day["views_total"]) for day in row["days"]] == [(0, 500), (1000, 1500), (0, 1500), (0, 1500)]
    # The first use of the key is recorded some time after the request, so the audit entry of the use may be newer than
    # the entry of the correction.
    entry, = [e for e in world.run("audit", "--author", uid("Ann"), "--json").json() if e["action"] == "reading.corrected"]
    assert entry["subject"] == uid("v")
    assert "kept: milestones 10000; viral mark at 23800 views; 2 events" in entry["details"]


def test_reading_after_a_correction_gains_from_the_corrected_count_and_repeats_no_event(world):
    events = sql(world, "SELECT * FROM events")
    correct(world, 1200)
    world.import_lines([reading("v", on(5), 1300), reading("v", on(5, 2), 15000)])
    assert sql(world, "SELECT * FROM events") == events
    assert days(world) == [("2026-07-02", 1000, 1000), ("2026-07-05", 13800, 14800)]
    assert video_row(world) == (15300, 500)
    world.import_lines([reading("v", on(6), 60000)])
    assert sql(world, "SELECT value FROM events WHERE id > ? ORDER BY id", max(row[1] for row in events)) == [(50000,)]
    check_sums(world)
    world.start()
    with world.client(world.key) as client:
        assert [m["views"] for m in data(client, "/videos")[0]["milestones"]] == [1000, 10000, 50000]


def test_dry_run_changes_nothing(world):
    before = days(world), video_row(world)
    assert correct(world, 1200, dry_run=True).out.startswith("Dry run: nothing was changed. youtube post youtube-v: 1200 instead of 23500 views")
    assert (days(world), video_row(world)) == before
    assert "reading.corrected" not in world.run("audit").out


@pytest.mark.parametrize("arguments, status, message", [
    (("youtube", "youtube-v", "23500"), 1, "the post has 23500 views, and a correction only lowers the number"),
    (("youtube", "youtube-v", "99999"), 1, "import a reading"),
    (("instagram", "youtube-v", "1"), 1, "no video has this post"),
    (("youtube", "", "1"), 1, "no video has this post"),
    (("youtube", "youtube-v", "-1"), 2, "unknown option -1"),
    (("youtube", "youtube-v", "1.5"), 2, "VIEWS must be a number from 0 to 9007199254740991"),
    (("youtube", "youtube-v", ""), 2, "VIEWS must be a number"),
    (("youtube", "youtube-v", "9007199254740992"), 2, "VIEWS must be a number"),
    (("vimeo", "youtube-v", "1"), 2, "PLATFORM must be one of tiktok instagram youtube facebook pinterest"),
    (("youtube", "youtube-v"), 2, "VIEWS"),
])
def test_wrong_arguments_change_nothing(world, arguments, status, message):
    before = days(world), video_row(world)
    assert message in world.run("reading", "correct", *arguments, status=status).err
    assert (days(world), video_row(world)) == before
