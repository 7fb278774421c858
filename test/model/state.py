"""The state of the service, and how import lines change it."""
import json

from . import steps
from .values import COUNTS, FUTURE, LIFE, MAX_COUNT, PLATFORMS, UUID, ms

MAX_LINE = 1024 * 1024


class Rules:
    """The configured numbers; `viral` and `history_start` as in config.ini."""

    def __init__(self, multiplier="5.0", min_views=10000, compare_last=50, compare_min_age_hours=168,
                 history_start="2026-06-15"):
        whole, _, fraction = str(multiplier).partition(".")
        self.multiplier_thousandths = int(whole) * 1000 + int((fraction + "000")[:3])
        self.min_views = int(min_views)
        self.compare_last = int(compare_last)
        self.compare_min_age_hours = int(compare_min_age_hours)
        self.history_start = ms(history_start + "T00:00:00Z")


class Author:
    def __init__(self, author_id, created_at):
        self.id = author_id
        self.created_at = created_at
        self.name = None
        self.plan_active = True
        self.books = {}
        self.videos = {}
        self.events = []        # in order of their ids; "id" is set to the id from the service


class Book:
    def __init__(self, book_id, author):
        self.id = book_id
        self.author = author
        self.title = None
        self.subtitle = ""
        self.created_at = None


class Post:
    def __init__(self, video, platform):
        self.video = video
        self.platform = platform
        self.post_id = None
        self.url = None
        self.posted_at = None
        self.views = 0
        self.has_views = False      # False: no reading contained views, which are served as 0
        self.counts = dict.fromkeys(COUNTS[1:])       # None while unknown; served as 0
        self.last_reading = None


class Video:
    def __init__(self, video_id, author):
        self.id = video_id
        self.author = author
        self.book = None
        self.title = None
        self.thumbnail_url = None
        self.posts = {}             # by platform
        self.baseline = 0
        self.gains = {}             # days since 1970 -> views gained
        self.platform_gains = {}    # (day, platform) -> views gained
        self.platform_baselines = {}
        self.first_reading = None
        self.views_updated_at = None
        self.milestones = []        # (value, reached_at)
        self.viral = False
        self.comparison = None
        self.went_viral_at = None
        self.views_when_viral = None
        self.baseline_pending = False

    @property
    def posted_at(self):
        return min((post.posted_at for post in self.posts.values()), default=None)

    @property
    def views(self):
        return sum(post.views for post in self.posts.values())

    @property
    def shown_title(self):
        return self.title or (self.book.title if self.book else "Untitled")


class BadLine(Exception):
    pass


