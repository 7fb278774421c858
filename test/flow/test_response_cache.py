"""The response cache serves a response only as long as it is correct. Two servers share one database and one clock, one with a
cache and one without; after every change both must send the same responses.
"""
import datetime
import random

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
        self.cached = make_viewtally({"cache": {"max_bytes": str(1 << 26)}}, clock)
        self.uncached = make_viewtally({"cache": {"max_bytes": "0"}, "store": self.cached.settings["store"]}, clock)
        self.cached.import_lines(DATA)
        self.key = self.cached.create_key(uid("Ada"))
        self.clients = [server.start().client(self.key) for server in (self.cached, self.uncached)]
        self.use()

    def use(self):
        """Uses the key. The time of its last use is written after the response; then it does not change for a minute."""
        now = self.clock.wall_ms
        self.clients[1].get("/books")
        wait.until(lambda: self.last_used() and self.last_used() > now - 60000, "the use to be written")

    def last_used(self):
        return self.cached.sql("SELECT last_used_at FROM api_keys")[0][0]

    def check(self, paths=PATHS, times=3):
        for path in paths:
            for _ in range(times):
                cached, uncached = (client.request("GET", "/v1" + path) for client in self.clients)
                assert (cached.status, cached.body) == (uncached.status, uncached.body), path
                fields = [sorted(pair for pair in response.headers.items() if pair[0] not in OWN) for response in (cached, uncached)]
                assert fields[0] == fields[1], path
            etag = uncached.headers.get("ETag")
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


def test_cached_video_becomes_final_at_the_exact_millisecond(pair):
    paths = [f"/videos/{uid('v0')}", "/videos", "/videos?limit=2"]
    final = lambda: pair.clients[0].get(paths[0]).json()["data"]["views_final"]     # noqa: E731
    pair.clock.set_wall("2026-07-31T07:59:59.999Z")
    pair.check(paths)
    assert not final()
    pair.clock.advance(1)           # the last millisecond, inclusive
    pair.check(paths)
    assert not final()
    pair.clock.advance(1)
    assert final()
    pair.check(paths)
    pair.clock.advance(-1)          # the clock is set back
    assert not final()
    pair.check(paths)


def test_cached_statistics_change_at_midnight(pair):
    pair.clock.set_wall("2026-07-10T23:59:59.999Z")
    pair.check(["/stats"])
    assert pair.clients[0].get("/stats").json()["end_date"] == "2026-07-10"
    pair.clock.advance(1)
    assert pair.clients[0].get("/stats").json()["end_date"] == "2026-07-11"
    pair.check(["/stats"])


def test_key_revoked_by_another_process_is_rejected(pair):
    made = pair.cached.run("key", "create", "--author", uid("Ada"), "--name", "second", "--json").json()
    with pair.cached.client(made["key"]) as client:
        for _ in range(4):
            assert client.get("/books").status == 200
        pair.cached.run("key", "revoke", made["id"])
        assert client.get("/books").json()["error"]["code"] == "api_key_revoked"
    pair.check(["/books"])


def test_cached_account_response_shows_the_latest_use_of_its_key(pair):
    pair.check(["/account"])
    pair.clock.advance(2 * 60 * 1000)
    pair.use()
    pair.check(["/account"])
    assert pair.clients[0].get("/account").json()["data"]["key"]["last_used_at"] == "2026-07-10T12:02:00.000Z"


def test_each_video_has_its_own_cache_entry(pair):
    for name in ["v0", "v1"] * 3:
        assert pair.clients[0].get(f"/videos/{uid(name)}").json()["data"]["id"] == uid(name)


