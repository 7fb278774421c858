"""The expected response of every endpoint to one author at one time, as Python objects.

A method raises Rejected(code, parameter) if the server must reject the request. The service assigns the ids of events: a
test reads them and passes them to bind_event_ids(). Without this call, the id of an event is its position in the
author's history.
"""
import re

from .values import COUNTS, LIFE, PLATFORMS, UUID, date_text, day_of, iso, ms, parse_date

BREAKDOWNS = {"day": "daily", "week": "weekly", "month": "monthly"}
MOST_PERIODS = {"day": 90, "week": 104, "month": 60}
GROUPS = ("video", "book", "account", "platform")
EVENT_ID = re.compile(r"evt_(0|[1-9][0-9]{0,18})")
EVENT_TYPES = ("video.went_viral", "video.milestone_reached")
CSV_VIDEO = ("date", "video_id", "title", "book_id", "book_title", "views", "views_total", "is_viral", "went_viral")
CSV_ACCOUNT = ("date", "account_id", "account_name", "views", "views_total")
CSV_PLATFORM = ("date", "platform", "views", "views_total")
CSV_BOOK = ("date", "book_id", "book_title", "views", "videos_went_viral")


class Rejected(Exception):
    def __init__(self, code, parameter):
        super().__init__(f"{code}: {parameter}")
        self.code = code
        self.parameter = parameter


def reject_unless(condition, parameter, code="invalid_parameter"):
    if not condition:
        raise Rejected(code, parameter)


def parsed(parse, value, parameter):
    try:
        return parse(value)
    except ValueError:
        raise Rejected("invalid_parameter", parameter) from None


def one_of(params, name, words, default=None):
    value = params.get(name, default)
    reject_unless(value == default or value in words, name)
    return value


def number(params, name, low, high, default):
    value = params.get(name)
    if value is None:
        return default
    reject_unless(re.fullmatch(r"[0-9]{1,4}", value) and low <= int(value) <= high, name)
    return int(value)


def date(params, name):
    return parsed(parse_date, params[name], name) if name in params else None


def book_ref(book):
    return {"id": book.id, "title": book.title} if book else None


