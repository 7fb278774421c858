"""Answers that are kept in memory: they are given only while they are true. A server that keeps nothing stands beside one that
keeps as much as it can, on one database and one clock, and after whatever happens both answer the same, however often they are asked.
"""
import datetime
import random
import sqlite3

import pytest

from lib import wait
from lib.lines import author, book, reading, uid, video
from lib.metrics import scrape

DAY = 24 * 3600 * 1000
DATA = [
    author("Ada"), author("Bob"), book("Novel", "Ada", created_at="2026-01-01T00:00:00Z"),
    *(video(f"v{n}", "Ada", f"2026-07-{n + 1:02}T08:00:00Z", ("youtube", "tiktok"), book_id=uid("Novel")) for n in range(9)),
    video("other", "Bob", "2026-07-02T08:00:00Z"),
    *(reading(f"v{n}", "2026-07-09T20:00:00Z", 700 * (n + 1)) for n in range(9)),
]
PATHS = ["/account", "/books", "/videos", "/videos?limit=2", f"/videos/{uid('v0')}", f"/videos?book_id={uid('Novel')}&viral=false", "/stats",
         "/stats?group_by=book", "/stats?start_date=2026-07-01&end_date=2026-07-20", "/stats?format=csv", "/events", "/events?limit=3",
         "/events?after=latest", "/events?order=desc"]
OWN = {"Date", "X-Request-Id"}


class Pair:
    def __init__(self, make_viewtally, clock):
        self.clock = clock
        self.keeps = make_viewtally({"cache": {"max_bytes": str(1 << 26)}}, clock)
        self.makes = make_viewtally({"cache": {"max_bytes": "0"}, "store": self.keeps.settings["store"]}, clock)
        self.keeps.import_lines(DATA)
        self.key = self.keeps.create_key(uid("Ada"))
        self.clients = [server.start().client(self.key) for server in (self.keeps, self.makes)]
        self.use()

    def use(self):
        """The time of the key's last use is written behind the answers: from here on it stays for a minute."""
        now = self.clock.wall_ms
        self.clients[1].get("/books")
        wait.until(lambda: self.last_used() and self.last_used() > now - 60000, "the use to be written")

    def last_used(self):
        with sqlite3.connect(self.keeps.settings["store"]["path"]) as database:
            return database.execute("SELECT last_used_at FROM api_keys").fetchone()[0]

    def check(self, paths=PATHS, times=3):
        for path in paths:
            for _ in range(times):
                kept, made = (client.request("GET", "/v1" + path) for client in self.clients)
                assert (kept.status, kept.body) == (made.status, made.body), path
                fields = [sorted(pair for pair in answer.headers.items() if pair[0] not in OWN) for answer in (kept, made)]
                assert fields[0] == fields[1], path
            etag = made.headers.get("ETag")
            if etag:
                again = self.clients[0].request("GET", "/v1" + path, headers={"If-None-Match": etag})
                assert (again.status, again.body, again.headers["ETag"]) == (304, b"", etag), path
                head = self.clients[0].request("HEAD", "/v1" + path)
                assert (head.status, head.body, head.headers["ETag"]) == (200, b"", etag), path


@pytest.fixture
def pair(make_viewtally, clock):
    clock.set_wall("2026-07-10T12:00:00Z")
    made = Pair(make_viewtally, clock)
    yield made
    for client in made.clients:
        client.close()


def test_a_video_turns_final_to_the_millisecond(pair):
    paths = [f"/videos/{uid('v0')}", "/videos", "/videos?limit=2"]
    final = lambda: pair.clients[0].get(paths[0]).json()["data"]["views_final"]     # noqa: E731
    pair.clock.set_wall("2026-07-31T07:59:59.999Z")
    pair.check(paths)
    assert not final()
    pair.clock.advance(1)           # the last instant, inclusive
    pair.check(paths)
    assert not final()
    pair.clock.advance(1)
    assert final()
    pair.check(paths)
    pair.clock.advance(-1)          # a clock that is set back
    assert not final()
    pair.check(paths)


def test_statistics_turn_at_midnight(pair):
    pair.clock.set_wall("2026-07-10T23:59:59.999Z")
    pair.check(["/stats"])
    assert pair.clients[0].get("/stats").json()["end_date"] == "2026-07-10"
    pair.clock.advance(1)
    assert pair.clients[0].get("/stats").json()["end_date"] == "2026-07-11"
    pair.check(["/stats"])


