"""Full disks: that of PostgreSQL, and that of the machine on which a command makes a backup or a restore."""
import os
import re

import pytest

from lib import lines, packed_days, wait
from lib.disk import Disk
from lib.spool import Spool
from lib.viewtally import Viewtally

POSTED = "2026-07-01T08:00:00Z"
READ = "2026-07-02T00:00:00Z"
VIDEOS = 2000
KIB = 1024

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can mount a file system")


@pytest.fixture
def disk(cluster):
    """The disk of a tablespace of the server. Its write-ahead log is on another disk."""
    try:
        made = Disk(cluster.directory / "disk", "64m")
    except OSError as reason:
        pytest.skip(str(reason))
    cluster.own(made.path)
    cluster.sql(f"CREATE TABLESPACE small LOCATION '{made.path}'")
    yield made
    cluster.sql("DROP TABLESPACE small", database="postgres")
    made.unmount()
    made.path.rmdir()


@pytest.fixture
def small(cluster, disk):
    """The name of an empty database on the small disk."""
    cluster.sql("CREATE DATABASE small TEMPLATE template0 TABLESPACE small", "postgres")
    yield "small"
    cluster.sql("DROP DATABASE small WITH (FORCE)", "postgres")


@pytest.fixture
def served(cluster, small, tmp_path):
    """A server whose database is on the small disk, and a key of its author Ann, who has one video with 500 views."""
    server = Viewtally(tmp_path / "server", {"store": {"url": cluster.url(small)}}, seams=True)
    server.run("migrate")
    server.import_lines([lines.author("Ann"), lines.video("Wave", "Ann", POSTED), lines.reading("Wave", READ, 500)])
    server.key = server.create_key(lines.uid("Ann"))
    with server:
        wait.until(lambda: server.admin().get("/readyz").status == 200, "the server to be ready")
        yield server


def many():
    """An author with many videos, which take several megabytes."""
    return [lines.author("Bob"), *(lines.video(f"v{n}", "Bob", POSTED, title="x" * 1500) for n in range(VIDEOS)),
            *(lines.reading(f"v{n}", READ, 1000 + n) for n in range(VIDEOS))]


def videos(server):
    with server.client(server.key) as client:
        response = client.get("/videos")
        assert response.status == 200, response
        return [(video["title"], video["views"]) for video in response.json()["data"]]


def test_import_fails_while_the_disk_of_postgresql_is_full_and_requests_are_served(served, disk):
    before = videos(served)
    disk.fill(room=200 * KIB)
    failed = served.import_lines(many(), status=3)
    assert failed.err.splitlines()[-1].startswith("viewtally import: the import stopped: database error: no space left"), failed
    assert videos(served) == before
    assert served.run("author", "list").out
    disk.make_room()
    served.import_lines(many())
    assert served.sql("SELECT count(*), sum(views) FROM videos WHERE title LIKE 'x%'") == [(VIDEOS, sum(range(1000, 1000 + VIDEOS)))]
    assert videos(served) == before and not served.run("events", "verify", "--json").json()["differences"]


def test_refresh_fails_while_the_disk_of_postgresql_is_full_and_the_next_one_completes_it(served, disk, tmp_path):
    served.import_lines(many())
    spool = Spool(tmp_path / "spool")
    served.configure({"refresh": {"source": "spool", "spool_dir": spool.path}})
    spool.drop("one.ndjson", [lines.reading(f"v{n}", f"2026-07-03T{hour:02}:00:00Z", 100_000 * (hour + 1) + n) for hour in range(20) for n in range(VIDEOS)])
    disk.fill(room=200 * KIB)
    failed = served.run("refresh", status=3)
    assert "database error: no space left" in failed.err and spool.waiting == ["one.ndjson"], failed
    packed_days.check(served.as_file())
    assert len(videos(served)) == 1
    disk.make_room()
    served.run("refresh")
    assert spool.done == ["one.ndjson"]
    assert served.sql("SELECT sum(views) FROM videos WHERE title LIKE 'x%'") == [(sum(range(2_000_000, 2_000_000 + VIDEOS)),)]


def test_migrate_on_a_full_disk_of_postgresql_creates_nothing_and_can_be_repeated(cluster, small, disk, tmp_path):
    instance = Viewtally(tmp_path / "new", {"store": {"url": cluster.url(small)}}, seams=True)
    disk.fill(room=300 * KIB)
    failed = instance.run("migrate", status=3)
    assert "nothing was changed" in failed.err and "could not extend file" in failed.err, failed
    assert cluster.sql("SELECT count(*) FROM pg_class WHERE relnamespace = 'public'::regnamespace", small) == [["0"]]
    disk.make_room()
    instance.run("migrate")
    assert instance.add_author()


@pytest.fixture
def filled(cluster, make_disk, tmp_path):
    """An installation with data of several megabytes, its backup `good.db`, and a small disk of this machine."""
    instance = Viewtally(tmp_path / "filled", {"store": {"url": cluster.url(cluster.database("template0"))}}, seams=True)
    instance.run("migrate")
    instance.import_lines(many())
    instance.run("backup", "good.db")
    instance.disk = make_disk("2m")
    return instance


def test_backup_to_a_full_disk_leaves_no_file(filled):
    for words in (["backup", filled.disk.path / "b.db"], ["backup", "now"]):
        filled.configure({"backup": {"directory": filled.disk.path}})
        failed = filled.run(*words, status=3)
        assert failed.err.splitlines()[-1].endswith(": database error: no space left"), failed
        assert list(filled.disk.path.iterdir()) == []


@pytest.mark.parametrize("what", ["the copy of the present data", "the temporary file"])
def test_restore_without_disk_space_changes_nothing(filled, what):
    environment = {}
    if what == "the temporary file":
        environment["TMPDIR"] = str(filled.disk.path)
    else:
        filled.configure({"backup": {"directory": filled.disk.path}})
    before = filled.sql("SELECT id FROM store")
    failed = filled.run("restore", "good.db", status=3, env=environment)
    assert re.search(f"({filled.disk.path}.*database error: no space left|no space left on the disk of {filled.disk.path}).* Nothing was changed", failed.err), failed
    assert filled.sql("SELECT id FROM store") == before
    assert list(filled.disk.path.iterdir()) == [] and not list(filled.directory.glob("*before*"))
    filled.configure({"backup": {"directory": None}})
    filled.run("restore", "good.db")