def test_each_key_gets_its_own_account_response(pair):
    """Even if both API keys were last used at the same time, so that their cache keys differ only in the API key."""
    made = pair.cached.run("key", "create", "--author", uid("Ada"), "--name", "second", "--json").json()
    with pair.cached.client(made["key"]) as second:
        pair.clock.advance(2 * 60 * 1000)
        pair.clients[1].get("/books")
        second.get("/books")
        used = "SELECT count(*) FROM api_keys WHERE last_used_at = ?"
        wait.until(lambda: pair.cached.sql(used, pair.clock.wall_ms) == [(2,)], "both uses to be written")
        for client, name in [(pair.clients[0], "test"), (second, "second")] * 3:
            assert client.get("/account").json()["data"]["key"]["name"] == name


def test_accept_header_is_part_of_the_cache_key(pair):
    pair.check(["/stats"])
    for accept, kind in (("text/csv", "text/csv"), ("application/json", "application/json"), ("text/csv", "text/csv"), ("*/*", "application/json"),
                         ("text/csv, application/json;q=0.5", "application/json")):
        response = pair.clients[0].request("GET", "/v1/stats", headers={"Accept": accept})
        assert response.headers["Content-Type"].startswith(kind), accept
        assert response.headers["Vary"] == "Authorization, Accept"


def test_plan_that_ends_and_starts_again_takes_effect_at_once(pair):
    pair.check(["/videos"])
    pair.cached.run("author", "set-plan", uid("Ada"), "inactive")
    assert pair.clients[0].get("/videos").json()["error"]["code"] == "plan_inactive"
    pair.cached.run("author", "set-plan", uid("Ada"), "active")
    pair.check(["/videos", "/account"])


# ---- the feed has a revision of its own, which readings without events do not change ----

FEED = ["/events", "/events?limit=3", "/events?limit=3&type=video.milestone_reached", "/events?after=latest", "/events?after=evt_9223372036854775807",
        "/events?occurred_after=2026-07-09T20:00:00Z", "/events?order=desc", "/events?order=desc&limit=2"]


def hits_and_misses(pair):
    metrics = scrape(pair.cached)
    return metrics.get("viewtally_response_cache_hits_total"), metrics.get("viewtally_response_cache_misses_total")


def feed(pair):
    return pair.clients[0].get("/events?limit=100").json()["data"]


def video_line(name, **fields):
    return {"type": "video", "id": uid(name), "author_id": uid("Ada"), **fields}


@pytest.fixture
def fed(make_viewtally, clock):
    """All videos except v0 have reached a milestone; the first event is that of v1."""
    clock.set_wall("2026-07-10T12:00:00Z")
    made = Pair(make_viewtally, clock)
    made.cached.import_lines([book("Second", "Ada", created_at="2026-02-01T00:00:00Z")])
    made.use()
    assert feed(made)[0]["video"]["title"] == "v1"
    yield made
    for client in made.clients:
        client.close()


def earlier(name, *platforms):
    """Returns a video line that changes posted_at of the posts to an earlier time."""
    return video_line(name, posts=[{"platform": platform, "post_id": f"{platform}-{name}", "posted_at": "2026-07-01T06:00:00Z"}
                                   for platform in platforms])


FEED_CHANGES = {
    "title": ([video_line("v1", title="Another title")], lambda v: v["title"] == "Another title"),
    "no title": ([video_line("v1", title=None)], lambda v: v["title"] == "Novel"),
    "thumbnail": ([video_line("v1", thumbnail_url="https://cdn.example/1.jpg")], lambda v: v["thumbnail_url"] == "https://cdn.example/1.jpg"),
    "another book": ([video_line("v1", book_id=uid("Second"))], lambda v: v["book"]["title"] == "Second"),
    "no book": ([video_line("v1", book_id=None)], lambda v: v["book"] is None),
    "book renamed": ([{"type": "book", "id": uid("Novel"), "author_id": uid("Ada"), "title": "Novella"}], lambda v: v["book"]["title"] == "Novella"),
    "a later post": ([video_line("v1", posts=[{"platform": "pinterest", "post_id": "pin-v1", "posted_at": "2026-07-10T10:00:00Z"}])],
                     lambda v: {"platform": "pinterest", "url": None} in v["posts"]),
    "URL of a post": ([video_line("v1", posts=[{"platform": "tiktok", "url": "https://tiktok.example/1"}])],
                      lambda v: {"platform": "tiktok", "url": "https://tiktok.example/1"} in v["posts"]),
    "an earlier post": ([earlier("v1", "facebook")], lambda v: v["posted_at"] == "2026-07-01T06:00:00.000Z"),
}


