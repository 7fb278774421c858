"""Fixtures for every Python test. Run with: /usr/bin/python3 -m pytest test/…"""
import contextlib
import itertools
import signal
import tempfile
import urllib.parse

import pytest

from lib import postgres
from lib.clock import DEFAULT_NOW, FakeClock
from lib.disk import Disk
from lib.services import Nginx, Redis
from lib.viewtally import Viewtally, runs_on_postgresql


def pytest_configure():
    """Programs inherit ignored signals, for example from nohup or from a shell script that runs the tests in the background. A signal
    with a handler has its default effect again in each program that a test starts."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)


def pytest_collection_modifyitems(items):
    if runs_on_postgresql():
        for item in items:
            for mark in item.iter_markers("sqlite_only"):
                item.add_marker(pytest.mark.skip(reason=f"SQLite only: {mark.args[0]}"))


@pytest.fixture(scope="session", autouse=True)
def store_server():
    """With VIEWTALLY_TEST_STORE=pg, starts the PostgreSQL server on which each installation gets a database of its
    own."""
    if not runs_on_postgresql():
        yield None
        return
    with postgres.Postgres(schema="") as server, tempfile.TemporaryDirectory() as directory:
        migrated = server.database("template0")
        Viewtally(directory, {"store": {"url": server.url(migrated)}}).run("migrate")
        # The settings of a role in a database are not copied with the database.
        server.sql(f"DO $$ DECLARE setting text; BEGIN FOREACH setting IN ARRAY (SELECT setconfig FROM pg_db_role_setting) LOOP "
                   f"EXECUTE format('ALTER ROLE {postgres.SUPERUSER} SET %s = %L', split_part(setting, '=', 1), split_part(setting, '=', 2)); "
                   "END LOOP; END $$", migrated)

        def create(copied=None):
            name = server.database(urllib.parse.urlsplit(copied).path.strip("/") if copied else migrated)
            server.sql("UPDATE store SET id = uuid_send(gen_random_uuid())", name)
            return server.url(name)

        Viewtally.create_database = create
        yield server
        Viewtally.create_database = None


@pytest.fixture
def clock(tmp_path):
    """A fake wall clock that stays at DEFAULT_NOW until the test moves it. The monotonic clock is real."""
    return FakeClock(tmp_path / "clock", DEFAULT_NOW)


@pytest.fixture
def make_viewtally(tmp_path):
    """make_viewtally(config={…}, clock=…) returns an installation in a new directory. Its server is stopped after the test."""
    made = []
    numbers = itertools.count(1)

    def make(config=None, clock=None, seams=None):
        made.append(Viewtally(tmp_path / f"viewtally-{next(numbers)}", config, clock, seams))
        return made[-1]

    yield make
    with contextlib.ExitStack() as stack:       # stop all servers even if one fails to stop
        for instance in reversed(made):
            stack.callback(instance.stop)


@pytest.fixture
def viewtally(make_viewtally, clock):
    """An installation with the fake clock and no rate limit, not started."""
    return make_viewtally(clock=clock)


@pytest.fixture
def make_disk(tmp_path):
    """make_disk("1m") returns an empty file system of that size."""
    made = []

    def make(size):
        try:
            made.append(Disk(tmp_path / f"disk-{len(made)}", size))
        except OSError as reason:
            pytest.skip(str(reason))
        return made[-1]

    yield make
    for disk in made:
        disk.unmount()


@pytest.fixture
def redis(tmp_path):
    if not Redis.available():
        pytest.skip("redis-server is not installed")
    with Redis(tmp_path / "redis") as service:
        yield service


@pytest.fixture
def make_nginx(tmp_path):
    """make_nginx(configuration) starts a real nginx with it."""
    if not Nginx.available():
        pytest.skip("nginx is not installed")
    made = []

    def make(configuration):
        made.append(Nginx(tmp_path / f"nginx-{len(made) + 1}", configuration))
        return made[-1].start()

    yield make
    for service in made:
        service.stop()


@pytest.fixture
def short_path():
    """A directory whose path is short enough for a socket path (107 bytes)."""
    with tempfile.TemporaryDirectory(prefix="vt-") as directory:
        yield directory