class Responses:
    """The expected responses for one author at the time `now`. In all methods, `params` is {name: text} as in the query
    string."""

    def __init__(self, model, author_id, now):
        self.author = model.authors[author_id]
        self.now = now
        self.today = day_of(now)

    # -- videos ----------------------------------------------------------------------------------------------------

    def posted(self):
        """The posted videos, newest first."""
        videos = [video for video in self.author.videos.values() if video.posts]
        return sorted(videos, key=lambda video: (video.posted_at, video.id), reverse=True)

    def videos(self, params):
        """Returns (all matching videos, videos per page) of /videos."""
        start, end = date(params, "start_date"), date(params, "end_date")
        book_id = params.get("book_id")
        reject_unless(book_id is None or UUID.fullmatch(book_id), "book_id")
        viral = one_of(params, "viral", ("true", "false"))
        limit = number(params, "limit", 1, 100, 50)
        reject_unless(start is None or end is None or start <= end, "end_date")
        found = [video for video in self.posted()
                 if (start is None or day_of(video.posted_at) >= start)
                 and (end is None or day_of(video.posted_at) <= end)
                 and (book_id is None or (video.book and video.book.id == book_id.lower()))
                 and (viral is None or video.viral == (viral == "true"))]
        return [self.show_video(video) for video in found], limit

    def video(self, video_id):
        video = self.author.videos.get(video_id.lower())
        reject_unless(video and video.posts, "id", "not_found")
        return {"success": True, "data": self.show_video(video)}

    def show_video(self, video):
        posts = [video.posts[platform] for platform in PLATFORMS if platform in video.posts]
        return {
            "id": video.id, "title": video.shown_title, "thumbnail_url": video.thumbnail_url, "book": book_ref(video.book),
            "posted_at": iso(video.posted_at), "views": video.views,
            **{count: sum(post.counts[count] or 0 for post in posts) for count in COUNTS[1:]},
            "views_updated_at": iso(video.views_updated_at), "views_final": self.now > video.posted_at + LIFE,
            "platforms": [{"platform": post.platform, "url": post.url, "views": post.views, **{count: value or 0 for count, value in post.counts.items()},
                           "posted_at": iso(post.posted_at), "views_updated_at": iso(post.last_reading)} for post in posts],
            "viral": {"is_viral": video.viral, "went_viral_at": iso(video.went_viral_at),
                      "views_when_viral": video.views_when_viral, "threshold": video.comparison.threshold,
                      "author_median_views": video.comparison.median, "compared_videos": video.comparison.compared},
            "milestones": [{"views": value, "reached_at": iso(moment)} for value, moment in video.milestones]}

    # -- books and account -----------------------------------------------------------------------------------------

    def books_in_order(self):
        return sorted(self.author.books.values(), key=lambda book: (book.created_at, book.id), reverse=True)

    def books(self):
        posted = [video.book for video in self.posted()]
        return {"success": True, "data": [
            {"id": book.id, "title": book.title, "subtitle": book.subtitle, "author": self.author.name,
             "videos_posted": posted.count(book), "created_at": iso(book.created_at)} for book in self.books_in_order()]}

    def account(self):
        """The account without `key`, which the model does not contain."""
        updated = [video.views_updated_at for video in self.author.videos.values() if video.views_updated_at is not None]
        return {"success": True, "data": {
            "id": self.author.id, "name": self.author.name, "plan": {"active": self.author.plan_active},
            "created_at": iso(self.author.created_at), "books_count": len(self.author.books),
            "videos_count": len(self.posted()), "views_refreshed_at": iso(max(updated, default=None))}}

    # -- statistics ------------------------------------------------------------------------------------------------

    def stats_range(self, params):
        start, end = date(params, "start_date"), date(params, "end_date")
        group_by = one_of(params, "group_by", GROUPS, "video")
        granularity = one_of(params, "granularity", BREAKDOWNS, "day")
        if end is None:
            end = self.today if start is None else max(start, self.today)
        if start is None:
            start = default_start(granularity, end)
        reject_unless(start <= end, "end_date")
        touched = {period_of(granularity, day) for day in range(start, min(end, start + 5000) + 1)}
        reject_unless(len(touched) <= MOST_PERIODS[granularity], "end_date", "range_too_long")
        return start, end, group_by, granularity

    def stats(self, params):
        start, end, group_by, granularity = self.stats_range(params)
        rows = {"video": lambda: [{"video": {"id": video.id, "title": video.shown_title, "book": book_ref(video.book),
                                             "posted_at": iso(video.posted_at)}, "days": days}
                                  for video, days in self.video_rows(start, end, granularity)],
                "book": lambda: [{"book": book_ref(book), "days": days} for book, days in self.book_rows(start, end, granularity)],
                "account": lambda: [{"account": {"id": self.author.id, "name": self.author.name},
                                     "days": self.account_days(start, end, granularity)}],
                "platform": lambda: [{"platform": platform, "days": days}
                                     for platform, days in self.platform_rows(start, end, granularity)]}[group_by]()
        return {"success": True, "start_date": date_text(start), "end_date": date_text(end), "breakdown": BREAKDOWNS[granularity],
                "timezone": "UTC", "group_by": group_by, "data": rows}

    def stats_csv(self, params):
        """The header and rows of the CSV, as lists of cells."""
        start, end, group_by, granularity = self.stats_range(params)
        if group_by == "book":
            return [list(CSV_BOOK)] + [
                [day["date"], book.id, cell(book.title), str(day["views"]), " ".join(day["videos_went_viral"])]
                for book, days in self.book_rows(start, end, granularity) for day in days]
        if group_by == "account":
            return [list(CSV_ACCOUNT)] + [[day["date"], self.author.id, cell(self.author.name), str(day["views"]), str(day["views_total"])]
                                          for day in self.account_days(start, end, granularity)]
        if group_by == "platform":
            return [list(CSV_PLATFORM)] + [[day["date"], platform or "", str(day["views"]), str(day["views_total"])]
                                           for platform, days in self.platform_rows(start, end, granularity) for day in days]
        return [list(CSV_VIDEO)] + [
            [day["date"], video.id, cell(video.shown_title), video.book.id if video.book else "",
             cell(video.book.title) if video.book else "", str(day["views"]), str(day["views_total"]),
             "true" if day["is_viral"] else "false", "true" if day["went_viral"] else "false"]
            for video, days in self.video_rows(start, end, granularity) for day in days]

    def video_rows(self, start, end, granularity):
        rows = [(video, self.days(video, start, end)) for video in self.posted()]
        return [(video, periods(days, start, granularity)) for video, days in rows if any(day["views"] for day in days)]

    def account_days(self, start, end, granularity):
        """Lists every date from the author's first reading on. The total includes all baselines from the first date
        on."""
        videos = [video for video in self.posted() if video.first_reading is not None]
        first = max(start, day_of(min((video.first_reading for video in videos), default=self.now + LIFE)))
        days = [{"date": date_text(day), "views": sum(video.gains.get(day, 0) for video in videos),
                 "views_total": sum(video.baseline + sum(gain for gained, gain in video.gains.items() if gained <= day) for video in videos)}
                for day in range(first, min(end, self.today) + 1)]
        return periods(days, start, granularity)

    def platform_rows(self, start, end, granularity):
        """The gains of all platforms add up to those of the account, because the model has split every gain."""
        rows = []
        for platform in PLATFORMS:
            baseline = sum(video.platform_baselines.get(platform, 0) for video in self.posted())
            gains = {}
            for video in self.posted():
                for (day, gained_on), gain in video.platform_gains.items():
                    if gained_on == platform:
                        gains[day] = gains.get(day, 0) + gain
            days = []
            for period in self.account_days(start, end, "day"):
                day = parse_date(period["date"])
                days.append({"date": period["date"], "views": gains.get(day, 0),
                             "views_total": baseline + sum(gain for gained, gain in gains.items() if gained <= day)})
            if days and days[-1]["views_total"]:
                rows.append((platform, periods(days, start, granularity)))
        return rows

    def days(self, video, start, end):
        if video.first_reading is None:
            return []
        first = max(start, day_of(video.first_reading))
        # An import may have changed posted_at after the readings.
        gained = [day for day in video.gains if start <= day <= end]
        last = min(end, self.today, max([day_of(video.posted_at + LIFE), *gained]))
        viral_day = day_of(video.went_viral_at) if video.viral else None
        return [{"date": date_text(day), "views": video.gains.get(day, 0),
                 "views_total": video.baseline + sum(gain for gained, gain in video.gains.items() if gained <= day),
                 "is_viral": video.viral and day >= viral_day, "went_viral": video.viral and day == viral_day}
                for day in range(first, last + 1)]

    def book_rows(self, start, end, granularity):
        """Sums of the video rows; a book lists the dates that at least one of its videos lists."""
        by_book = {}
        for video, days in self.video_rows(start, end, granularity):
            if video.book:
                for day in days:
                    total = by_book.setdefault(video.book, {}).setdefault(
                        day["date"], {"date": day["date"], "views": 0, "videos_went_viral": []})
                    total["views"] += day["views"]
                    if day["went_viral"]:
                        total["videos_went_viral"].append(video.id)
        return [(book, [by_book[book][day] for day in sorted(by_book[book])])
                for book in self.books_in_order() if book in by_book]

    # -- events ----------------------------------------------------------------------------------------------------

    def bind_event_ids(self, ids):
        """`ids`: the server's ids (`evt_…`) of all events of the author, in order."""
        if len(ids) != len(self.author.events):
            raise AssertionError(f"{len(ids)} events were served, the rules give {len(self.author.events)}")
        for event, event_id in zip(self.author.events, ids):
            event["id"] = int(event_id[4:])

    def show_event(self, event):
        video = event["video"]
        shown = {"id": f"evt_{event['id']}", "type": event["type"], "occurred_at": iso(event["occurred_at"]),
                 "video": {"id": video.id, "title": video.shown_title, "thumbnail_url": video.thumbnail_url,
                           "book": book_ref(video.book), "posted_at": iso(video.posted_at),
                           "posts": [{"platform": platform, "url": video.posts[platform].url}
                                     for platform in PLATFORMS if platform in video.posts]}}
        return {**shown, **{name: event[name] for name in ("views", "milestone", "threshold", "author_median_views")
                            if name in event}}

    def event_position(self, params, name):
        value = params.get(name)
        if value is None:
            return None
        reject_unless(EVENT_ID.fullmatch(value), name)
        return int(value[4:])

    def events(self, params):
        for position, event in enumerate(self.author.events, 1):
            event.setdefault("id", position)
        latest = params.get("after") == "latest"
        after = None if latest else self.event_position(params, "after")
        limit = number(params, "limit", 1, 100, 50)
        kinds = params.get("type", ",".join(EVENT_TYPES)).split(",")
        reject_unless(set(kinds) <= set(EVENT_TYPES), "type")
        since = parsed(ms, params["occurred_after"], "occurred_after") if "occurred_after" in params else None
        order = one_of(params, "order", ("asc", "desc"), "asc")
        before = self.event_position(params, "before")
        reject_unless(not ("after" in params and order == "desc"), "after")
        reject_unless(before is None or order == "desc", "before")
        if latest:
            newest = self.author.events[-1]["id"] if self.author.events else 0
            return {"success": True, "data": [], "has_more": False, "next_cursor": f"evt_{newest}"}
        found = [event for event in self.author.events
                 if (after is None or event["id"] > after) and (before is None or event["id"] < before)
                 and event["type"] in kinds and (since is None or event["occurred_at"] > since)]
        if order == "desc":
            found.reverse()
        page = found[:limit]
        return {"success": True, "data": [self.show_event(event) for event in page], "has_more": len(found) > limit,
                "next_cursor": f"evt_{page[-1]['id']}" if page else None}


