"""Entity tags: which responses have one, If-None-Match, HEAD, and that a tag changes exactly when the data change."""
import pathlib
import re
import subprocess

import pytest

from lib import wait
from lib.lines import author, book, reading, uid, video

OWN = {"Date", "X-Request-Id"}      # differ in every response
STRONG = re.compile(r'"[\x21\x23-\x7e]+"')
DATA = [
    author("Ada"), author("Bob"),
    book("Novel", "Ada", subtitle="A story", created_at="2026-01-01T00:00:00Z"),
    book("Essays", "Ada", created_at="2026-02-01T00:00:00Z"),
    video("first", "Ada", "2026-07-01T08:00:00Z", ("youtube", "tiktok"), book_id=uid("Novel")),
    video("second", "Ada", "2026-07-05T08:00:00Z"),
    video("untitled", "Ada", "2026-07-06T08:00:00Z", title=None, book_id=uid("Essays")),
    video("other", "Bob", "2026-07-02T08:00:00Z"),
    reading("first", "2026-07-09T10:00:00Z", 900, likes=4),
    reading("first", "2026-07-09T10:00:00Z", 700, platform="tiktok"),
    reading("first", "2026-07-09T11:00:00Z", 20000),
    reading("second", "2026-07-09T11:00:00Z", 50),
    reading("untitled", "2026-07-08T11:00:00Z", 70),
    reading("other", "2026-07-09T11:00:00Z", 5000),
]
PATHS = ["/account", "/books", "/videos", "/videos?limit=1", "/videos?viral=true", f"/videos/{uid('first')}", "/stats",
         "/stats?group_by=book", "/stats?format=csv", "/stats?format=csv&group_by=book", "/stats?start_date=2026-07-01&end_date=2026-07-09",
         "/events", "/events?after=latest", "/events?order=desc&limit=1", "/openapi.json"]


class World:
    def __init__(self, make_viewtally, clock, config=None):
        self.instance = make_viewtally(config, clock)
        self.clock = clock
        self.instance.import_lines(DATA)
        self.key = self.instance.create_key(uid("Ada"))
        self.instance.start()
        self.client = self.instance.client(self.key)
        self.client.get("/events")
        wait.until(lambda: self.client.get("/account").json()["data"]["key"]["last_used_at"], "the use to be written")

    def get(self, path, headers=None, method="GET"):
        return self.client.request(method, "/v1" + path, headers=headers)

    def etags(self):
        return {path: self.get(path).headers["ETag"] for path in PATHS}

    def changed(self, before):
        """Returns the paths whose tag has changed."""
        return {path for path, etag in self.etags().items() if etag != before[path]}


@pytest.fixture
def world(make_viewtally, clock):
    made = World(make_viewtally, clock)
    yield made
    made.client.close()


def fields(response, without=()):
    return sorted((name, value) for name, value in response.headers.items() if name not in OWN | set(without))


# --- which responses have a tag ---


def test_every_200_has_a_strong_tag(world):
    tags = set()
    for path in PATHS:
        response = world.get(path)
        assert response.status == 200, path
        assert len(response.headers.get_all("ETag")) == 1 and STRONG.fullmatch(response.headers["ETag"]), path
        tags.add(response.headers["ETag"])
    assert len(tags) == len(PATHS)


def test_errors_have_no_tag(world):
    for path in ("/videos?limit=0", "/nowhere", f"/videos/{uid('other')}"):
        response = world.get(path, {"If-None-Match": "*"})
        assert response.status in (400, 404) and "ETag" not in response.headers, path
    response = world.client.request("GET", "/v1/account", headers={"Authorization": "", "If-None-Match": "*"})
    assert response.status == 401 and "ETag" not in response.headers


# --- If-None-Match ---


def test_matching_tag_gives_304(world):
    for path in PATHS:
        full = world.get(path)
        etag = full.headers["ETag"]
        for value in (etag, "W/" + etag, "*", f'"a", {etag}', f'{etag},"b"', f'W/"a" ,\t W/{etag} , "c"', f'"a,b", {etag}', f"  {etag}  "):
            response = world.get(path, {"If-None-Match": value})
            assert (response.status, response.body) == (304, b""), (path, value)
            # The fields of the 200 (RFC 9110, 15.4.5), without those that describe a body.
            assert fields(response) == fields(full, {"Content-Length", "Content-Type", "Content-Disposition"}), (path, value)
    assert world.client.opened == 1


