"""Test data: an author with an active month, one with hostile names, and one without videos."""
import datetime
import math

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


def install(instance):
    """Imports all authors and returns their ids by a short name."""
    now = datetime.datetime.fromisoformat(NOW.replace("Z", "+00:00")) - datetime.timedelta(minutes=5)
    instance.import_lines(lively(now) + hostile(now) + [author("Nobody Yet")])
    return {"lively": uid("Mara Lindqvist"), "hostile": uid(SCRIPT), "empty": uid("Nobody Yet")}

