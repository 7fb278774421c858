"""Constants of the rules: platforms, milestone values, limits, time."""
import datetime
import re

PLATFORMS = ("tiktok", "instagram", "youtube", "facebook", "pinterest")
COUNTS = ("views", "likes", "comments", "shares", "saves")
MAX_COUNT = 2 ** 53 - 1
MILESTONES = ([1_000, 10_000, 50_000, 100_000, 250_000, 500_000] +
              [digit * 10 ** power for power in range(6, 16) for digit in (1, 2, 5)])
SECOND = 1000
HOUR = 3600 * SECOND
DAY = 24 * HOUR
LIFE = 30 * DAY             # views are refreshed for this long after posted_at
FUTURE = 60 * SECOND        # a reading may be this far ahead of the clock
MIN_COMPARED = 5            # with fewer videos to compare there is no median

TIMESTAMP = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(\.\d+)?Z")
UUID = re.compile(r"[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}")
DATE = re.compile(r"\d{4}-\d\d-\d\d")
EPOCH = datetime.datetime(1970, 1, 1)
EPOCH_DATE = datetime.date(1970, 1, 1)


def ms(text):
    """Converts `2026-07-10T12:00:00.123Z` to ms since 1970, truncated; ValueError if it is not a valid time."""
    match = TIMESTAMP.fullmatch(text)
    if not match or int(match[1]) < 1970:
        raise ValueError(text)
    moment = datetime.datetime(*(int(part) for part in match.groups()[:6]))
    fraction = int(((match[7] or ".")[1:] + "000")[:3])
    return (moment - EPOCH) // datetime.timedelta(milliseconds=1) + fraction


def iso(moment):
    """Formats ms since 1970 as in the API; None stays None."""
    if moment is None:
        return None
    return (EPOCH + datetime.timedelta(milliseconds=moment)).isoformat(timespec="milliseconds") + "Z"


def day_of(moment):
    """The UTC date of a time, as days since 1970."""
    return moment // DAY


def date_text(day):
    return (EPOCH_DATE + datetime.timedelta(days=day)).isoformat()


def parse_date(text):
    """Converts `2026-02-28` to days since 1970; ValueError if the date does not exist."""
    if not DATE.fullmatch(text):
        raise ValueError(text)
    return (datetime.date.fromisoformat(text) - EPOCH_DATE).days
