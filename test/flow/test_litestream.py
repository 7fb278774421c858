"""Litestream replicates the database while the server runs, and `viewtally restore` accepts a restored replica.

Runs the real program, pinned in test/litestream, with the configuration and the commands of docs/backups.md.
"""
import contextlib
import platform
import re
import signal
import sqlite3
import subprocess

import pytest

from lib import npm, wait
from lib.lines import author, reading, uid, video
from lib.viewtally import ROOT

DATABASE, REPLICA = "/var/lib/viewtally/viewtally.db", "/mnt/replica/viewtally"
RESTORED = "/var/lib/viewtally/replica.db"


def documented(kind, containing):
    """The code block of this kind in docs/backups.md that contains the text."""
    blocks = re.findall(rf"^```{kind}\n(.*?)^```", (ROOT / "docs/backups.md").read_text(encoding="utf-8"), re.M | re.S)
    block, = (block for block in blocks if containing in block)
    return block


class Litestream:
    def __init__(self, instance):
        self.program = npm.install("litestream") / "node_modules/@flydotio/litestream-linux-x64/litestream"
        self.instance = instance
        self.config = instance.directory / "litestream.yml"
        self.log = instance.directory / "litestream.log"
        self.config.write_text(self.adapt(documented("yaml", "replicas:")), encoding="utf-8")
        self.process = None

    def adapt(self, text):
        return text.replace(DATABASE, str(self.instance.database)).replace(REPLICA, str(self.instance.directory / "replica")) \
            .replace(RESTORED, str(self.instance.directory / "replica.db")).replace("/etc/litestream.yml", str(self.config))

    def command(self, name):
        """The documented command line `litestream NAME …`."""
        line, = (line for line in documented("sh", f"litestream {name}").splitlines() if line.startswith(f"litestream {name}"))
        return [str(self.program), *self.adapt(line).split()[1:]]

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command("replicate"), stdout=log, stderr=log)

    def stop(self):
        if self.process:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(20)
        self.process = None

    def restore(self):
        """Returns the path of the restored file."""
        path = self.instance.directory / "replica.db"
        path.unlink(missing_ok=True)
        subprocess.run(self.command("restore"), check=True, capture_output=True)
        return path


@pytest.fixture
def litestream(viewtally):
    if platform.machine() != "x86_64":
        pytest.skip("the pinned package of Litestream is for x86-64")
    viewtally.import_lines([author("Ada"), video("v", "Ada", "2026-07-01T00:00:00Z", ("youtube",))])
    made = Litestream(viewtally)
    yield made
    made.stop()


def read_at(hour, views):
    return reading("v", f"2026-07-02T{hour:02d}:00:00Z", views)


def sql(path, statement):
    with contextlib.closing(sqlite3.connect(path)) as database:
        return database.execute(statement).fetchall()


def events(instance, key):
    with instance.client(key) as client:
        return [int(event["id"][4:]) for event in client.get("/events", {"limit": "100"}).json()["data"]]


def wait_until_replicated(litestream, views):
    def is_there():
        with contextlib.suppress(subprocess.CalledProcessError):
            return sql(litestream.restore(), "SELECT views FROM videos") == [(views,)]
    wait.until(is_there, "the commit to be replicated", 40, pause_most=0.5)


def test_replica_is_restored_without_reviving_revoked_keys_or_event_ids(viewtally, litestream):
    revoked, live = (viewtally.create_key(uid("Ada"), name) for name in ("revoked", "live"))
    viewtally.start()
    litestream.start()
    viewtally.import_lines([read_at(1, 60_000)])                  # while the server and Litestream run
    wait_until_replicated(litestream, 60_000)
    litestream.stop()                                             # later changes are not replicated
    viewtally.import_lines([read_at(2, 600_000)])
    key_id, = (row["id"] for row in viewtally.run("key", "list", "--author", uid("Ada"), "--json").json() if row["name"] == "revoked")
    viewtally.run("key", "revoke", key_id)
    served = events(viewtally, live)
    viewtally.stop()

    replica = litestream.restore()
    assert sql(replica, "SELECT count(*) FROM api_keys WHERE revoked_at IS NULL") == [(2,)], "a plain copy in place would revive the key"
    assert sql(replica, "SELECT value FROM meta WHERE key = 'last_event_id'")[0][0] < max(served), "and issue event ids again"
    assert "can be restored" in viewtally.run("restore", "--drill", replica).out
    assert " revoked" in viewtally.run("restore", replica).out
    viewtally.start()
    assert viewtally.client(revoked).get("/account").status == 401 and viewtally.client(live).get("/account").status == 200
    viewtally.import_lines([read_at(2, 600_000)])
    again = events(viewtally, live)
    assert len(again) == len(served) and len(set(again) - set(served)) == 3 and min(set(again) - set(served)) > max(served)

    litestream.start()                                            # notices the new database
    viewtally.import_lines([read_at(3, 700_000)])
    wait_until_replicated(litestream, 700_000)
    viewtally.stop()


def test_restore_is_refused_while_litestream_has_the_database_open(viewtally, litestream):
    litestream.start()
    wait_until_replicated(litestream, 0)
    replica = litestream.restore()
    assert "is in use" in viewtally.run("restore", replica, status=3).err
    litestream.stop()
    viewtally.run("restore", replica)