def test_a_key_that_another_process_revokes(pair):
    made = pair.keeps.run("key", "create", "--author", uid("Ada"), "--name", "second", "--json").json()
    with pair.keeps.client(made["key"]) as client:
        for _ in range(4):
            assert client.get("/books").status == 200
        pair.keeps.run("key", "revoke", made["id"])
        assert client.get("/books").json()["error"]["code"] == "api_key_revoked"
    pair.check(["/books"])


def test_the_account_shows_the_last_use_of_its_key(pair):
    pair.check(["/account"])
    pair.clock.advance(2 * 60 * 1000)
    pair.use()
    pair.check(["/account"])
    assert pair.clients[0].get("/account").json()["data"]["key"]["last_used_at"] == "2026-07-10T12:02:00.000Z"


def test_each_video_has_its_own_cache_entry(pair):
    for name in ["v0", "v1"] * 3:
        assert pair.clients[0].get(f"/videos/{uid(name)}").json()["data"]["id"] == uid(name)


def test_each_key_of_an_author_sees_its_own_account(pair):
    """Also when both were used last at the same time, so that the cache entries differ in the key only."""
    made = pair.keeps.run("key", "create", "--author", uid("Ada"), "--name", "second", "--json").json()
    with pair.keeps.client(made["key"]) as second:
        pair.clock.advance(2 * 60 * 1000)
        pair.clients[1].get("/books")
        second.get("/books")
        with sqlite3.connect(pair.keeps.settings["store"]["path"]) as database:
            used = "SELECT count(*) FROM api_keys WHERE last_used_at = ?"
            wait.until(lambda: database.execute(used, (pair.clock.wall_ms,)).fetchone()[0] == 2, "both uses to be written")
        for client, name in [(pair.clients[0], "test"), (second, "second")] * 3:
            assert client.get("/account").json()["data"]["key"]["name"] == name


def test_what_a_client_accepts_is_part_of_the_question(pair):
    pair.check(["/stats"])
    for accept, kind in (("text/csv", "text/csv"), ("application/json", "application/json"), ("text/csv", "text/csv"), ("*/*", "application/json"),
                         ("text/csv, application/json;q=0.5", "application/json")):
        answer = pair.clients[0].request("GET", "/v1/stats", headers={"Accept": accept})
        assert answer.headers["Content-Type"].startswith(kind), accept
        assert answer.headers["Vary"] == "Authorization, Accept"


def test_a_plan_that_ends_and_begins_again(pair):
    pair.check(["/videos"])
    pair.keeps.run("author", "set-plan", uid("Ada"), "inactive")
    assert pair.clients[0].get("/videos").json()["error"]["code"] == "plan_inactive"
    pair.keeps.run("author", "set-plan", uid("Ada"), "active")
    pair.check(["/videos", "/account"])


# ---- the feed hangs on what it shows, not on every reading ----

FEED = ["/events", "/events?limit=3", "/events?limit=3&type=video.milestone_reached", "/events?after=latest", "/events?after=evt_9223372036854775807",
        "/events?occurred_after=2026-07-09T20:00:00Z", "/events?order=desc", "/events?order=desc&limit=2"]


def kept_of(pair):
    """(given, made) of the answers that may be kept."""
    metrics = scrape(pair.keeps)
    return metrics.get("viewtally_response_cache_hits_total"), metrics.get("viewtally_response_cache_misses_total")


def feed(pair):
    return pair.clients[0].get("/events?limit=100").json()["data"]


def video_line(name, **fields):
    return {"type": "video", "id": uid(name), "author_id": uid("Ada"), **fields}


@pytest.fixture
def fed(make_viewtally, clock):
    """All videos but v0 have passed a milestone; the first event is v1's."""
    clock.set_wall("2026-07-10T12:00:00Z")
    made = Pair(make_viewtally, clock)
    made.keeps.import_lines([book("Second", "Ada", created_at="2026-02-01T00:00:00Z")])
    made.use()
    assert feed(made)[0]["video"]["title"] == "v1"
    yield made
    for client in made.clients:
        client.close()


def earlier(name, *platforms):
    """Posts of a video that came out before those it has."""
    return video_line(name, posts=[{"platform": platform, "post_id": f"{platform}-{name}", "posted_at": "2026-07-01T06:00:00Z"}
                                   for platform in platforms])