class Model:
    def __init__(self, rules=None):
        self.rules = rules or Rules()
        self.authors = {}
        self.books = {}
        self.videos = {}
        self.posts = {}             # by (platform, post_id)

    def import_lines(self, lines, now):
        """Imports lines (objects, or strings to parse). Returns the rejections as [(line number, reason)]."""
        parsed, refusals = parse_lines(lines)
        refusals += self.upsert(parsed, now)
        refusals += self.apply_readings(parsed, now)
        steps.finalize_import(self)
        return sorted(refusals)

    def upsert(self, parsed, now):
        """Applies authors, then books, then videos, in any order of lines."""
        refusals = []
        for kind, apply in (("author", self._author), ("book", self._book), ("video", self._video)):
            for number, fields in parsed:
                if fields["type"] == kind:
                    try:
                        apply(fields, now)
                    except BadLine as bad:
                        refusals.append((number, str(bad)))
        return refusals

    # -- authors, books, videos ------------------------------------------------------------------------------------

    def _author(self, fields, now):
        author = self.authors.get(fields["id"])
        if not author:
            require(fields, "name")
            author = self.authors[fields["id"]] = Author(fields["id"], now)
        author.name = fields.get("name", author.name)
        author.plan_active = fields.get("plan_active", author.plan_active)

    def _owned(self, known, fields):
        """Returns (author, the existing record or None) for a book or video line."""
        author = self.authors.get(fields["author_id"])
        if not author:
            raise BadLine("unknown author")
        record = known.get(fields["id"])
        if record and record.author is not author:
            raise BadLine("belongs to another author")
        return author, record

    def _book(self, fields, now):
        author, book = self._owned(self.books, fields)
        if not book:
            require(fields, "title")
            book = self.books[fields["id"]] = author.books[fields["id"]] = Book(fields["id"], author)
            book.created_at = now
        book.title = fields.get("title", book.title)
        if "subtitle" in fields:
            book.subtitle = fields["subtitle"] or ""
        book.created_at = fields.get("created_at", book.created_at)

    def _video(self, fields, now):
        author, video = self._owned(self.videos, fields)
        if fields.get("book_id") is not None and fields["book_id"] not in author.books:
            raise BadLine("unknown book")
        platforms = [post["platform"] for post in fields.get("posts", [])]
        if len(set(platforms)) < len(platforms):
            raise BadLine("a platform twice")
        for post in fields.get("posts", []):
            self._check_post(video, post)
        created = video is None
        if created:
            video = self.videos[fields["id"]] = author.videos[fields["id"]] = Video(fields["id"], author)
        if "book_id" in fields:
            video.book = author.books[fields["book_id"]] if fields["book_id"] else None
        video.title = fields.get("title", video.title)
        video.thumbnail_url = fields.get("thumbnail_url", video.thumbnail_url)
        for post in fields.get("posts", []):
            self._apply_post(video, post)
        if created:
            video.comparison = steps.viral_comparison(self.rules, author, video, now)

    def _check_post(self, video, fields):
        known = video.posts.get(fields["platform"]) if video else None
        if not known:
            require(fields, "post_id", "posted_at")
        if "post_id" in fields:
            holder = self.posts.get((fields["platform"], fields["post_id"]))
            if holder and holder.video is not video:
                raise BadLine("post belongs to another video")

    def _apply_post(self, video, fields):
        post = video.posts.get(fields["platform"])
        if not post:
            post = video.posts[fields["platform"]] = Post(video, fields["platform"])
        if "post_id" in fields:
            self.posts.pop((post.platform, post.post_id), None)
            post.post_id = fields["post_id"]
            self.posts[(post.platform, post.post_id)] = post
        post.url = fields.get("url", post.url)
        post.posted_at = fields.get("posted_at", post.posted_at)

    # -- readings --------------------------------------------------------------------------------------------------

    def apply_readings(self, parsed, now):
        """Applies the readings as steps in the order of observed_at."""
        refusals, grouped = [], {}
        for number, fields in parsed:
            if fields["type"] != "reading":
                continue
            post = self.posts.get((fields["platform"], fields["post_id"]))
            if not post:
                refusals.append((number, "unknown post"))
                continue
            step = grouped.setdefault((fields["observed_at"], post.video.author.id), [])
            step.append((number, post, fields))
        for observed_at, author_id in sorted(grouped):
            accepted = []
            for number, post, fields in grouped[observed_at, author_id]:
                reason = refusal(post, observed_at, now)
                if reason:
                    refusals.append((number, reason))
                else:
                    accepted.append((post, fields))
            if accepted:
                steps.apply_step(self, self.authors[author_id], observed_at, accepted)
        return refusals


def parse_lines(lines):
    """Returns ([(line number, fields)], [(line number, reason)]), ignoring blank lines."""
    parsed, refusals = [], []
    for number, line in enumerate(lines, 1):
        try:
            if not isinstance(line, str) or line.strip():
                parsed.append((number, read_line(line)))
        except BadLine as bad:
            refusals.append((number, str(bad)))
    return parsed, refusals


