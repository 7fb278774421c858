"""The server on PostgreSQL beside one on SQLite: the same data, the same requests, the same responses."""
import contextlib
import random
import re
import threading

import pytest

from lib import wait
from lib.clock import DEFAULT_NOW, FakeClock
from lib.lines import author, book, reading, uid, video
from lib.postgres import SqlError
from lib.viewtally import Viewtally

VIDEOS, BOOKS = 450, 3       # several calls of a search, and several slices of /stats
PLATFORMS = ["tiktok", "instagram", "youtube"]


def at(day, hour=0):
    return f"2026-06-{day:02}T{hour:02}:00:00Z"


def library(rng):
    lines = [author("Ada"), author("Bob"), author("Cleo"), video("of-bob", "Bob", at(5))]
    lines += [book(f"book{n}", "Ada", title=f"The {n}. book") for n in range(BOOKS)]
    readings = [reading("of-bob", at(6), 50)]
    for n in range(VIDEOS):
        day, where = rng.randrange(1, 20), rng.sample(PLATFORMS, rng.randrange(0, 3))
        fields = {"book_id": uid(f"book{rng.randrange(BOOKS)}")} if rng.random() < 0.5 else {}
        title = rng.choice([None, "Garden", f"secret {n}"])
        lines.append(video(f"v{n}", "Ada", at(day) if where else None, where, **{**fields, "title": title}))
        for platform in where:
            views = 0
            for later in sorted(rng.sample(range(1, 10), 3)):
                views += rng.choice([0, 20, 700, 90000])
                readings.append(reading(f"v{n}", at(day + later, 3), views, platform))
    return lines + sorted(readings, key=lambda line: line["observed_at"])


class Pair:
    def __init__(self, directory, url):
        clock = FakeClock(directory / "clock", DEFAULT_NOW)
        self.sides = [Viewtally(directory / "sqlite", clock=clock), Viewtally(directory / "pg", {"store": {"url": url}}, clock=clock)]
        self.keys = {}

    def fill(self, lines):
        for side in self.sides:
            side.ensure_database()
            side.import_lines(lines)
            for name in ("Ada", "Bob", "Cleo"):
                self.keys[side, name] = side.create_key(uid(name))
            side.start()

    def get(self, path, name="Ada"):
        """Returns the response of each server."""
        seen = []
        for side in self.sides:
            with side.client(self.keys[side, name]) as client:
                seen.append(client.get(path))
        return seen

    def stop(self):
        for side in self.sides:
            side.stop()


@pytest.fixture(scope="module")
def pair(cluster, tmp_path_factory):
    cluster.sql("CREATE DATABASE pair", database="postgres")
    made = Pair(tmp_path_factory.mktemp("pair"), cluster.url("pair"))
    with contextlib.ExitStack() as stack:
        stack.callback(made.stop)
        made.fill(library(random.Random(7)))
        yield made


def comparable(response):
    """Removes what each server issues itself: the ids of events and requests, and keys."""
    text = re.sub(r"evt_[0-9]+", "evt_N", response.body.decode())
    return response.status, re.sub(r'"(prefix|request_id)":"[^"]*"', r'"\1":""', text)


PATHS = ["/account", "/books", "/videos", "/videos?limit=100", f"/videos?book_id={uid('book1')}", f"/videos?book_id={uid('nobody')}",
         "/videos?viral=true", "/videos?viral=false&limit=7", f"/videos?viral=true&book_id={uid('book2')}",
         "/videos?start_date=2026-06-05&end_date=2026-06-09", "/videos?sort=views", "/videos?sort=views_7d&limit=20",
         "/videos?q=garden", "/videos?q=BOOK", f"/videos?q=secret&book_id={uid('book0')}&include=total", "/videos?platform=tiktok&include=total",
         f"/videos?sort=views&book_id={uid('nobody')}", f"/videos/{uid('of-bob')}",
         "/events", "/events?limit=100", "/events?order=desc", "/events?type=video.went_viral", "/events?occurred_after=2026-06-12T00:00:00Z",
         "/events?after=latest", "/stats?start_date=2026-06-01&end_date=2026-06-30", "/stats?group_by=book&start_date=2026-06-01&end_date=2026-06-30",
         "/stats?group_by=account&start_date=2026-06-01&end_date=2026-06-30", "/stats?group_by=platform&start_date=2026-06-01&end_date=2026-06-30",
         "/stats.csv?start_date=2026-06-03&end_date=2026-06-09"]


@pytest.mark.parametrize("name", ["Ada", "Bob", "Cleo"])
@pytest.mark.parametrize("path", PATHS)
def test_responses_are_equal_on_sqlite_and_postgresql(pair, path, name):
    on_sqlite, on_pg = pair.get(path, name)
    assert comparable(on_pg) == comparable(on_sqlite)
    if name == "Ada" and path.startswith(("/events?limit", "/videos?limit", "/stats?start")):
        assert len(on_pg.body) > 2000