def test_etag_that_does_not_match_gives_200(world):
    for path in PATHS:
        full = world.get(path)
        etag = full.headers["ETag"]
        for value in ('"a"', etag.strip('"'), etag[:-1], '"' + etag + '"', "", etag.replace('"', "'"), '"*"', "W/*", f'"a" {etag}'):
            response = world.get(path, {"If-None-Match": value})
            assert (response.status, response.body) == (200, full.body), (path, value)


def test_if_none_match_may_span_several_lines(world):
    etag = world.get("/books").headers["ETag"]
    lines = f'If-None-Match: "a"\r\nIf-None-Match: {etag}\r\nIf-None-Match: "b"\r\n'
    raw = world.instance.exchange(f"GET /v1/books HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {world.key}\r\n{lines}"
                                  "Connection: close\r\n\r\n".encode())
    assert raw.startswith(b"HTTP/1.1 304 ")


# --- HEAD ---


def test_head_response_equals_the_get_response_without_its_body(world):
    for path in PATHS + ["/videos?limit=0", "/nowhere", f"/videos/{uid('other')}"]:
        got, head = world.get(path), world.get(path, method="HEAD")
        assert head.status == got.status and head.body == b"" and got.body, path
        assert fields(head) == fields(got), path
        if got.status == 200:
            assert world.get(path, {"If-None-Match": got.headers["ETag"]}, method="HEAD").status == 304, path
    assert world.client.opened == 1


def test_no_byte_of_a_body_follows_head_and_304(world):
    etag = world.get("/videos").headers["ETag"]
    common = f"Host: a\r\nAuthorization: Bearer {world.key}\r\n"
    raw = world.instance.exchange((f"HEAD /v1/videos HTTP/1.1\r\n{common}\r\n"
                                   f"GET /v1/videos HTTP/1.1\r\n{common}If-None-Match: {etag}\r\n\r\n"
                                   f"HEAD /v1/stats HTTP/1.1\r\n{common}Connection: close\r\n\r\n").encode())
    assert re.fullmatch(rb"HTTP/1\.1 200 OK\r\n(?:[^\r]+\r\n)+\r\nHTTP/1\.1 304 Not Modified\r\n(?:[^\r]+\r\n)+\r\n"
                        rb"HTTP/1\.1 200 OK\r\n(?:[^\r]+\r\n)+\r\n", raw)


# --- the same data, the same bytes ---


def test_same_data_give_the_same_bytes_across_connections_and_restarts(world):
    bodies = {path: world.get(path).body for path in PATHS}
    etags = world.etags()
    for round_ in range(2):
        with world.instance.client(world.key) as client:
            for path in PATHS:
                response = client.request("GET", "/v1" + path)
                assert (response.body, response.headers["ETag"]) == (bodies[path], etags[path]), path
        if round_ == 0:
            world.instance.stop()
            world.instance.start()


def with_other_version(binary, directory):
    """Copies the program and changes only the version in it. Returns the path of the copy."""
    version = subprocess.run([binary, "--version"], capture_output=True, check=True).stdout.split()[1]
    other = b"9" + version[1:]
    copy = directory / "other-version"
    copy.write_bytes(pathlib.Path(binary).read_bytes().replace(version + b"\0", other + b"\0"))
    copy.chmod(0o755)
    assert subprocess.run([copy, "--version"], capture_output=True, check=True).stdout.split()[1] == other
    return str(copy)


def test_tags_that_are_not_hashes_of_the_body_change_with_the_version(world, tmp_path):
    """Another version may write the same data in another form, so it must not send a 304 for the old form."""
    before = world.etags()
    world.client.close()
    world.instance.stop()
    world.instance.binary = with_other_version(world.instance.binary, tmp_path)
    world.instance.start()
    world.client = world.instance.client(world.key)
    for path in PATHS:
        response = world.get(path, {"If-None-Match": before[path]})
        assert response.status == (200 if path in MAY else 304), path
    assert world.changed(before) == MAY


def test_unchanged_data_keep_their_tags(world):
    before = world.etags()
    world.instance.import_lines(DATA[:8])                              # authors, books, videos again
    assert world.changed(before) == set()
    world.instance.import_lines([line for line in DATA if line["type"] == "reading"][2:])   # the last readings again
    assert world.changed(before) == set()
    world.instance.import_lines([reading("first", "2026-07-09T10:30:00Z", 99999)])   # older than the last one
    assert world.changed(before) == set()
    world.instance.import_lines([author("Bob", name="Robert"), video("other", "Bob", title="Another"),
                                 reading("other", "2026-07-10T11:00:00Z", 900000), author("Cyd"), book("Poems", "Cyd")])
    world.instance.create_key(uid("Ada"), "second")
    assert world.changed(before) == set()


