"""Compares all responses of a running server for one author with the model, field by field."""
import collections
import csv
import io
import random
import re

from model import Rejected, iso
from model.values import DAY, date_text, day_of, parse_date

EVENT_ID = re.compile(r"evt_(0|[1-9][0-9]{0,18})")
CSV_TYPE = "text/csv"


def differences(expected, got, path=""):
    """Returns the differences between two JSON values as lines of text."""
    if isinstance(expected, dict) and isinstance(got, dict):
        found = []
        for name in {**expected, **got}:
            if name not in got or name not in expected:
                found.append(f"{path}.{name}: {'missing' if name in expected else 'not expected'}")
            else:
                found += differences(expected[name], got[name], f"{path}.{name}")
        return found
    if isinstance(expected, list) and isinstance(got, list):
        found = [] if len(expected) == len(got) else [f"{path}: {len(expected)} expected, {len(got)} served"]
        for index, (left, right) in enumerate(zip(expected, got)):
            found += differences(left, right, f"{path}[{index}]")
        return found
    same = expected == got and isinstance(expected, bool) == isinstance(got, bool)
    return [] if same else [f"{path}: {expected!r} expected, {got!r} served"]


DAY_TEXTS = ["2026-02-30", "2026-2-3", "20260203", "yesterday", "2026-02-03T00:00:00Z", " 2026-02-03", "0000-00-00"]
INVALID_VALUES = {
    "/videos": [("start_date", DAY_TEXTS), ("end_date", DAY_TEXTS), ("viral", ["1", "TRUE", "yes"]),
                ("limit", ["0", "101", "-1", "1.0", "ten", "1e1", "99999999999999999999"]), ("book_id", ["x", "1234"])],
    "/stats": [("start_date", DAY_TEXTS), ("end_date", DAY_TEXTS), ("group_by", ["day", "Book", "platforms"]), ("granularity", ["daily", "Week", "year"])],
    "/events": [("after", ["evt_01", "1", "evt_", "evt_-1", "evt_99999999999999999999", "newest"]), ("limit", ["0", "101", "x"]),
                ("type", ["viral", "video.gone", "video.went_viral,", "video.went_viral,x"]), ("occurred_after", ["2026-06-20", "now", "2026-06-31T00:00:00Z"]),
                ("order", ["up", "DESC"])],
}


