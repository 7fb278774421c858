"""A full disk is reported by /readyz and by the metrics before writes fail."""
import signal

import pytest

from lib import wait
from lib.metrics import scrape

MIB = 1 << 20


@pytest.fixture
def small(make_disk, make_viewtally):
    """A running server whose database is on a disk of 16 MiB, of which 4 MiB must be free."""
    disk = make_disk("16m")
    instance = make_viewtally({"store": {"path": disk.path / "viewtally.db", "min_free_bytes": 4 * MIB}})
    instance.add_author()
    with instance:
        yield instance, disk


def readiness(instance):
    return instance.admin().get("/readyz").body.decode().strip()


def free_bytes(instance):
    return scrape(instance).get("viewtally_store_disk_free_bytes")


def test_server_is_degraded_while_the_disk_is_full(small):
    instance, disk = small
    wait.until(lambda: free_bytes(instance) > 8 * MIB, "the free space to be read")
    assert readiness(instance) == "ready" and scrape(instance).get("viewtally_store_disk_size_bytes") == 16 * MIB
    disk.fill(room=2 * MIB)
    wait.until(lambda: readiness(instance).startswith("degraded: the disk of the database has only "), "the full disk to be noticed")
    assert instance.admin().get("/readyz").status == 200        # reads are still served
    assert free_bytes(instance) <= 2 * MIB
    instance.configure({"admin": {"listen": instance.admin_addresses[0]}})
    assert "the disk of the database has only" in instance.run("healthcheck", "--strict", status=1).out
    disk.make_room()
    wait.until(lambda: readiness(instance) == "ready", "the room to be noticed")


def test_threshold_can_be_changed_while_the_server_runs(small):
    instance, disk = small
    disk.fill()
    wait.until(lambda: "only 0 MiB free" in readiness(instance), "the full disk to be noticed")
    instance.configure({"store": {"min_free_bytes": 0}})
    instance.signal(signal.SIGHUP)
    wait.until(lambda: "MiB free" not in readiness(instance), "the reload")
    disk.make_room()
