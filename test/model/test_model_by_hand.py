"""Checks the model with examples computed by hand."""
import pytest

from model import Model, Rejected, Responses, iso, ms
from model.state import Rules
from model.steps import viral_comparison

A = "aaaaaaaa-0000-4000-8000-000000000001"
BOOK = "bbbbbbbb-0000-4000-8000-000000000001"
NOW = ms("2026-07-10T12:00:00Z")


def video_id(number):
    return f"cccccccc-0000-4000-8000-{number:012d}"


def author(**more):
    return {"type": "author", "id": A, "name": "Ada", **more}


def book(number=1, **more):
    return {"type": "book", "id": BOOK[:-1] + str(number), "author_id": A, "title": f"Book {number}", **more}


def video(number, posted_at="2026-07-01T00:00:00Z", platform="youtube", **more):
    return {"type": "video", "id": video_id(number), "author_id": A, "title": f"Video {number}",
            "posts": [{"platform": platform, "post_id": f"p{number}", "posted_at": posted_at}], **more}


def reading(number, observed_at, views, platform="youtube", **more):
    return {"type": "reading", "platform": platform, "post_id": f"p{number}", "observed_at": observed_at, "views": views,
            **more}


def build(*lines, now=NOW, rules=None, refusals=()):
    model = Model(rules)
    assert model.import_lines([author(), *lines], now) == list(refusals)
    return model


def comparable_lines(views, posted_at="2026-06-20T00:00:00Z", first=10):
    """Adds videos with these views as baseline, old enough for comparison."""
    numbers = range(first, first + len(views))
    return ([video(number, posted_at) for number in numbers] +
            [reading(number, "2026-06-20T01:00:00Z", count, baseline=True) for number, count in zip(numbers, views)])


def kinds(model):
    return [(event["type"].partition(".")[2], event.get("views", event.get("milestone")), iso(event["occurred_at"]))
            for event in model.authors[A].events]


# -- time ---------------------------------------------------------------------------------------------------------------

def test_times_are_truncated_to_ms_and_invalid_times_are_rejected():
    assert ms("1970-01-01T00:00:00.0019Z") == 1
    assert iso(ms("2026-02-28T23:59:59.9Z")) == "2026-02-28T23:59:59.900Z"
    for wrong in ("2026-02-30T00:00:00Z", "2026-01-01T24:00:00Z", "2026-01-01T00:00:00", "2026-01-01T00:00:00+00:00",
                  "1969-12-31T23:59:59Z", "2026-01-01 00:00:00Z", "2026-01-01T00:00:00.Z"):
        with pytest.raises(ValueError):
            ms(wrong)


# -- readings -----------------------------------------------------------------------------------------------------------