def test_videos_are_equal_on_sqlite_and_postgresql(pair):
    for page in pair.get("/videos?limit=5"):
        for one in page.json()["data"]:
            on_sqlite, on_pg = pair.get(f"/videos/{one['id']}")
            assert on_pg.status == 200 and comparable(on_pg) == comparable(on_sqlite)


def test_video_lists_are_equal_on_sqlite_and_postgresql(pair):
    seen = [[], []]
    for n, side in enumerate(pair.sides):
        with side.client(pair.keys[side, "Ada"]) as client:
            cursor = ""
            while cursor is not None:
                page = client.get(f"/videos?limit=37{cursor and '&cursor=' + cursor}").json()
                seen[n] += [one["id"] for one in page["data"]]
                cursor = page["next_cursor"]
    assert seen[0] == seen[1] and len(seen[0]) > 200


def test_next_response_shows_a_commit_and_rejects_a_revoked_key(pair):
    _, side = pair.sides
    with side.client(pair.keys[side, "Bob"]) as client:
        for n in range(3):
            side.import_lines([reading("of-bob", at(7 + n), 1000 * (n + 1))])
            assert client.get(f"/videos/{uid('of-bob')}").json()["data"]["views"] == 1000 * (n + 1)
    key = side.create_key(uid("Bob"), name="short")
    with side.client(key) as client:
        assert client.get("/account").status == 200
        revoked = next(one for one in side.run("key", "list", "--author", uid("Bob"), "--json").json() if one["name"] == "short")
        side.run("key", "revoke", revoked["id"])
        assert client.get("/account").json()["error"]["code"] == "api_key_revoked"
        assert client.get("/account", headers={"Authorization": "Bearer " + key[:-1] + "x"}).status == 401


def test_long_poll_receives_an_event(pair):
    _, side = pair.sides
    got = []

    def poll():
        with side.client(pair.keys[side, "Cleo"], timeout=90) as client:
            got.append(client.get(f"/events?after={cursor}&wait=50").json())

    waiting = threading.Thread(target=poll)
    side.import_lines([video("of-cleo", "Cleo", at(20))])
    with side.client(pair.keys[side, "Cleo"]) as client:
        cursor = client.get("/events?after=latest").json()["next_cursor"]
    waiting.start()
    side.import_lines([reading("of-cleo", at(21), 10), reading("of-cleo", at(22), 40000)])
    waiting.join()
    assert got and got[0]["data"] and got[0]["data"][0]["video"]["id"] == uid("of-cleo")


def test_lost_connections_are_not_noticed_by_clients(cluster, pair):
    _, side = pair.sides
    expected = comparable(pair.get("/videos?limit=100")[1])
    with side.client(pair.keys[side, "Ada"]) as client:
        for _ in range(10):
            # The server connects again after the last round.
            wait.until(lambda: cluster.sql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = 'pair' AND pid <> pg_backend_pid()",
                                           "postgres"), "connections")
            assert comparable(client.get("/videos?limit=100")) == expected


@contextlib.contextmanager
def locked(cluster, table):
    """Holds a lock that makes every read of the table wait."""
    holders = f"SELECT pid FROM pg_locks WHERE granted AND mode = 'AccessExclusiveLock' AND relation = '{table}'::regclass"

    def hold():
        with contextlib.suppress(SqlError):     # the session is terminated
            cluster.sql(f"BEGIN; LOCK TABLE {table}; SELECT pg_sleep(600)", "pair")

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        wait.until(lambda: cluster.sql(holders, "pair"), "the lock")
        yield
    finally:
        cluster.sql(f"SELECT pg_terminate_backend(pid) FROM ({holders}) h", "pair")
        holder.join()


@pytest.mark.parametrize("table", ["api_keys", "videos"])
def test_responses_stay_correct_after_clients_disconnect_during_a_read(cluster, pair, table):
    _, side = pair.sides
    waiting = f"SELECT 1 FROM pg_locks WHERE NOT granted AND relation = '{table}'::regclass"
    with locked(cluster, table):
        for n in range(6):
            with side.client(pair.keys[side, "Ada"], timeout=0.05) as client, pytest.raises(OSError):
                client.get(f"/videos?limit={60 + n}")      # not cached
        wait.until(lambda: cluster.sql(waiting, "pair"), "the read to wait for the lock")
    on_sqlite, on_pg = pair.get("/videos")
    assert comparable(on_pg) == comparable(on_sqlite)


def test_many_simultaneous_clients_get_their_own_responses(pair):
    _, side = pair.sides
    expected = {name: comparable(pair.get("/books", name)[1]) for name in ("Ada", "Bob", "Cleo")}
    failures = []

    def run(name):
        with side.client(pair.keys[side, name]) as client:
            for _ in range(40):
                if comparable(client.get("/books")) != expected[name]:
                    failures.append(name)

    threads = [threading.Thread(target=run, args=[("Ada", "Bob", "Cleo")[n % 3]]) for n in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