FEED_CHANGES = {
    "title": ([video_line("v1", title="Another title")], lambda v: v["title"] == "Another title"),
    "no title": ([video_line("v1", title=None)], lambda v: v["title"] == "Novel"),
    "thumbnail": ([video_line("v1", thumbnail_url="https://cdn.example/1.jpg")], lambda v: v["thumbnail_url"] == "https://cdn.example/1.jpg"),
    "another book": ([video_line("v1", book_id=uid("Second"))], lambda v: v["book"]["title"] == "Second"),
    "no book": ([video_line("v1", book_id=None)], lambda v: v["book"] is None),
    "book renamed": ([{"type": "book", "id": uid("Novel"), "author_id": uid("Ada"), "title": "Novella"}], lambda v: v["book"]["title"] == "Novella"),
    "an earlier post": ([earlier("v1", "facebook")], lambda v: v["posted_at"] == "2026-07-01T06:00:00.000Z"),
}


@pytest.mark.parametrize("change", FEED_CHANGES)
def test_what_an_event_shows_of_its_video_changes_at_once(fed, change):
    lines, is_shown = FEED_CHANGES[change]
    fed.check(FEED)
    assert not is_shown(feed(fed)[0]["video"])
    fed.keeps.import_lines(lines)
    fed.use()
    assert is_shown(feed(fed)[0]["video"])
    fed.check(FEED)


@pytest.mark.parametrize(("views", "kinds"), [(1200, {"video.milestone_reached"}), (10 ** 6, {"video.milestone_reached", "video.went_viral"})])
def test_a_new_event_is_there_at_once(fed, views, kinds):
    fed.check(FEED)
    before = len(feed(fed))
    fed.keeps.import_lines([reading("v0", "2026-07-10T11:00:00Z", views)])     # by another process
    fed.use()
    new = feed(fed)[before:]
    assert {event["type"] for event in new} == kinds and {event["video"]["id"] for event in new} == {uid("v0")}
    fed.check(FEED)


def test_readings_without_an_event_leave_the_feed_kept(fed):
    fed.check(FEED)
    fed.check(["/videos"])
    body = fed.clients[0].get("/events").body
    for hour, views in enumerate((710, 720, 730)):
        fed.keeps.import_lines([reading("v0", f"2026-07-10T{hour + 8:02}:00:00Z", views)])
        fed.use()
        fed.clients[0].get("/videos")
        before = kept_of(fed)
        for path in FEED:
            assert fed.clients[0].get(path).status == 200
        assert kept_of(fed) == (before[0] + len(FEED), before[1]), "every answer was kept"
        assert fed.clients[0].get("/events").body == body
        before = kept_of(fed)
        answer = fed.clients[0].get(f"/videos/{uid('v0')}").json()
        assert answer["data"]["views"] == views and kept_of(fed)[1] == before[1] + 1, "what shows counts is made anew"
    fed.check(FEED)


@pytest.mark.parametrize("seed", range(3))
def test_whatever_happens_both_answer_the_same(pair, seed):
    chance = random.Random(seed)
    for turn in range(12):
        what = chance.choice(["reading", "reading", "title", "rename", "move", "picture", "day", "back", "nothing"])
        if what == "reading":
            now = datetime.datetime.fromtimestamp(pair.clock.wall_ms / 1000, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
            pair.keeps.import_lines([reading(f"v{chance.randrange(9)}", now, chance.randrange(10 ** chance.randrange(3, 7)))], status=None)
        elif what == "title":
            pair.keeps.import_lines([{"type": "video", "id": uid("v1"), "author_id": uid("Ada"), "title": f"turn {turn}"}])
        elif what == "rename":
            pair.keeps.import_lines([{"type": "book", "id": uid("Novel"), "author_id": uid("Ada"), "title": f"Novel {turn}"}])
        elif what == "move":
            pair.keeps.import_lines([book(f"Book {turn}", "Ada", created_at="2026-02-01T00:00:00Z"),
                                     video_line(f"v{chance.randrange(9)}", book_id=chance.choice([uid(f"Book {turn}"), uid("Novel"), None]))])
        elif what == "picture":
            pair.keeps.import_lines([video_line(f"v{chance.randrange(9)}", thumbnail_url=f"https://cdn.example/{turn}.jpg")])
        elif what == "day":
            pair.clock.advance(chance.randrange(1, 3 * DAY))
        elif what == "back":
            pair.clock.advance(-chance.randrange(1, DAY))
        pair.use()
        pair.check(chance.sample(PATHS, 6))