# --- which change affects which responses ---

ALL_VIDEOS = {"/videos", "/videos?viral=true", f"/videos/{uid('first')}"}
STATS = {path for path in PATHS if path.startswith("/stats")}
FEED = {"/events", "/events?order=desc&limit=1"}
MAY = STATS | {"/books"}    # their tag depends on the revision of the author's data, so it may change although the body does not


@pytest.mark.parametrize("lines, affected", [
    ([video("first", "Ada", title="New title")], ALL_VIDEOS | FEED | STATS - {p for p in STATS if "group_by=book" in p}),
    ([book("Novel", "Ada", title="New title")], ALL_VIDEOS | FEED | STATS | {"/books"}),
    ([book("Novel", "Ada", subtitle="")], {"/books"}),
    ([author("Ada", name="Ada L.")], {"/books", "/account"}),
    ([book("Third", "Ada")], {"/books", "/account"}),
    ([video("first", "Ada", book_id=None)], ALL_VIDEOS | FEED | STATS | {"/books"}),
    ([video("first", "Ada", thumbnail_url="https://a.example/t.png")], ALL_VIDEOS | FEED),
    ([reading("first", "2026-07-09T12:00:00Z", 20001)], ALL_VIDEOS | STATS | {"/account"}),
    ([reading("first", "2026-07-09T12:00:00Z", likes=5)], ALL_VIDEOS | {"/account"}),
    ([reading("first", "2026-07-09T12:00:00Z", 60000)], ALL_VIDEOS | STATS | FEED | {"/account", "/events?after=latest"}),
    ([video("third", "Ada", "2026-07-10T08:00:00Z")], {"/videos", "/videos?limit=1", "/account"}),
], ids=["video title", "book title", "subtitle", "author name", "new book", "video leaves book", "thumbnail", "one view", "a like",
        "milestone", "new video"])
def test_import_changes_the_tags_of_affected_responses(world, lines, affected):
    before, bodies = world.etags(), {path: world.get(path).body for path in PATHS}
    world.instance.import_lines(lines)
    changed = world.changed(before)
    assert changed - MAY == affected - MAY and affected <= changed
    for path in PATHS:
        same = world.get(path).body == bodies[path]
        assert same or path in changed, path
        response = world.get(path, {"If-None-Match": before[path]})
        assert response.status == (200 if path in changed else 304), path
    assert world.client.opened == 1


def test_etag_of_a_video_changes_when_its_views_become_final(world):
    path = f"/videos/{uid('first')}"
    before = world.get(path)
    world.clock.set_wall("2026-07-31T08:00:00Z")                        # posted_at + 30 days
    response = world.get(path, {"If-None-Match": before.headers["ETag"]})
    assert response.status == 304 and not before.json()["data"]["views_final"]
    world.clock.advance(1)
    response = world.get(path, {"If-None-Match": before.headers["ETag"]})
    assert response.status == 200 and response.json()["data"]["views_final"] is True
    listed = {item["id"]: item["views_final"] for item in world.get("/videos").json()["data"]}
    assert listed == {uid("first"): True, uid("second"): False, uid("untitled"): False}


@pytest.mark.parametrize("query", ["", "?group_by=book", "?format=csv", "?start_date=2026-07-09"])
def test_etag_of_stats_changes_at_midnight_utc(world, query):
    path = "/stats" + query
    etag = world.get(path).headers["ETag"]
    world.clock.set_wall("2026-07-10T23:59:59.999Z")
    assert world.get(path, {"If-None-Match": etag}).status == 304
    world.clock.advance(1)
    response = world.get(path, {"If-None-Match": etag})
    assert response.status == 200 and response.headers["ETag"] != etag
    assert b"2026-07-11" in response.body


def test_vary_names_the_fields_that_a_response_depends_on(make_viewtally, clock):
    """A cache must not serve one origin's response to another, or CSV instead of JSON. Applies to 200, 304 and HEAD."""
    world = World(make_viewtally, clock, {"server": {"cors_origins": "https://a.example"}})
    for path in PATHS:
        expected = {"authorization", "origin"} | ({"accept"} if path.startswith("/stats") else set())
        etag = world.get(path).headers["ETag"]
        for response in (world.get(path), world.get(path, method="HEAD"), world.get(path, {"If-None-Match": etag})):
            named = {name.strip().lower() for line in response.headers.get_all("Vary") for name in line.split(",")}
            assert named >= expected, (path, response.status)
    world.client.close()