class Comparison:
    """Compares the responses for one author at one time. `rng` chooses filters and page sizes."""

    def __init__(self, client, responses, rng=None):
        self.client = client
        self.responses = responses
        self.rng = rng or random.Random(0)
        self.ids = None

    def all(self, each_video=False):
        self.account()
        self.books()
        self.videos({})
        self.events()
        self.videos(self.video_filter())
        shown, _ = self.responses.videos({})
        for video in shown if each_video else self.rng.sample(shown, min(2, len(shown))):
            self.same(self.responses.video(video["id"]), f"/videos/{video['id']}")
        for params in ({}, self.stats_range()):
            self.stats(params)
        self.rejections()

    def get(self, path, params=None, headers=None):
        response = self.client.get(path, params, headers)
        assert response.status == 200, f"GET {path} {params}: {response}"
        return response

    def same(self, expected, path, params=None):
        self.check(expected, self.get(path, params).json(), path, params)

    def check(self, expected, got, path, params=None):
        found = differences(expected, got)
        if found:
            raise AssertionError(f"GET {path} {params or ''}: " + "; ".join(found[:12]))

    # -- resources ------------------------------------------------------------------------------------------------

    def account(self):
        got = self.get("/account").json()
        key = got["data"].pop("key")
        assert {"name", "prefix", "created_at", "last_used_at"} <= set(key), key
        assert key["prefix"].startswith("service_live_") and key["prefix"].endswith(self.client.key[-4:]), key
        self.check(self.responses.account(), got, "/account")

    def books(self):
        self.same(self.responses.books(), "/books")

    def videos(self, params):
        """Reads and compares all pages."""
        expected, limit = self.responses.videos(params)
        pages = [expected[start:start + limit] for start in range(0, len(expected), limit)] or [[]]
        cursor = None
        for number, page in enumerate(pages, 1):
            got = self.get("/videos", {**params, "cursor": cursor}).json()
            cursor = got.pop("next_cursor")
            more = number < len(pages)
            assert isinstance(cursor, str) if more else cursor is None, f"/videos {params} page {number}: cursor {cursor!r}"
            self.check({"success": True, "data": page, "has_more": more}, got, f"/videos page {number}", params)

    def video_filter(self):
        rng, params = self.rng, {"limit": str(self.rng.choice([1, 2, 3, 7, 100]))}
        posted = [video.posted_at for video in self.responses.posted()]
        if rng.random() < 0.5:
            params["viral"] = rng.choice(["true", "false"])
        if self.responses.author.books and rng.random() < 0.5:
            params["book_id"] = rng.choice([str.upper, str.lower])(rng.choice(list(self.responses.author.books)))
        if posted and rng.random() < 0.5:
            start, end = sorted(day_of(rng.choice(posted)) + rng.choice([0, 0, 1, -1]) for _ in range(2))
            params.update(rng.choice([{"start_date": date_text(start)}, {"end_date": date_text(end)},
                                      {"start_date": date_text(start), "end_date": date_text(end)}]))
        return params

    def stats_range(self):
        rng, today = self.rng, self.responses.today
        start = today - rng.randrange(rng.choice([12, 100]))
        days = rng.choice([1, 2, 7, 30, 90, 90])
        return rng.choice([{"start_date": date_text(start), "end_date": date_text(start + days - 1)},
                           {"end_date": date_text(start)}, {"start_date": date_text(today - rng.randrange(rng.choice([12, 90])))}])

    def stats(self, params):
        granularity = {"granularity": self.rng.choice(["day", "week", "month"])}
        if granularity["granularity"] != "day" and self.rng.random() < 0.5:
            start = self.responses.today - self.rng.randrange(90, 700)
            long = {"start_date": date_text(start), "end_date": date_text(start + self.rng.randrange(90, 720)), **granularity}
            self.same(self.responses.stats({**long, "group_by": "platform"}), "/stats", {**long, "group_by": "platform"})
            self.sums_are_equal(long)
        for group in ("video", "book", "account", "platform"):
            for chosen in ({**params, "group_by": group}, {**params, "group_by": group, **granularity}):
                self.same(self.responses.stats(chosen), "/stats", chosen)
        self.same(self.responses.stats(params), "/stats", params)
        self.sums_are_equal({**params, **granularity})
        self.stats_csv({**params, "group_by": self.rng.choice(["video", "book", "account", "platform"]), **granularity})

    def sums_are_equal(self, params):
        """On every date, the rows by video, account and platform have the same sum of views."""
        sums = {}
        for group in ("video", "account", "platform"):
            by_date = sums.setdefault(group, {})
            totals = collections.Counter()
            for row in self.get("/stats", {**params, "group_by": group}).json()["data"]:
                for day in row["days"]:
                    assert day["views"] >= 0 and day.get("views_total", 0) >= 0, row
                    by_date[day["date"]] = by_date.get(day["date"], 0) + day["views"]
                    totals[day["date"]] += day.get("views_total", 0)
            if group == "account":
                account_totals = +totals
            elif group == "platform":
                assert +totals == account_totals, f"/stats {params}: views_total by platform"
        for group, by_date in sums.items():
            gained = {day: views for day, views in by_date.items() if views}
            assert gained == {day: views for day, views in sums["video"].items() if views}, f"/stats {params} by {group}"

    def stats_csv(self, params):
        if self.rng.random() < 0.5:
            response = self.get("/stats", {**params, "format": "csv"})
        else:
            response = self.get("/stats", params, {"Accept": CSV_TYPE})
        assert response.headers["Content-Type"].startswith(CSV_TYPE), response.headers["Content-Type"]
        got = list(csv.reader(io.StringIO(response.body.decode("utf-8"), newline="")))
        self.check(self.responses.stats_csv(params), got, "/stats as CSV", params)

    # -- invalid parameters ----------------------------------------------------------------------------------------

    def rejections(self):
        start = self.responses.today - self.rng.randrange(200)
        length = {"start_date": date_text(start), "end_date": date_text(start + self.rng.choice([90, 91, 1000]))}
        backwards = {"start_date": date_text(start), "end_date": date_text(start - self.rng.choice([1, 90, 100]))}
        years = {"start_date": date_text(start), "end_date": date_text(start + self.rng.choice([740, 1860, 90000])),
                 "granularity": self.rng.choice(["day", "week", "month"])}
        years["granularity"] = "week" if years["granularity"] == "month" and parse_date(years["end_date"]) - start < 1860 else years["granularity"]
        self.check_rejection("/stats", self.rng.choice([length, backwards, years]))
        self.check_rejection("/videos", backwards)
        self.check_rejection("/events", self.rng.choice([{"order": "desc", "after": "evt_0"}, {"before": "evt_5"},
                                                 {"order": "asc", "before": "evt_5"}]))
        for path, choices in INVALID_VALUES.items():
            name, values = self.rng.choice(choices)
            self.check_rejection(path, {**({"group_by": "decade"} if path == "/stats" else {}), name: self.rng.choice(values)})

    def check_rejection(self, path, params):
        """Asserts that the model and the server reject the parameters, with the same code, and name the parameter."""
        try:
            getattr(self.responses, path[1:])(params)
        except Rejected as rejection:
            response = self.client.get(path, params)
            error = response.json().get("error", {})
            assert response.status == 400, f"GET {path} {params}: {response}"
            assert error["code"] == rejection.code and rejection.parameter in error["message"], f"GET {path} {params}: {error}"
        else:
            raise AssertionError(f"the model accepts {path} {params}")

    # -- events ----------------------------------------------------------------------------------------------------

    def history(self):
        """The ids of all events of the author, read in pages of 100."""
        ids, after = [], None
        while True:
            page = self.get("/events", {"after": after, "limit": "100"}).json()
            ids += [event["id"] for event in page["data"]]
            after = page["next_cursor"] or after
            if not page["has_more"]:
                return ids

    def events(self):
        ids = self.history()
        numbers = [int(EVENT_ID.fullmatch(event_id)[1]) for event_id in ids]
        assert numbers == sorted(set(numbers)), f"/events: ids are not strictly increasing: {ids}"
        self.responses.bind_event_ids(ids)
        after = {}
        while True:         # read all events again, in pages of random size
            params = {**after, "limit": str(self.rng.choice([3, 10, 50, 100]))}
            expected = self.responses.events(params)
            self.same(expected, "/events", params)
            if not expected["data"]:
                break
            after = {"after": expected["next_cursor"]}
        self.same(self.responses.events({"after": "latest"}), "/events", {"after": "latest"})
        for _ in range(3):
            params = self.event_filter(numbers)
            self.same(self.responses.events(params), "/events", params)

    def event_filter(self, numbers):
        rng, params = self.rng, {}
        random_id = lambda: f"evt_{max(0, rng.choice(numbers or [5]) + rng.choice([-1, 0, 0, 1, 10 ** 6]))}"
        if rng.random() < 0.5:
            params["type"] = rng.choice(["video.went_viral", "video.milestone_reached",
                                         "video.milestone_reached,video.went_viral"])
        if rng.random() < 0.4:
            times = [event["occurred_at"] for event in self.responses.author.events] or [self.responses.now]
            params["occurred_after"] = iso(rng.choice(times) + rng.choice([-1, 0, 0, 1, -DAY]))
        if rng.random() < 0.5:
            params["order"] = "desc"
            if rng.random() < 0.6:
                params["before"] = random_id()
        elif rng.random() < 0.6:
            params["after"] = random_id()
        if rng.random() < 0.7:
            params["limit"] = str(rng.choice([1, 2, 5, 100]))
        return params