def test_views_never_fall_and_other_counts_may():
    model = build(video(1), reading(1, "2026-07-02T10:00:00Z", 500, likes=9, comments=3),
                  reading(1, "2026-07-03T10:00:00Z", 400, likes=7, comments=None))
    shown = Responses(model, A, NOW).show_video(model.videos[video_id(1)])
    assert (shown["views"], shown["likes"], shown["comments"]) == (500, 7, 3)
    assert shown["views_updated_at"] == "2026-07-03T10:00:00.000Z"
    assert model.videos[video_id(1)].gains == {ms("2026-07-02T00:00:00Z") // 86400000: 500}


@pytest.mark.parametrize("count, changes", [("likes", True), ("comments", False)])
def test_zero_is_a_change_if_the_count_was_unknown(count, changes):
    """If a reading of the same instant changes a count, the threshold is computed again, from the present views of the
    other videos."""
    model = build(video(1), *comparable_lines([100] * 5), reading(1, "2026-07-02T10:00:00Z", 1, comments=0))
    shown = Responses(model, A, NOW).show_video(model.videos[video_id(1)])
    assert (shown["likes"], shown["comments"], shown["viral"]["author_median_views"]) == (0, 0, 100)
    model.import_lines([reading(number, "2026-07-02T00:00:00Z", 200) for number in range(10, 15)], NOW)
    model.import_lines([reading(1, "2026-07-02T10:00:00Z", 1, **{count: 0})], NOW)
    shown = Responses(model, A, NOW).show_video(model.videos[video_id(1)])
    assert (shown[count], shown["viral"]["author_median_views"]) == (0, 200 if changes else 100)


def test_baseline_is_no_gain_and_order_inside_a_step_does_not_matter():
    lines = [reading(1, "2026-07-02T10:00:00Z", 700), reading(1, "2026-07-02T10:00:00Z", 600, baseline=True),
             reading(1, "2026-07-02T10:00:00Z", 300)]
    for order in (lines, lines[::-1]):
        model = build(video(1), *order)
        assert model.videos[video_id(1)].baseline == 600
        assert list(model.videos[video_id(1)].gains.values()) == [100]
        assert model.videos[video_id(1)].views == 700


def test_rejections_name_line_and_reason():
    refusals = [(3, "observed_at is before the post's posted_at"), (4, "observed_at is more than 60 s in the future"),
                (5, "unknown post"), (7, "views is negative"), (8, "views is not an integer"), (9, "likes is too large")]
    model = build(video(1), reading(1, "2026-06-30T23:59:59.999Z", 1), reading(1, "2026-07-10T12:01:00.001Z", 2),
                  reading(2, "2026-07-02T00:00:00Z", 3), reading(1, "2026-07-10T12:01:00Z", 4),
                  reading(1, "2026-07-10T12:01:00Z", -5), reading(1, "2026-07-10T12:01:00Z", 5.5),
                  reading(1, "2026-07-10T12:01:00Z", 6, likes=2 ** 53), refusals=refusals)
    assert model.videos[video_id(1)].views == 4


def test_reading_older_than_the_last_is_rejected_but_not_one_of_the_same_instant():
    model = build(video(1), reading(1, "2026-07-05T00:00:00Z", 10))
    rejected = model.import_lines([reading(1, "2026-07-04T23:59:59.999Z", 99), reading(1, "2026-07-05T00:00:00Z", 11, likes=1)],
                                 NOW)
    assert rejected == [(1, "observed_at is older than the post's last reading")]
    assert model.videos[video_id(1)].views == 11


def test_reading_is_accepted_until_exactly_thirty_days_after_posting():
    model = build(video(1, "2026-06-01T00:00:00Z"), reading(1, "2026-07-01T00:00:00Z", 10),
                  reading(1, "2026-07-01T00:00:00.001Z", 11),
                  refusals=[(4, "observed_at is after the video's posted_at + 30 days")])
    assert model.videos[video_id(1)].views == 10


def test_times_of_one_video_never_decrease():
    two_posts = video(1, posts=[{"platform": "youtube", "post_id": "p1", "posted_at": "2026-07-01T00:00:00Z"},
                                {"platform": "tiktok", "post_id": "p1", "posted_at": "2026-07-01T00:00:00Z"}])
    model = build(two_posts, reading(1, "2026-07-05T08:00:00Z", 1000))
    model.import_lines([reading(1, "2026-07-03T08:00:00Z", 9000, platform="tiktok")], NOW)
    found = model.videos[video_id(1)]
    assert found.milestones == [(1000, ms("2026-07-05T08:00:00Z")), (10000, ms("2026-07-05T08:00:00Z"))]
    assert found.first_reading == ms("2026-07-03T08:00:00Z")
    assert Responses(model, A, NOW).show_video(found)["platforms"][0]["views_updated_at"] == "2026-07-03T08:00:00.000Z"
    days = Responses(model, A, NOW).days(found, 0, 30000)
    assert [day["views"] for day in days] == [0, 0, 10000, 0, 0, 0, 0, 0]
    assert days[0]["date"] == "2026-07-03" and days[-1]["date"] == "2026-07-10"


# -- viral threshold --------------------------------------------------------------------------------------------------

@pytest.mark.parametrize("views, comparison", [
    ([5000] * 4, (10000, None, 4)),
    ([1, 2, 3, 4, 5], (10000, 3, 5)),
    ([4000, 1, 2500, 9000, 9000], (20000, 4000, 5)),
    ([3000, 3001, 1, 9000, 9000, 2], (15000, 3000, 6)),
    ([3001, 3002, 1, 9000, 9000, 2], (15005, 3001, 6)),
])
def test_threshold_is_a_multiple_of_the_median(views, comparison):
    model = build(video(1), *comparable_lines(views))
    found = viral_comparison(model.rules, model.authors[A], model.videos[video_id(1)], NOW)
    assert (found.threshold, found.median, found.compared) == comparison


def test_multiplier_is_rounded_up_in_thousandths():
    model = build(video(1), *comparable_lines([3001] * 5), rules=Rules(multiplier="1.001", min_views=1))
    found = viral_comparison(model.rules, model.authors[A], model.videos[video_id(1)], NOW)
    assert found.threshold == 3005                  # 3004.001


def test_threshold_is_at_most_the_largest_count():
    model = build(video(1), *comparable_lines([2 ** 53 - 1] * 5))
    assert viral_comparison(model.rules, model.authors[A], model.videos[video_id(1)], NOW).threshold == 2 ** 53 - 1


def test_video_is_comparable_at_exactly_seven_days():
    model = build(video(1), *comparable_lines([100] * 5, "2026-06-20T00:00:00Z"))
    one = model.videos[video_id(1)]
    assert viral_comparison(model.rules, model.authors[A], one, ms("2026-06-27T00:00:00Z")).compared == 5
    assert viral_comparison(model.rules, model.authors[A], one, ms("2026-06-27T00:00:00Z") - 1).compared == 0


def test_only_the_newest_are_compared_and_ids_break_ties():
    model = build(video(1), *comparable_lines([1, 2, 3], "2026-06-19T00:00:00Z", 10),
                  *comparable_lines([10, 20, 30, 40, 50], first=20), rules=Rules(compare_last=6, min_views=1, multiplier="1"))
    found = viral_comparison(model.rules, model.authors[A], model.videos[video_id(1)], NOW)
    assert (found.median, found.compared) == (25, 6)        # 10 … 50 and 3, whose id is the highest of the older ones


def viral_case(*readings, before=()):
    """Imports the readings of a video that was posted on 07-01 with a threshold of 15,000 (median 3,000). Returns
    (model, video)."""
    model = build(*comparable_lines([3000] * 5))
    model.import_lines([video(1), *before], ms("2026-07-01T00:30:00Z"))
    assert (model.videos[video_id(1)].comparison.threshold, model.videos[video_id(1)].comparison.compared) == (15000, 5)
    assert model.import_lines(list(readings), NOW) == []
    return model, model.videos[video_id(1)]


def test_video_is_viral_at_the_threshold_but_not_one_view_below():
    model, one = viral_case(reading(1, "2026-07-02T10:59:00Z", 14999))
    assert not one.viral and one.comparison.threshold == 15000
    model.import_lines([reading(1, "2026-07-02T11:59:59.999Z", 15000)], NOW)
    shown = Responses(model, A, NOW).show_video(one)["viral"]
    assert shown == {"is_viral": True, "went_viral_at": "2026-07-02T11:00:00.000Z", "views_when_viral": 15000,
                     "threshold": 15000, "author_median_views": 3000, "compared_videos": 5}
    assert kinds(model)[-1] == ("went_viral", 15000, "2026-07-02T11:59:59.999Z")


def test_went_viral_event_is_ordered_among_milestones_by_its_threshold():
    model, _ = viral_case(reading(1, "2026-07-02T10:00:00Z", 60000))
    assert kinds(model) == [("milestone_reached", 1000, "2026-07-02T10:00:00.000Z"),
                            ("milestone_reached", 10000, "2026-07-02T10:00:00.000Z"),
                            ("went_viral", 60000, "2026-07-02T10:00:00.000Z"),
                            ("milestone_reached", 50000, "2026-07-02T10:00:00.000Z")]
    alone = build(video(1), reading(1, "2026-07-02T10:00:00Z", 10000))
    assert [kind for kind, _, _ in kinds(alone)] == ["milestone_reached", "milestone_reached", "went_viral"]


def test_video_without_gain_stays_not_viral_if_its_threshold_falls_below_its_views():
    model, one = viral_case(reading(1, "2026-07-02T10:00:00Z", 14000))
    five_small = [video(number, "2026-06-25T00:00:00Z") for number in range(30, 36)]
    small = [reading(number, "2026-06-25T01:00:00Z", 10, baseline=True) for number in range(30, 36)]
    model.import_lines(five_small + small + [reading(1, "2026-07-03T10:00:00Z", 14000)], NOW)
    assert viral_comparison(model.rules, model.authors[A], one, one.views_updated_at).threshold == 10000
    assert not one.viral and one.comparison.threshold == 15000           # still the last threshold that was above its views
    model.import_lines([reading(1, "2026-07-03T11:00:00Z", 14001)], NOW)
    assert one.viral and one.comparison.threshold == 10000 and one.comparison.compared == 11


def test_the_same_reading_again_changes_nothing():
    model, one = viral_case(reading(1, "2026-07-02T10:00:00Z", 14000))
    small = [video(number, "2026-06-25T00:00:00Z") for number in range(30, 36)]
    model.import_lines(small + [reading(number, "2026-06-25T01:00:00Z", 5000, baseline=True) for number in range(30, 36)], NOW)
    assert viral_comparison(model.rules, model.authors[A], one, one.views_updated_at).threshold == 25000
    model.import_lines([reading(1, "2026-07-02T10:00:00Z", 14000), reading(1, "2026-07-02T10:00:00Z", 300, baseline=True)], NOW)
    assert one.comparison.threshold == 15000 and not one.baseline_pending
    model.import_lines([reading(1, "2026-07-02T10:00:00Z", 14000, likes=1)], NOW)
    assert one.comparison.threshold == 25000


def test_baseline_above_the_threshold_is_viral_without_event():
    model, one = viral_case(reading(1, "2026-07-02T10:59:00Z", 15000, baseline=True))
    assert one.viral and one.went_viral_at == ms("2026-07-02T10:00:00Z") and one.views_when_viral == 15000
    assert kinds(model) == [] and [value for value, _ in one.milestones] == [1000, 10000]


def test_gain_above_a_low_baseline_causes_an_event():
    model, one = viral_case(reading(1, "2026-07-02T10:00:00Z", 14999, baseline=True), reading(1, "2026-07-02T11:00:00Z", 15000))
    assert one.viral and kinds(model) == [("went_viral", 15000, "2026-07-02T11:00:00.000Z")]


def test_gain_and_baseline_together_reach_the_threshold_without_event():
    model, one = viral_case(reading(1, "2026-07-02T10:00:00Z", 9000), reading(1, "2026-07-02T11:00:00Z", 15000, baseline=True))
    assert one.viral and one.baseline == 6000 and one.went_viral_at == ms("2026-07-02T11:00:00Z")
    assert kinds(model) == [("milestone_reached", 1000, "2026-07-02T10:00:00.000Z")]


def test_gain_with_a_pending_baseline_above_the_threshold_causes_no_event():
    model, one = viral_case(reading(1, "2026-07-02T10:00:00Z", 20000, baseline=True), reading(1, "2026-07-02T11:00:00Z", 20001))
    assert one.viral and one.went_viral_at == ms("2026-07-02T11:00:00Z") and one.views_when_viral == 20001
    assert kinds(model) == []


def test_events_before_history_start_are_not_created():
    model = build(video(1, "2026-06-14T00:00:00Z"), reading(1, "2026-06-14T23:59:59.999Z", 1000),
                  reading(1, "2026-06-15T00:00:00Z", 10000))
    assert kinds(model) == [("milestone_reached", 10000, "2026-06-15T00:00:00.000Z"),
                            ("went_viral", 10000, "2026-06-15T00:00:00.000Z")]
    assert [value for value, _ in model.videos[video_id(1)].milestones] == [1000, 10000]


# -- responses----------------------------------------------------------------------------------------------------------

def test_video_is_final_after_thirty_days():
    model = build(video(1, "2026-06-10T12:00:00Z"))
    assert not Responses(model, A, NOW).show_video(model.videos[video_id(1)])["views_final"]
    assert Responses(model, A, NOW + 1).show_video(model.videos[video_id(1)])["views_final"]


def test_untitled_video_has_the_title_of_its_book_and_video_without_posts_is_not_listed():
    model = build(book(), video(1, title=None, book_id=BOOK), video(2, title=None), video(3, posts=[]))
    shown, limit = Responses(model, A, NOW).videos({})
    assert [(entry["id"], entry["title"]) for entry in shown] == [(video_id(2), "Untitled"), (video_id(1), "Book 1")]
    assert limit == 50
    with pytest.raises(Rejected):
        Responses(model, A, NOW).video(video_id(3))
    assert Responses(model, A, NOW).books()["data"][0]["videos_posted"] == 1
    assert Responses(model, A, NOW).account()["data"]["videos_count"] == 2


def test_stats_have_one_row_for_each_day_of_life_and_sum_to_the_views():
    model = build(book(), video(1, "2026-06-08T00:00:00Z", book_id=BOOK),
                  reading(1, "2026-06-09T00:00:00Z", 50, baseline=True), reading(1, "2026-06-11T00:00:00Z", 150),
                  reading(1, "2026-07-08T00:00:00Z", 10150))
    responses = Responses(model, A, NOW)
    found = responses.stats({"start_date": "2026-06-01", "end_date": "2026-08-01"})
    days = found["data"][0]["days"]
    assert (found["start_date"], found["end_date"]) == ("2026-06-01", "2026-08-01")
    assert (days[0]["date"], days[-1]["date"], len(days)) == ("2026-06-09", "2026-07-08", 30)
    assert [(day["views"], day["views_total"]) for day in days[:4]] == [(0, 50), (0, 50), (100, 150), (0, 150)]
    assert days[-1] == {"date": "2026-07-08", "views": 10000, "views_total": 10150, "is_viral": True, "went_viral": True}
    assert sum(day["views"] for day in days) + 50 == model.videos[video_id(1)].views
    assert responses.stats({"start_date": "2026-06-12", "end_date": "2026-07-07"})["data"] == []
    by_book = responses.stats({"start_date": "2026-07-01", "group_by": "book"})["data"]
    assert by_book[0]["book"] == {"id": BOOK, "title": "Book 1"}
    assert by_book[0]["days"][-1] == {"date": "2026-07-08", "views": 10000, "videos_went_viral": [video_id(1)]}


@pytest.mark.parametrize("params, effective", [
    ({}, ("2026-07-04", "2026-07-10")),
    ({"start_date": "2026-07-08"}, ("2026-07-08", "2026-07-10")),
    ({"start_date": "2026-07-12"}, ("2026-07-12", "2026-07-12")),
    ({"end_date": "2026-07-01"}, ("2026-06-25", "2026-07-01")),
    ({"start_date": "2026-01-01", "end_date": "2026-03-31"}, ("2026-01-01", "2026-03-31")),
])
def test_missing_dates_of_a_stats_range_have_defaults(params, effective):
    found = Responses(build(), A, NOW).stats(params)
    assert (found["start_date"], found["end_date"]) == effective


@pytest.mark.parametrize("params, code, parameter", [
    ({"start_date": "2026-01-01", "end_date": "2026-04-01"}, "range_too_long", "end_date"),
    ({"start_date": "2026-02-30", "end_date": "x"}, "invalid_parameter", "start_date"),
    ({"start_date": "2026-01-02", "end_date": "2026-01-01"}, "invalid_parameter", "end_date"),
    ({"start_date": "2026-01-02", "end_date": "2026-01-01", "group_by": "day"}, "invalid_parameter", "group_by"),
])
def test_invalid_ranges_are_rejected(params, code, parameter):
    with pytest.raises(Rejected) as rejected:
        Responses(build(), A, NOW).stats(params)
    assert (rejected.value.code, rejected.value.parameter) == (code, parameter)


def test_csv_cells_are_not_formulas():
    model = build(book(title="=1+1"), video(1, title="-x", book_id=BOOK), reading(1, "2026-07-09T00:00:00Z", 5))
    assert Responses(model, A, NOW).stats_csv({})[1] == [
        "2026-07-09", video_id(1), "'-x", BOOK, "'=1+1", "5", "5", "false", "false"]


def test_pages_of_events_follow_the_cursor():
    model = build(video(1), reading(1, "2026-07-02T00:00:00Z", 1000), reading(1, "2026-07-03T00:00:00Z", 50000))
    responses = Responses(model, A, NOW)
    assert [event["id"] for event in responses.events({})["data"]] == ["evt_1", "evt_2", "evt_3", "evt_4"]
    assert [event["type"][6:] for event in responses.events({})["data"]] == [
        "milestone_reached", "milestone_reached", "went_viral", "milestone_reached"]
    page = responses.events({"after": "evt_1", "limit": "2"})
    assert [event["id"] for event in page["data"]] == ["evt_2", "evt_3"] and page["has_more"]
    assert page["next_cursor"] == "evt_3"
    assert responses.events({"after": "evt_4"}) == {"success": True, "data": [], "has_more": False, "next_cursor": None}
    assert responses.events({"after": "latest"})["next_cursor"] == "evt_4"
    down = responses.events({"order": "desc", "before": "evt_4", "limit": "1"})
    assert [event["id"] for event in down["data"]] == ["evt_3"] and down["has_more"]
    only = responses.events({"type": "video.went_viral"})["data"]
    assert [(event["views"], event["threshold"], event["author_median_views"]) for event in only] == [(50000, 10000, None)]
    assert len(responses.events({"occurred_after": "2026-07-02T00:00:00Z"})["data"]) == 3
    for wrong in ({"after": "evt_01"}, {"after": ""}, {"limit": "101"}, {"after": "evt_1", "order": "desc"},
                  {"type": "x"}, {"occurred_after": "2026-07-02"}):
        with pytest.raises(Rejected):
            responses.events(wrong)
