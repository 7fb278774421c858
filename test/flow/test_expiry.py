"""Expiry with wrong clocks: setting the clock back revives nothing, and a clock that is ahead for a while expires nothing permanently."""
import base64
import hashlib

import pytest

from lib import oauth, wait
from lib.clock import FakeClock, to_ms
from lib.metrics import scrape
from lib.oauth import Grant, error_of, rows
from lib.pages import Browser, invite, session_cookie, sign_up

NOON = to_ms("2026-07-10T12:00:00Z")
MINUTE_MS, HOUR_MS, DAY_MS = 60_000, 3600_000, 24 * 3600_000
TEN_YEARS_MS = 3650 * DAY_MS


@pytest.fixture
def clock(tmp_path):
    return FakeClock(tmp_path / "clock", NOON, 1_000_000)


@pytest.fixture
def world(viewtally):
    viewtally.author = viewtally.add_author("Ann Author")
    viewtally.app = oauth.add_app(viewtally)
    viewtally.start()
    wait.until(lambda: floor(viewtally) == NOON, "the first observation")
    wait_for_adoption(viewtally, 0)
    return viewtally


def floor(viewtally):
    found = rows(viewtally, "SELECT value FROM meta WHERE key = 'expiry_floor'")
    return found and found[0][0]


def observe(viewtally, wall_ms, after_ms=MINUTE_MS):
    """Sets the wall clock and waits for the observation that is due after a minute of monotonic time."""
    clock = viewtally.clock
    before = rows(viewtally, "SELECT key, value FROM meta")
    jobs = completed_writes(viewtally)
    clock.set_wall(wall_ms)
    clock.set_monotonic(clock.monotonic_ms + after_ms)
    wait.until(lambda: rows(viewtally, "SELECT key, value FROM meta") != before, "an observation of the clock")
    wait_for_adoption(viewtally, jobs)


def completed_writes(viewtally):
    return scrape(viewtally).get("viewtally_store_write_duration_seconds_count")


def wait_for_adoption(viewtally, jobs):
    """Waits until the server uses the observation, which is already in the database. `jobs` is the number of jobs of
    the writer queue that were completed before the observation.

    On PostgreSQL, each scrape adds a job. If two more jobs have completed, the job of the observation, which is before
    them in the queue, has also completed.
    """
    if viewtally.is_on_server:
        jobs = completed_writes(viewtally) + 1
    wait.until(lambda: completed_writes(viewtally) > jobs, "the server to use the observed time")


def advance_59_minutes(viewtally):
    """Advances both clocks, so that the expiry floor follows."""
    observe(viewtally, viewtally.clock.wall_ms + 59 * MINUTE_MS, 59 * MINUTE_MS)


def short_invitation(viewtally):
    """Creates an invitation that expires after 30 minutes, and returns its path."""
    path = invite(viewtally, viewtally.author)
    rows(viewtally, "UPDATE invitations SET expires_at = expires_at - ?", DAY_MS - 30 * MINUTE_MS)
    assert Browser(viewtally.client()).get(path).status == 200
    return path


def exchange(viewtally, grant):
    with viewtally.client() as client:
        return grant.exchange(client)


def is_signed_in(viewtally, session):
    browser = Browser(viewtally.client())
    browser.cookies["viewtally-session"] = session
    return browser.get("/account", follow=False).status == 200


def test_setting_the_clock_back_revives_nothing(world):
    path = short_invitation(world)
    grant = Grant(world, world.app, world.author, at_ms=NOON)
    session = session_cookie(world, world.author)
    rows(world, "UPDATE sessions SET expires_at = ?", NOON + 30 * MINUTE_MS)
    assert is_signed_in(world, session)
    advance_59_minutes(world)
    assert rows(world, "SELECT count(*) FROM sessions") == [(1,)]
    assert not is_signed_in(world, session)
    wait.until(lambda: rows(world, "SELECT * FROM sessions") == [], "the expired session to be deleted")
    rows(world, "INSERT INTO sessions (hash, author_id, created_at, seen_at, expires_at) SELECT ?, id, ?, ?, ? FROM authors",
         hashlib.sha256(base64.urlsafe_b64decode(session + "=")).digest(), NOON, NOON, NOON + 30 * MINUTE_MS)
    world.clock.set_wall(NOON + 1000)
    assert Browser(world.client()).get(path).status == 410
    assert error_of(exchange(world, grant)) == "invalid_grant"
    assert not is_signed_in(world, session)


