"""The spool with real files and a real server: taken at once, once, and out of the way afterwards."""
import pytest

from lib import wait
from lib.lines import author, book, post, reading, uid, video
from lib.spool import Spool

POSTED = "2026-07-01T08:00:00Z"
WORLD = [author("Ada"), video("a", "Ada", POSTED), video("b", "Ada", POSTED)]


@pytest.fixture
def spool(tmp_path):
    return Spool(tmp_path / "spool")


@pytest.fixture
def service(viewtally, spool):
    viewtally.configure({"refresh": {"source": "spool", "spool_dir": spool.path}})
    return viewtally


@pytest.fixture
def ada(service):
    service.import_lines(WORLD)
    return service.create_key(uid("Ada"))


def views_of(service, key, name):
    with service.client(key) as client:
        return client.get(f"/videos/{uid(name)}").json()["data"]["views"]


def test_a_file_is_taken_as_soon_as_it_comes(service, spool, ada):
    with service, service.client(ada) as client:
        cursor = client.get("/events?after=latest").json()["next_cursor"]
        spool.drop("one.ndjson", [reading("a", "2026-07-09T00:00:00Z", 1500)])
        events = client.get(f"/events?after={cursor}&wait=10").json()["data"]
        assert [(event["type"], event["milestone"]) for event in events] == [("video.milestone_reached", 1000)]
        wait.until(lambda: spool.done == ["one.ndjson"], "the file to be moved away")
        assert not spool.waiting and not spool.bad


def test_a_bad_line_is_told_and_the_good_ones_go_in(service, spool, ada):
    with service:
        spool.drop("mixed.ndjson", [reading("a", "2026-07-09T00:00:00Z", 20), "{", reading("nobody", "2026-07-09T00:00:00Z", 1),
                                    reading("b", "2026-07-09T01:00:00Z", 30), reading("b", "2026-06-01T00:00:00Z", 3), "",
                                    video("c", "Nobody")])
        wait.until(lambda: "mixed.ndjson.errors" in spool.bad, "the report")
        assert spool.errors("mixed.ndjson") == [
            (2, "not valid JSON: the line ends too early"), (3, "unknown post"),
            (5, "observed_at is before the post's posted_at"), (7, "author_id is unknown")]
        assert spool.bad == ["mixed.ndjson", "mixed.ndjson.errors"]
        assert not spool.waiting and not spool.done
        assert (views_of(service, ada, "a"), views_of(service, ada, "b")) == (20, 30)
