"""Test data: an author with an active month, one with hostile names, and one without videos."""
import contextlib
import datetime
import math
import sqlite3

from lib.clock import to_ms
from lib.lines import author, book, reading, uid, video

NOW = "2026-07-10T12:00:00Z"
START = datetime.datetime(2026, 4, 20, 9, tzinfo=datetime.timezone.utc)

SCRIPT = "<script>alert(1)</script>"
HOSTILE = [
    SCRIPT,
    "\"><img src=x onerror=alert(1)>",
    "' onmouseover='alert(1)",
    "\u202eevil \u05e9\u05dc\u05d5\u05dd \u0627\u0644\u0639\u0631\u0628\u064a\u0629",
    "\U0001f4da\U0001f469\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466 Zal\u0336\u0301\u0334go",
    "Verylongwordwithoutanyspace" * 40,
    "word " * 300,
    "</title></main><h1>x",
    "javascript:alert(1)",
]
BOOKS = ["The Lighthouse Keeper's Daughter", "A Field Guide to Quiet Rivers", "Winter Bread"]
TITLES = ["The letter in chapter nine", "Why I rewrote the ending", "Reading the first page aloud", "Three questions readers ask",
          "A walk through the real lighthouse", "What the cover almost was", "My desk at five in the morning",
          "The bread recipe from page 112", "Unboxing the proof copies", "The map I drew before writing a word",
          "Answering your letters", "The line that made my editor cry"]
PLATFORMS = ["tiktok", "instagram", "youtube", "facebook", "pinterest"]


def text(when):
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