def test_expiry_floor_survives_a_restart(world):
    path = short_invitation(world)
    advance_59_minutes(world)
    world.stop()
    world.clock.set_wall(NOON + 1000)
    world.start()
    assert Browser(world.client()).get(path).status == 410


def test_link_issued_by_a_slow_clock_expires_on_time(world):
    advance_59_minutes(world)
    world.clock.set_wall(NOON)
    path = invite(world, world.author)
    assert Browser(world.client()).get(path).status == 200
    grant = Grant(world, world.app, world.author, at_ms=NOON + 59 * MINUTE_MS)
    assert exchange(world, grant).status == 200
    world.clock.set_monotonic(world.clock.monotonic_ms + DAY_MS - 1)
    assert Browser(world.client()).get(path).status == 200
    world.clock.set_monotonic(world.clock.monotonic_ms + 1)
    assert Browser(world.client()).get(path).status == 410


def test_clock_ten_years_ahead_for_an_hour_has_no_lasting_effect(world):
    path = invite(world, world.author)
    session = session_cookie(world, world.author)
    other = world.add_author("Bea Author")
    observe(world, NOON + TEN_YEARS_MS)
    assert floor(world) == NOON + MINUTE_MS
    assert Browser(world.client()).get(path).status == 410                      # expired by the wall clock
    assert not is_signed_in(world, session)
    late = invite(world, other, "--login", "bea")                               # a sign-in purges sessions
    browser = Browser(world.client())
    page = browser.send(browser.get(late), late, {"password": "correct horse battery", "again": "correct horse battery"}, follow=False)
    assert page.status == 303
    observe(world, NOON + TEN_YEARS_MS + HOUR_MS, HOUR_MS)
    observe(world, NOON + HOUR_MS + 2 * MINUTE_MS)
    assert Browser(world.client()).get(path).status == 200
    assert is_signed_in(world, session)


def test_clock_ten_years_ahead_deletes_no_audit_entry(world):
    world.create_key(world.author, "Key")
    before = rows(world, "SELECT action, at FROM audit ORDER BY id")
    assert len(before) == 1
    observe(world, NOON + TEN_YEARS_MS)
    sign_up(world, world.author, "ann", "correct horse battery")
    now = world.clock.wall_ms
    assert rows(world, "SELECT action, at FROM audit ORDER BY id") == [*before, ("author.password_set", now), ("author.signed_in", now)]


def test_session_and_invitation_from_a_clock_ten_years_ahead_end_when_it_is_corrected(world):
    observe(world, NOON + TEN_YEARS_MS)
    session, path = session_cookie(world, world.author), invite(world, world.author)
    assert is_signed_in(world, session) and Browser(world.client()).get(path).status == 200
    observe(world, NOON + 2 * MINUTE_MS)
    assert not is_signed_in(world, session)
    assert Browser(world.client()).get(path).status == 410
    world.clock.set_wall(NOON + TEN_YEARS_MS)                                       # the clock was right after all
    assert is_signed_in(world, session)


def test_invitation_from_a_clock_ten_years_ahead_is_not_pending(world):
    """`author import` creates links for the authors who have no pending invitation."""
    world.clock.set_wall(NOON + TEN_YEARS_MS)
    assert "/invite/" in world.run("author", "import", "-", stdin="name\nAnn Author\n").out
    assert "/invite/" not in world.run("author", "import", "-", stdin="name\nAnn Author\n").out
    world.clock.set_wall(NOON)
    assert "/invite/" in world.run("author", "import", "-", stdin="name\nAnn Author\n").out


def test_processes_share_the_expiry_floor(world, make_viewtally):
    path = short_invitation(world)
    second = make_viewtally({"store": world.settings["store"]}, world.clock)
    world.stop()
    with second:
        advance_59_minutes(second)
    world.clock.set_wall(NOON)
    world.start()
    assert Browser(world.client()).get(path).status == 410
