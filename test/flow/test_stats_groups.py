"""/stats by account and by platform, and by week and month, on data small enough to check by hand."""

import pytest

from lib.lines import author, book, reading, uid, video

# 2026-07-10 is a Friday.
DATA = [
    author("Ada"), author("Bob"), book("Novel", "Ada", created_at="2026-01-01T00:00:00Z"),
    video("one", "Ada", "2026-06-25T08:00:00Z", ("youtube", "tiktok"), book_id=uid("Novel")),
    video("two", "Ada", "2026-07-01T08:00:00Z", ("tiktok", "pinterest")),
    reading("one", "2026-06-26T08:00:00Z", 1000, platform="youtube", baseline=True),
    reading("one", "2026-06-28T08:00:00Z", 1100, platform="youtube"),       # Sunday: 100
    reading("one", "2026-06-29T08:00:00Z", 50, platform="tiktok"),          # Monday: 50
    reading("two", "2026-07-06T08:00:00Z", 7, platform="pinterest"),        # Monday: 7
    reading("one", "2026-07-06T08:00:00Z", 1150, platform="youtube"),       # 50
    reading("two", "2026-07-10T08:00:00Z", 20000, platform="tiktok"),       # Friday, today; viral
]


@pytest.fixture
def world(make_viewtally, clock):
    clock.set_wall("2026-07-10T12:00:00Z")
    made = make_viewtally({}, clock)
    made.import_lines(DATA)
    made.start()
    return made


def stats(world, name="Ada", path="/stats", **params):
    with world.client(world.create_key(uid(name))) as client:
        response = client.get(path, params)
    assert response.status == 200, response
    return response


def days(row):
    return [(day["date"], day["views"], day["views_total"]) for day in row["days"]]


def rows(world, **params):
    return {row["platform"]: days(row) for row in stats(world, group_by="platform", **params).json()["data"]}


def test_account_has_one_row_that_lists_every_date(world):
    answer = stats(world, group_by="account", start_date="2026-06-20", end_date="2026-07-31").json()
    assert (answer["group_by"], answer["breakdown"]) == ("account", "daily")
    row, = answer["data"]
    assert row["account"] == {"id": uid("Ada"), "name": "Ada"}
    gains = {"2026-06-28": 100, "2026-06-29": 50, "2026-07-06": 57, "2026-07-10": 20000}
    expected, total = [], 1000          # the baseline
    for day in [f"2026-06-{n}" for n in range(26, 31)] + [f"2026-07-{n:02}" for n in range(1, 11)]:
        total += gains.get(day, 0)
        expected.append((day, gains.get(day, 0), total))
    assert days(row) == expected


def test_account_without_readings_has_a_row_without_days(world):
    assert stats(world, "Bob", group_by="account").json()["data"] == [{"account": {"id": uid("Bob"), "name": "Bob"}, "days": []}]
    assert stats(world, "Bob", group_by="platform").json()["data"] == []


def test_platform_rows_are_in_fixed_order_and_have_totals(world):
    """The row of a platform without a gain in the range shows its total."""
    assert list(rows(world).items()) == [
        ("tiktok", [("2026-07-04", 0, 50), ("2026-07-05", 0, 50), ("2026-07-06", 0, 50), ("2026-07-07", 0, 50), ("2026-07-08", 0, 50),
                    ("2026-07-09", 0, 50), ("2026-07-10", 20000, 20050)]),
        ("youtube", [("2026-07-04", 0, 1100), ("2026-07-05", 0, 1100), ("2026-07-06", 50, 1150), ("2026-07-07", 0, 1150),
                     ("2026-07-08", 0, 1150), ("2026-07-09", 0, 1150), ("2026-07-10", 0, 1150)]),
        ("pinterest", [("2026-07-04", 0, 0), ("2026-07-05", 0, 0), ("2026-07-06", 7, 7), ("2026-07-07", 0, 7), ("2026-07-08", 0, 7),
                       ("2026-07-09", 0, 7), ("2026-07-10", 0, 7)])]
    assert list(rows(world, start_date="2026-06-27", end_date="2026-06-28")) == ["youtube"]        # the others have no views yet


def test_gains_recorded_by_an_older_release_are_in_the_row_without_a_platform(world):
    tiktok, youtube = 0, 2
    world.sql("DELETE FROM author_daily WHERE platform = ?", youtube)
    world.sql("UPDATE author_daily SET gained = 12000 WHERE platform = ? AND gained = 20000", tiktok)
    found = rows(world, start_date="2026-07-06")
    assert list(found) == ["tiktok", "pinterest", None]
    assert found["tiktok"][-1] == ("2026-07-10", 12000, 12050)
    assert found[None] == [("2026-07-06", 50, 1150), ("2026-07-07", 0, 1150), ("2026-07-08", 0, 1150), ("2026-07-09", 0, 1150),
                           ("2026-07-10", 8000, 9150)]
    csv = stats(world, path="/stats.csv", group_by="platform", start_date="2026-07-10").body.decode()
    assert csv == ("date,platform,views,views_total\r\n2026-07-10,tiktok,12000,12050\r\n2026-07-10,pinterest,0,7\r\n"
                   "2026-07-10,,8000,9150\r\n")