def grow(name, posted, size, platforms, until, step_hours=24):
    """Returns the readings of a video: views grow fast at first, then slower, on every platform."""
    at = posted + datetime.timedelta(hours=2)
    end = min(posted + datetime.timedelta(days=30), until)
    lines, times = [], []
    while at < end:
        times.append(at)
        at += datetime.timedelta(hours=step_hours)
    for at in times + [end]:
        part = 1 - math.exp(-(at - posted).total_seconds() / 86400 / 5)
        for number, platform in enumerate(platforms):
            views = int(size * part / (number + 1.5))
            lines.append(reading(name, text(at), views, platform=platform, likes=views // 19, comments=views // 310,
                                 shares=None if platform == "youtube" else views // 240, saves=views // 400))
    return lines


def lively(now):
    """Returns an author with 26 videos since April, some of them viral."""
    lines = [author("Mara Lindqvist")] + [book(title, "Mara Lindqvist", created_at="2026-01-01T00:00:00Z") for title in BOOKS]
    readings = []
    for number in range(26):
        name = f"{TITLES[number % len(TITLES)]}{'' if number < len(TITLES) else ' (again)' if number < 24 else ' (once more)'}"
        posted = START + datetime.timedelta(days=3.1 * number)
        size = 2600 + 900 * (number * 7 % 5) + (61000 if number in (12, 23) else 0)
        platforms = [PLATFORMS[(number + k) % 5] for k in range(1 + number % 3)]
        lines.append(video(name, "Mara Lindqvist", text(posted), platforms, book_id=uid(BOOKS[number % 3])))
        readings += grow(name, posted, size, platforms, now)
    return lines + readings


def hostile(now):
    """Returns an author whose name, books and videos have hostile names."""
    lines = [author(SCRIPT)]
    for number, title in enumerate(HOSTILE):
        name, posted, platforms = f"hostile-{number}", START + datetime.timedelta(days=60 + number), PLATFORMS[:1 + number % 5]
        lines += [book(name, SCRIPT, title=f"{title} book"[:2000]),
                  video(name, SCRIPT, text(posted), platforms, book_id=uid(name), title=title,
                        thumbnail_url="https://example.org/\"><script>alert(1)</script>")]
        lines += grow(name, posted, 40000, platforms, now, 48)
    return lines


MINUTE = 60_000
ACTIVE, PAUSED, FAILED, GONE = range(4)
LONG_URL = "https://example.org/" + "verylongpathwithoutanybreak" * 36


def insert_webhooks(instance, authors):
    """Inserts webhooks in every state, with their attempts. None of them is due, so that the server sends nothing."""
    now = to_ms(NOW)
    states = [("active", "lively", "https://planner.example/hooks/viewtally", 0, ACTIVE, 0, None),
              ("retrying", "lively", "https://mail.example/in?list=7", 0, ACTIVE, 3, now + 30 * MINUTE),
              ("failed", "lively", "https://old.example/hook", 2, FAILED, 0, None), ("gone", "lively", "https://closed.example/", 0, GONE, 0, None),
              ("paused", "lively", "https://test.example/hook", 1, PAUSED, 0, None), ("hostile", "hostile", LONG_URL, 0, ACTIVE, 1, now + MINUTE)]
    results = {"active": [(204, None)] * 9 + [(503, "status 503"), (204, None)], "retrying": [(0, "dns: Could not resolve host: mail.example")] * 3,
               "failed": [(500, "status 500")] * 10, "gone": [(410, "status 410")], "paused": [], "hostile": [(0, f"connect: {SCRIPT} {HOSTILE[5][:150]}")]}
    with contextlib.closing(sqlite3.connect(instance.database)) as database:
        for name, who, url, types, state, failures, next_at in states:
            author_row, last = database.execute("SELECT id, last_event_id FROM authors WHERE uuid = ?",
                                                (bytes.fromhex(authors[who].replace("-", "")),)).fetchone()
            row = database.execute("INSERT INTO webhook_endpoints (uuid, author_id, url, types, secret, created_at, state, state_at, position, failures, "
                                   "next_attempt_at, attempts) VALUES (?, ?, ?, ?, x'00', ?, ?, ?, ?, ?, ?, ?)",
                                   (bytes.fromhex(uid(f"webhook {name}").replace("-", "")), author_row, url, types, now - 9000 * MINUTE, state,
                                    now - 70 * MINUTE, last - (next_at is not None), failures, next_at, len(results[name]))).lastrowid
            for number, (status, error) in enumerate(results[name], 1):
                database.execute("INSERT INTO webhook_attempts VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                                 (row, number, 0 if number == 1 and len(results[name]) > 1 else last + number, now - (len(results[name]) - number) * 47 * MINUTE - 5000,
                                  15_002 if status == 0 else 84, status, error, number == 8))
        database.commit()


def insert_audit(instance, authors):
    """Adds audit entries: one of each kind for one author, and entries with hostile texts for another."""
    now = to_ms(NOW)
    entries = [("author.signed_in", "author", "192.0.2.17", None), ("key.created", "author", "192.0.2.17", "Spreadsheet"),
               ("key.first_used", "key", "2001:db8:85a3:8d3:1319:8a2e:370:7348", "Spreadsheet"), ("key.revoked", "operator", None, "Old key"),
               ("app.connected", "app", "198.51.100.20", "Planner"), ("app.disconnected", "author", "192.0.2.17", "Planner"),
               ("plan.changed", "refresh", None, "inactive to active"), ("video.removed", "operator", None, TITLES[0]),
               ("reading.corrected", "operator", None, "tiktok 7340000000000000000: 90000 to 9000"),
               *((f"webhook.{action}", "author", "192.0.2.17", "https://planner.example") for action in
                 ("created", "paused", "resumed", "secret_rotated", "url_changed", "deleted")), ("new.action", "author", None, None)]
    hostile = [("key.created", "author", "192.0.2.1", title[:2000]) for title in HOSTILE]
    with contextlib.closing(sqlite3.connect(instance.database)) as database:
        for who, listed in (("lively", entries), ("hostile", hostile)):
            author_row, = database.execute("SELECT id FROM authors WHERE uuid = ?", (bytes.fromhex(authors[who].replace("-", "")),)).fetchone()
            for number, (action, actor, address, details) in enumerate(listed, 1):
                database.execute("INSERT INTO audit (author_id, id, at, action, actor, address, details) VALUES (?, ?, ?, ?, ?, ?, ?)",
                                 (author_row, number, now - (40 - number) * 353 * MINUTE, action, actor, address, details))
        database.commit()


def install(instance):
    """Imports all authors and returns their ids by a short name."""
    now = datetime.datetime.fromisoformat(NOW.replace("Z", "+00:00")) - datetime.timedelta(minutes=5)
    instance.import_lines(lively(now) + hostile(now) + [author("Nobody Yet")])
    return {"lively": uid("Mara Lindqvist"), "hostile": uid(SCRIPT), "empty": uid("Nobody Yet")}

