"""The data of the contract tests: an author with all kinds of data, one without data, and one with an inactive plan."""
import uuid

NOW = "2026-07-10T12:00:00Z"
COUNTS = ("views", "likes", "comments", "shares", "saves")


def name_uuid(name):
    return str(uuid.uuid5(uuid.NAMESPACE_URL, "https://viewtally.example/" + name))


FULL, EMPTY, UNPAID = (name_uuid(name) for name in ("full", "empty", "unpaid"))
BOOK, BARE_BOOK = name_uuid("book"), name_uuid("bare book")
VIRAL, EARLY_VIRAL, UNREAD = (name_uuid(name) for name in ("viral", "early viral", "unread"))


def post(video, platform, posted_at, url=True):
    return {"platform": platform, "post_id": f"{video}/{platform}", "posted_at": posted_at,
            "url": f"https://{platform}.example/{video}" if url else None}


def video(video_id, posts, **fields):
    return {"type": "video", "id": video_id, "author_id": FULL, "posts": posts, **fields}


def reading(video_id, platform, observed_at, *counts, **fields):
    return {"type": "reading", "platform": platform, "post_id": f"{video_id}/{platform}", "observed_at": observed_at,
            **dict(zip(COUNTS, counts)), **fields}


def authors():
    return [{"type": "author", "id": FULL, "name": "Zoë \"Full\" 🐈"}, {"type": "author", "id": EMPTY, "name": "Empty"},
            {"type": "author", "id": UNPAID, "name": "Unpaid", "plan_active": False}]


def books():
    return [{"type": "book", "id": BOOK, "author_id": FULL, "title": "=A1, the \"book\"", "subtitle": "Part one",
             "created_at": "2026-05-02T08:20:00.000Z"},
            {"type": "book", "id": BARE_BOOK, "author_id": FULL, "title": "Bare", "created_at": "2026-05-01T00:00:00Z"}]


def videos():
    """Older videos for the median, some of them final; two viral videos, one of them without a
    median; one video without a reading."""
    lines = []
    for number in range(8):
        video_id = name_uuid(f"ordinary {number}")
        posted_at = f"2026-06-{5 + number:02d}T10:00:00Z"
        lines.append(video(video_id, [post(video_id, "youtube", posted_at, url=number % 2 == 0)],
                           book_id=[BOOK, None][number % 2], title=f"Ordinary {number}" if number % 3 else None))
    everywhere = ("tiktok", "instagram", "youtube", "facebook", "pinterest")
    lines.append(video(VIRAL, [post(VIRAL, platform, "2026-07-02T10:00:00Z") for platform in everywhere], book_id=BOOK,
                       title="Viral", thumbnail_url="https://cdn.example/viral.jpg"))
    lines.append(video(EARLY_VIRAL, [post(EARLY_VIRAL, "tiktok", "2026-06-15T10:00:00Z")], book_id=BARE_BOOK))
    lines.append(video(UNREAD, [post(UNREAD, "pinterest", "2026-07-10T09:00:00Z", url=False)], title="Unread"))
    return lines


def readings():
    lines = [reading(EARLY_VIRAL, "tiktok", "2026-06-15T20:55:00Z", 500, 1, 2, 3, 4),
             reading(EARLY_VIRAL, "tiktok", "2026-06-16T20:55:00Z", 12000, 40, 5, 6, None)]
    for number in range(8):
        for day in (18, 19, 20):
            lines.append(reading(name_uuid(f"ordinary {number}"), "youtube", f"2026-06-{day}T20:55:00Z", 100 * (number + day)))
    for day, views in ((3, 900), (4, 30000), (9, 61000)):
        lines.append(reading(VIRAL, "tiktok", f"2026-07-{day:02d}T11:55:00Z", views, 10 * day, day, 1, 1))
        lines.append(reading(VIRAL, "instagram", f"2026-07-{day:02d}T11:55:00Z", day, 0, 0, 0, 0))
    return lines


def all_lines():
    return authors() + books() + videos() + readings()


def late_reading():
    """Returns a reading that creates an event, for a test that waits for an event."""
    return [reading(UNREAD, "pinterest", "2026-07-10T11:59:00Z", 1500)]