def test_damaged_sums_never_make_a_row_negative(world):
    """Even if the sum of the platforms exceeds that of the videos, the sum of the rows equals that of the videos."""
    world.sql("UPDATE author_daily SET gained = gained + 5000000")
    found = rows(world, start_date="2026-07-06")
    for index, (date, views, total) in enumerate(days(stats(world, group_by="account", start_date="2026-07-06").json()["data"][0])):
        assert sum(row[index][1] for row in found.values()) == views and sum(row[index][2] for row in found.values()) == total, date


def test_weeks_begin_on_monday_and_are_cut_to_the_range(world):
    row, = stats(world, group_by="account", granularity="week", start_date="2026-06-24").json()["data"]
    assert days(row) == [("2026-06-24", 100, 1100), ("2026-06-29", 50, 1150), ("2026-07-06", 20057, 21207)]
    answer = stats(world, granularity="week", start_date="2026-06-24").json()
    assert (answer["breakdown"], answer["start_date"], answer["end_date"]) == ("weekly", "2026-06-24", "2026-07-10")
    two, one = answer["data"]
    assert two["days"] == [{"date": "2026-07-06", "views": 20007, "views_total": 20007, "is_viral": True, "went_viral": True}]
    assert days(one) == [("2026-06-24", 100, 1100), ("2026-06-29", 50, 1150), ("2026-07-06", 50, 1200)]
    novel, = stats(world, granularity="week", group_by="book", start_date="2026-06-24").json()["data"]
    assert [(day["date"], day["views"]) for day in novel["days"]] == [("2026-06-24", 100), ("2026-06-29", 50), ("2026-07-06", 50)]


def test_default_range_depends_on_the_granularity(world):
    for granularity, start, periods in (("day", "2026-07-04", 7), ("week", "2026-05-18", 8), ("month", "2025-08-01", 12)):
        answer = stats(world, granularity=granularity).json()
        assert (answer["start_date"], answer["end_date"]) == (start, "2026-07-10"), granularity
    answer = stats(world, granularity="month", end_date="2026-06-15", group_by="account").json()
    assert (answer["start_date"], answer["end_date"], answer["breakdown"]) == ("2025-07-01", "2026-06-15", "monthly")
    row, = stats(world, granularity="month", group_by="account").json()["data"]
    assert days(row) == [("2026-06-01", 150, 1150), ("2026-07-01", 20057, 21207)]


def test_ranges_that_are_too_long_are_rejected(world):
    with world.client(world.create_key(uid("Ada"))) as client:
        for granularity, longest, too_long, name in (("day", "2026-04-12", "2026-04-11", "90 days"), ("week", "2024-07-15", "2024-07-14", "104 weeks"),
                                                     ("month", "2021-08-01", "2021-07-31", "60 months")):
            assert client.get("/stats", {"granularity": granularity, "start_date": longest}).status == 200
            error = client.get("/stats", {"granularity": granularity, "start_date": too_long}).json()["error"]
            assert error["code"] == "range_too_long" and error["message"].endswith(f" at most {name}."), error


def test_row_lists_all_gains_after_posted_at_is_corrected_to_an_earlier_time(world):
    """An import may correct posted_at, so that the 30 days end before the last reading."""
    world.import_lines([{"type": "video", "id": uid("two"), "author_id": uid("Ada"),
                         "posts": [{"platform": "pinterest", "posted_at": "2026-05-01T08:00:00Z"}]}])
    two = stats(world, start_date="2026-07-01").json()["data"][-1]
    assert two["video"]["id"] == uid("two") and sum(day["views"] for day in two["days"]) == 20007
    assert two["days"][-1]["date"] == "2026-07-10"


@pytest.mark.parametrize("name, left", [("two", {"tiktok": 50, "youtube": 1150}), ("one", {"tiktok": 20000, "pinterest": 7})])
def test_gains_of_a_removed_video_are_subtracted_from_the_rows_of_its_platforms(world, name, left):
    world.run("video", "remove", uid(name))
    found = {platform: row[-1][2] for platform, row in rows(world, start_date="2026-06-20").items()}
    account, = stats(world, group_by="account", start_date="2026-06-20").json()["data"]
    assert sum(found.values()) == account["days"][-1]["views_total"] == sum(left.values())
    # The baseline of `one` and some of its gains were split between YouTube and TikTok in proportion to its views.
    assert found == left