def period_of(granularity, day):
    """The first day of the calendar period that contains `day`."""
    if granularity == "week":
        return day - (day + 3) % 7          # day 0 was a Thursday
    return parse_date(date_text(day)[:8] + "01") if granularity == "month" else day


def default_start(granularity, end):
    """Returns the first date of a range of 7 days, 8 weeks or 12 months, the last of which contains `end`."""
    if granularity == "month":
        year, month = (int(part) for part in date_text(end).split("-")[:2])
        return parse_date(f"{year - 1 + month // 12:04}-{month % 12 + 1:02}-01")
    return end - 6 if granularity == "day" else period_of("week", end) - 49


def periods(days, start, granularity):
    """Merges consecutive days of the same period. Views add up, totals and viral state are those of the last day."""
    merged = {}
    for day in days:
        first = max(start, period_of(granularity, parse_date(day["date"])))
        period = merged.setdefault(first, {**day, "date": date_text(first), "views": 0})
        period["views"] += day["views"]
        for name in ("views_total", "is_viral"):
            if name in day:
                period[name] = day[name]
        if "went_viral" in day:
            period["went_viral"] = period["went_viral"] or day["went_viral"]
    return list(merged.values())


def cell(value):
    """Returns the text of a CSV cell, in a form that a spreadsheet does not run as a formula."""
    return "'" + value if value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