def refusal(post, observed_at, now):
    """The reason why a reading of a known post is rejected; None if it is accepted."""
    if observed_at > now + FUTURE:
        return "observed_at is more than 60 s in the future"
    if observed_at < post.posted_at:
        return "observed_at is before the post's posted_at"
    if observed_at > post.video.posted_at + LIFE:
        return "observed_at is after the video's posted_at + 30 days"
    if post.last_reading is not None and observed_at < post.last_reading:
        return "observed_at is older than the post's last reading"
    return None


# -- parsing one line: types and limits ----------------------------------------------------------------------------

def require(fields, *names):
    for name in names:
        if name not in fields:
            raise BadLine(f"{name} is missing")


def unique_fields(pairs):
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise BadLine("a field is given twice")
    return fields


def read_line(line):
    """The validated known fields of the line; times as ms, ids in lower case."""
    if isinstance(line, str):
        if len(line.encode("utf-8", "surrogatepass")) > MAX_LINE:
            raise BadLine("line is too long")
        try:
            line = json.loads(line, object_pairs_hook=unique_fields)
        except ValueError:
            raise BadLine("not valid JSON") from None
    if not isinstance(line, dict) or line.get("type") not in SHAPES:
        raise BadLine("unknown type")
    fields = check_shape(line, SHAPES[line["type"]], REQUIRED[line["type"]])
    if line["type"] == "reading":
        for count in COUNTS:
            fields.setdefault(count, None)
        fields["baseline"] = fields.get("baseline", False)
    return {**fields, "type": line["type"]}


def check_shape(line, shape, required):
    fields = {name: shape[name](name, line[name]) for name in shape if name in line}
    require(fields, *required)
    return fields


def text(low, high):
    def check(name, value):
        if not isinstance(value, str) or not low <= len(value.encode("utf-8", "surrogatepass")) <= high or "\0" in value:
            raise BadLine(f"{name} is not a text of {low} to {high} bytes")
        return value
    return check


def nullable(check):
    return lambda name, value: None if value is None else check(name, value)


def identifier(name, value):
    if not isinstance(value, str) or not UUID.fullmatch(value):
        raise BadLine(f"{name} is not a UUID")
    return value.lower()


def moment(name, value):
    try:
        return ms(value)
    except (ValueError, TypeError):
        raise BadLine(f"{name} is not a time") from None


def boolean(name, value):
    if not isinstance(value, bool):
        raise BadLine(f"{name} is not true or false")
    return value


def url(name, value):
    text(1, 2048)(name, value)
    if not value.startswith(("http://", "https://")) or any(ch <= " " or ch == "\x7f" for ch in value):
        raise BadLine(f"{name} is not an http address")
    return value


def platform(name, value):
    if value not in PLATFORMS:
        raise BadLine(f"{name} is not a platform")
    return value


def count(name, value):
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadLine(f"{name} is not an integer")
    if value < 0:
        raise BadLine(f"{name} is negative")
    if value > MAX_COUNT:
        raise BadLine(f"{name} is too large")
    return value


def posts(name, value):
    if not isinstance(value, list) or not all(isinstance(post, dict) for post in value):
        raise BadLine(f"{name} is not a list of objects")
    return [check_shape(post, POST, ("platform",)) for post in value]


POST = {"platform": platform, "post_id": text(1, 255), "url": nullable(url), "posted_at": moment}
SHAPES = {
    "author": {"id": identifier, "name": text(1, 2000), "plan_active": boolean},
    "book": {"id": identifier, "author_id": identifier, "title": text(1, 2000), "subtitle": nullable(text(0, 2000)),
             "created_at": moment},
    "video": {"id": identifier, "author_id": identifier, "book_id": nullable(identifier), "title": nullable(text(1, 2000)),
              "thumbnail_url": nullable(url), "posts": posts},
    "reading": {"platform": platform, "post_id": text(1, 255), "observed_at": moment, "baseline": boolean,
                **{name: nullable(count) for name in COUNTS}},
}
REQUIRED = {"author": ("id",), "book": ("id", "author_id"), "video": ("id", "author_id"),
            "reading": ("platform", "post_id", "observed_at")}
