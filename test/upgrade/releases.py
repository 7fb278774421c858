"""Upgrades with real programs of several releases on one database. `make test-upgrade` runs this.

A build with one more migration plays the new release of an upgrade; the current program plays the old one.
"""
import concurrent.futures
import pathlib
import sys
import threading

import pytest

from lib import old_schema
from lib.lines import author, book, reading, uid, video

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import builds  # noqa: E402

ADDITIVE = """CREATE TABLE next_things (id INTEGER PRIMARY KEY, author_id INTEGER NOT NULL REFERENCES authors (id)) STRICT;
ALTER TABLE authors ADD COLUMN next_name TEXT;
ALTER TABLE videos ADD COLUMN next_count INTEGER NOT NULL DEFAULT 0;
CREATE INDEX videos_next ON videos (next_count, id);"""
NOT_ADDITIVE = "ALTER TABLE books RENAME COLUMN subtitle TO second_title;\nALTER TABLE books ADD COLUMN subtitle TEXT NOT NULL DEFAULT '';"


@pytest.fixture(scope="session")
def next_release():
    return builds.with_migration("next", ADDITIVE, additive=True)


@pytest.fixture(scope="session")
def next_minor():
    return builds.with_migration("minor", NOT_ADDITIVE, additive=False)


@pytest.fixture(scope="session")
def release_0_1_0():
    return builds.from_history(builds.RELEASE_0_1_0)


def use(instance, program):
    instance.binary = str(program)


class Traffic:
    """Requests to a server, one after the other, until stop(). Every response must be 200."""

    def __init__(self, instance, key):
        self.client = instance.client(key)
        self.done = threading.Event()
        self.pool = concurrent.futures.ThreadPoolExecutor(1)
        self.result = self.pool.submit(self.run)

    def run(self):
        count = 0
        while not self.done.is_set():
            assert self.client.get("/videos").status == 200
            assert self.client.get("/events").status == 200
            count += 2
        return count

    def stop(self):
        self.done.set()
        return self.result.result(60)


@pytest.fixture
def pair(make_viewtally):
    """Two installations with one database, in which Ann has a video."""
    first = make_viewtally()
    second = make_viewtally({"store": {"path": first.database}})
    first.import_lines([author("Ann"), book("Novel", "Ann"), video("one", "Ann", "2026-11-01T00:00:00Z")])
    return first, second


def import_reading(instance, views):
    instance.import_lines([reading("one", f"2026-11-02T00:00:{views % 60:02}Z", views)])


def views_of(instance, key):
    return instance.client(key).get("/videos").json()["data"][0]["views"]


def test_rolling_upgrade_fails_no_request_and_can_be_undone(pair, next_release):
    """While one process is replaced, the other one serves every request. Both releases write to the new schema."""
    first, second = pair
    current = first.binary
    key = first.create_key(uid("Ann"))
    first.start()
    second.start()

    traffic = Traffic(second, key)
    first.stop()
    use(first, next_release)
    first.start()
    assert "migration" in first.log and old_schema.version_of(first.database) == old_schema.NEWEST + 1
    import_reading(second, 10)                                      # the previous release writes to the new schema
    assert traffic.stop() > 0

    traffic = Traffic(first, key)
    second.stop()
    use(second, next_release)
    second.start()
    import_reading(second, 20)
    assert traffic.stop() > 0

    for instance in (first, second):                                # back to the previous release
        instance.stop()
        use(instance, current)
        instance.start()
    import_reading(first, 30)
    assert views_of(first, key) == views_of(second, key) == 30
    assert old_schema.version_of(first.database) == old_schema.NEWEST + 1
    assert old_schema.value(first.database, "PRAGMA integrity_check") == "ok"


def test_migration_is_applied_once_if_two_processes_start_at_the_same_time(pair, next_release):
    key = pair[0].create_key(uid("Ann"))
    for instance in pair:
        use(instance, next_release)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        list(pool.map(lambda instance: instance.start(), pair))
    assert [instance.client(key).get("/videos").status for instance in pair] == [200, 200]
    assert sum("1 migration applied" in instance.log for instance in pair) == 1


def test_next_minor_release_needs_the_previous_stopped(pair, next_minor):
    """A migration that is not additive is refused while the previous release runs, and does not disturb it.
    Restoring the backup makes the previous release usable again."""
    first, second = pair
    current = first.binary
    key = first.create_key(uid("Ann"))
    second.start()
    traffic = Traffic(second, key)
    use(first, next_minor)
    for command in ("serve", "migrate"):
        assert "in use by processes that could not use it after this migration" in first.run(command, status=3).err
    assert traffic.stop() > 0
    second.stop()

    backup = f"{first.database}.schema-{old_schema.NEWEST}"
    assert f"backup: {backup} (verified" in first.run("migrate").out
    first.start()
    assert first.client(key).get("/videos").status == 200
    assert "which cannot use it" in second.run("serve", status=3).err
    first.stop()

    use(first, current)
    first.run("restore", backup)
    for instance in pair:
        instance.start()
        assert instance.client(key).get("/videos").status == 200


def test_upgrade_from_0_1_0_keeps_the_data_and_can_be_undone(make_viewtally, release_0_1_0):
    """Version 0.1.0 has schema 11 and refuses every newer one, so this upgrade is not rolling."""
    instance = make_viewtally()
    current = instance.binary
    use(instance, release_0_1_0)
    instance.import_lines([author("Ann"), book("Novel", "Ann"), video("one", "Ann", "2026-11-01T00:00:00Z")])
    key = instance.create_key(uid("Ann"))
    import_reading(instance, 10)
    instance.start()
    other = make_viewtally({"store": {"path": instance.database}})
    assert "in use by processes that could not use it after this migration" in other.run("serve", status=3).err
    assert instance.client(key).get("/videos").status == 200
    instance.stop()

    use(instance, current)
    assert "not additive" in instance.run("migrate", "--check", status=1).out
    instance.run("migrate")
    instance.start()
    assert views_of(instance, key) == 10
    instance.stop()

    use(instance, release_0_1_0)
    assert f"has schema version {old_schema.NEWEST}, newer than the 11 of this binary" in instance.run("serve", status=3).err
    instance.run("restore", f"{instance.database}.schema-11")
    instance.start()
    assert views_of(instance, key) == 10
