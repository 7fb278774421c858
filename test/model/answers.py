"""The expected response of every endpoint to one author at one time, as Python objects.

A refused request raises Refused(code, parameter). Event ids are the service's own: a test binds them with bind_event_ids()
after it has seen them; without that an event's id is its position in the author's history.
"""
import re

from .values import COUNTS, LIFE, PLATFORMS, UUID, date_text, day_of, iso, ms, parse_date

MAX_DAYS = 90
EVENT_ID = re.compile(r"evt_(0|[1-9][0-9]{0,18})")
EVENT_TYPES = ("video.went_viral", "video.milestone_reached")
CSV_VIDEO = ("date", "video_id", "title", "book_id", "book_title", "views", "views_total", "is_viral", "went_viral")
CSV_BOOK = ("date", "book_id", "book_title", "views", "videos_went_viral")


class Refused(Exception):
    def __init__(self, code, parameter):
        super().__init__(f"{code}: {parameter}")
        self.code = code
        self.parameter = parameter


def refuse_unless(condition, parameter, code="invalid_parameter"):
    if not condition:
        raise Refused(code, parameter)


def parsed(parse, value, parameter):
    try:
        return parse(value)
    except ValueError:
        raise Refused("invalid_parameter", parameter) from None


def one_of(params, name, words, default=None):
    value = params.get(name, default)
    refuse_unless(value == default or value in words, name)
    return value


def number(params, name, low, high, default):
    value = params.get(name)
    if value is None:
        return default
    refuse_unless(re.fullmatch(r"[0-9]{1,4}", value) and low <= int(value) <= high, name)
    return int(value)


def date(params, name):
    return parsed(parse_date, params[name], name) if name in params else None


def book_ref(book):
    return {"id": book.id, "title": book.title} if book else None