@pytest.mark.parametrize("change", FEED_CHANGES)
def test_changed_video_changes_its_events_at_once(fed, change):
    lines, is_shown = FEED_CHANGES[change]
    fed.check(FEED)
    assert not is_shown(feed(fed)[0]["video"])
    fed.cached.import_lines(lines)
    fed.use()
    assert is_shown(feed(fed)[0]["video"])
    fed.check(FEED)


@pytest.mark.parametrize(("views", "kinds"), [(1200, {"video.milestone_reached"}), (10 ** 6, {"video.milestone_reached", "video.went_viral"})])
def test_new_event_is_served_at_once(fed, views, kinds):
    fed.check(FEED)
    before = len(feed(fed))
    fed.cached.import_lines([reading("v0", "2026-07-10T11:00:00Z", views)])     # by another process
    fed.use()
    new = feed(fed)[before:]
    assert {event["type"] for event in new} == kinds and {event["video"]["id"] for event in new} == {uid("v0")}
    fed.check(FEED)


def test_readings_without_an_event_leave_the_feed_cached(fed):
    fed.check(FEED)
    fed.check(["/videos"])
    body = fed.clients[0].get("/events").body
    for hour, views in enumerate((710, 720, 730)):
        fed.cached.import_lines([reading("v0", f"2026-07-10T{hour + 8:02}:00:00Z", views)])
        fed.use()
        fed.clients[0].get("/videos")
        before = hits_and_misses(fed)
        for path in FEED:
            assert fed.clients[0].get(path).status == 200
        assert hits_and_misses(fed) == (before[0] + len(FEED), before[1]), "every response was a hit"
        assert fed.clients[0].get("/events").body == body
        before = hits_and_misses(fed)
        response = fed.clients[0].get(f"/videos/{uid('v0')}").json()
        assert response["data"]["views"] == views and hits_and_misses(fed)[1] == before[1] + 1, "a response with counts is a miss"
    fed.check(FEED)


@pytest.mark.parametrize("seed", range(3))
def test_cached_and_uncached_servers_respond_alike_after_random_changes(pair, seed):
    chance = random.Random(seed)
    for change in range(12):
        what = chance.choice(["reading", "reading", "title", "rename", "move", "picture", "day", "back", "nothing"])
        if what == "reading":
            now = datetime.datetime.fromtimestamp(pair.clock.wall_ms / 1000, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
            pair.cached.import_lines([reading(f"v{chance.randrange(9)}", now, chance.randrange(10 ** chance.randrange(3, 7)))], status=None)
        elif what == "title":
            pair.cached.import_lines([{"type": "video", "id": uid("v1"), "author_id": uid("Ada"), "title": f"change {change}"}])
        elif what == "rename":
            pair.cached.import_lines([{"type": "book", "id": uid("Novel"), "author_id": uid("Ada"), "title": f"Novel {change}"}])
        elif what == "move":
            pair.cached.import_lines([book(f"Book {change}", "Ada", created_at="2026-02-01T00:00:00Z"),
                                     video_line(f"v{chance.randrange(9)}", book_id=chance.choice([uid(f"Book {change}"), uid("Novel"), None]))])
        elif what == "picture":
            pair.cached.import_lines([video_line(f"v{chance.randrange(9)}", thumbnail_url=f"https://cdn.example/{change}.jpg")])
        elif what == "day":
            pair.clock.advance(chance.randrange(1, 3 * DAY))
        elif what == "back":
            pair.clock.advance(-chance.randrange(1, DAY))
        pair.use()
        pair.check(chance.sample(PATHS, 6))