class Answers:
    """In all methods, `params` is {name: text} as in the query string."""

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
        """All pages of /videos: (every matching video, videos per page)."""
        start, end = date(params, "start_date"), date(params, "end_date")
        book_id = params.get("book_id")
        refuse_unless(book_id is None or UUID.fullmatch(book_id), "book_id")
        viral = one_of(params, "viral", ("true", "false"))
        limit = number(params, "limit", 1, 100, 50)
        refuse_unless(start is None or end is None or start <= end, "end_date")
        found = [video for video in self.posted()
                 if (start is None or day_of(video.posted_at) >= start)
                 and (end is None or day_of(video.posted_at) <= end)
                 and (book_id is None or (video.book and video.book.id == book_id.lower()))
                 and (viral is None or video.viral == (viral == "true"))]
        return [self.show_video(video) for video in found], limit

    def video(self, video_id):
        video = self.author.videos.get(video_id.lower())
        refuse_unless(video and video.posts, "id", "not_found")
        return {"success": True, "data": self.show_video(video)}

    def show_video(self, video):
        posts = [video.posts[platform] for platform in PLATFORMS if platform in video.posts]
        return {
            "id": video.id, "title": video.shown_title, "thumbnail_url": video.thumbnail_url, "book": book_ref(video.book),
            "posted_at": iso(video.posted_at), "views": video.views,
            **{count: sum(post.counts[count] for post in posts) for count in COUNTS[1:]},
            "views_updated_at": iso(video.views_updated_at), "views_final": self.now > video.posted_at + LIFE,
            "platforms": [{"platform": post.platform, "url": post.url, "views": post.views, **post.counts,
                           "posted_at": iso(post.posted_at), "views_updated_at": iso(post.last_reading)} for post in posts],
            "viral": {"is_viral": video.viral, "went_viral_at": iso(video.went_viral_at),
                      "views_when_viral": video.views_when_viral, "threshold": video.line.threshold,
                      "author_median_views": video.line.median, "compared_videos": video.line.compared},
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
        group_by = one_of(params, "group_by", ("video", "book"), "video")
        if start is None:
            end = self.today if end is None else end
            start = end - 6
        elif end is None:
            end = max(start, self.today)
        refuse_unless(start <= end, "end_date")
        refuse_unless(end - start + 1 <= MAX_DAYS, "end_date", "range_too_long")
        return start, end, group_by

    def stats(self, params):
        start, end, group_by = self.stats_range(params)
        rows = self.video_rows(start, end)
        shown = ([{"video": {"id": video.id, "title": video.shown_title, "book": book_ref(video.book),
                             "posted_at": iso(video.posted_at)}, "days": days} for video, days in rows]
                 if group_by == "video" else
                 [{"book": book_ref(book), "days": days} for book, days in self.book_rows(rows)])
        return {"success": True, "start_date": date_text(start), "end_date": date_text(end), "breakdown": "daily",
                "timezone": "UTC", "group_by": group_by, "data": shown}

    def stats_csv(self, params):
        """The header and rows of the CSV, as lists of cells."""
        start, end, group_by = self.stats_range(params)
        rows = self.video_rows(start, end)
        if group_by == "book":
            return [list(CSV_BOOK)] + [
                [day["date"], book.id, cell(book.title), str(day["views"]), " ".join(day["videos_went_viral"])]
                for book, days in self.book_rows(rows) for day in days]
        return [list(CSV_VIDEO)] + [
            [day["date"], video.id, cell(video.shown_title), video.book.id if video.book else "",
             cell(video.book.title) if video.book else "", str(day["views"]), str(day["views_total"]),
             "true" if day["is_viral"] else "false", "true" if day["went_viral"] else "false"]
            for video, days in rows for day in days]

    def video_rows(self, start, end):
        rows = [(video, self.days(video, start, end)) for video in self.posted()]
        return [(video, days) for video, days in rows if any(day["views"] for day in days)]

    def days(self, video, start, end):
        if video.first_reading is None:
            return []
        first = max(start, day_of(video.first_reading))
        last = min(end, self.today, day_of(video.posted_at + LIFE))
        viral_day = day_of(video.went_viral_at) if video.viral else None
        return [{"date": date_text(day), "views": video.gains.get(day, 0),
                 "views_total": video.baseline + sum(gain for gained, gain in video.gains.items() if gained <= day),
                 "is_viral": video.viral and day >= viral_day, "went_viral": video.viral and day == viral_day}
                for day in range(first, last + 1)]

    def book_rows(self, rows):
        """Sums of the video rows; a book lists the dates that at least one of its videos lists."""
        by_book = {}
        for video, days in rows:
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
                           "book": book_ref(video.book), "posted_at": iso(video.posted_at)}}
        return {**shown, **{name: event[name] for name in ("views", "milestone", "threshold", "author_median_views")
                            if name in event}}

    def event_position(self, params, name):
        value = params.get(name)
        if value is None:
            return None
        refuse_unless(EVENT_ID.fullmatch(value), name)
        return int(value[4:])

    def events(self, params):
        for position, event in enumerate(self.author.events, 1):
            event.setdefault("id", position)
        latest = params.get("after") == "latest"
        after = None if latest else self.event_position(params, "after")
        limit = number(params, "limit", 1, 100, 50)
        kind = one_of(params, "type", EVENT_TYPES)
        since = parsed(ms, params["occurred_after"], "occurred_after") if "occurred_after" in params else None
        order = one_of(params, "order", ("asc", "desc"), "asc")
        before = self.event_position(params, "before")
        refuse_unless(not ("after" in params and order == "desc"), "after")
        refuse_unless(before is None or order == "desc", "before")
        if latest:
            newest = self.author.events[-1]["id"] if self.author.events else 0
            return {"success": True, "data": [], "has_more": False, "next_cursor": f"evt_{newest}"}
        found = [event for event in self.author.events
                 if (after is None or event["id"] > after) and (before is None or event["id"] < before)
                 and (kind is None or event["type"] == kind) and (since is None or event["occurred_at"] > since)]
        if order == "desc":
            found.reverse()
        page = found[:limit]
        return {"success": True, "data": [self.show_event(event) for event in page], "has_more": len(found) > limit,
                "next_cursor": f"evt_{page[-1]['id']}" if page else None}


def cell(value):
    """Text that a spreadsheet must not run as a formula."""
    return "'" + value if value[:1] in ("=", "+", "-", "@", "\t", "\r") else value
