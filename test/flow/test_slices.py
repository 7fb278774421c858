"""Responses that take several time slices are complete, show one snapshot of the data, and do not block other requests."""
import csv
import datetime
import io
import json
import random
import re
import select
import socket
import threading

import pytest

from lib.clock import DEFAULT_NOW
from lib import lines
from lib.client import receive_all
from lib.clock import FakeClock
from lib.pages import session_cookie
from lib.viewtally import Viewtally, sanitized

FROM, TO = datetime.date(2026, 4, 12), datetime.date(2026, 7, 10)       # 90 dates, inclusive
RANGE = {"start_date": str(FROM), "end_date": str(TO)}
BOOKS = 200                     # of the author `big`
MANY = 3_000 if sanitized() else 10_000
READERS = 10


def day(number):
    return FROM + datetime.timedelta(days=number)


def at(number, seconds):
    return f"{day(number)}T{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.000Z"


class ExpectedStats:
    """The imported data, and the expected /stats computed from it."""

    def __init__(self):
        rng = random.Random("slices")
        self.lines = [lines.author("big"), lines.author("small"), lines.author("shelf")]
        self.lines += [lines.book(f"book {n}", "big", created_at=at(0, n)) for n in range(BOOKS)]
        self.rows = []          # (posted_at, id, title, book or None, [(date, views, views_total)])
        self.views = {}         # final views of every video
        for n in range(MANY):
            self._add_video(rng, n)
        self.rows.sort(key=lambda row: row[:2], reverse=True)
        self.lines += [lines.video("little", "small", at(80, 0)), lines.reading("little", at(81, 0), 7)]
        shelved = [lines.book(f"shelved {n}", "shelf", created_at=at(n % 80, n), subtitle=f"{n} ".ljust(1900, "s"))
                   for n in range(MANY)]
        self.shelf = sorted(shelved, key=lambda book: (book["created_at"], book["id"]), reverse=True)
        self.lines += shelved

    def _add_video(self, rng, n):
        name, posted = f"video {n}", n % 85             # many videos have the same posted_at and are ordered by id
        book = f"book {rng.randrange(BOOKS)}" if n % 7 else None
        video = lines.video(name, "big", at(posted, n // 85 % 4), book_id=book and lines.uid(book))
        self.lines.append(video)
        views, gains = rng.randrange(500), {}
        total = base = views
        self.lines.append(lines.reading(name, at(posted + 1, 36_000), views, baseline=True))
        for later in (2, 3, 9) if n % 11 else ():       # every eleventh video has no gain
            if posted + later < 90:
                gain = rng.randrange(1, 400)
                total += gain
                gains[posted + later] = gain
                self.lines.append(lines.reading(name, at(posted + later, 36_000), total))
        self.views[video["id"]] = total
        if not gains:
            return
        days, running = [], base
        for number in range(posted + 1, min(posted + 30, 89) + 1):
            running += gains.get(number, 0)
            days.append((str(day(number)), gains.get(number, 0), running))
        self.rows.append((at(posted, n // 85 % 4), video["id"], name, video["book_id"], days))

    def by_book(self):
        """Returns {book id: {date: sum of views}} of the rows with a book."""
        books = {}
        for _, _, _, book, days in self.rows:
            if book:
                sums = books.setdefault(book, {})
                for date, views, _ in days:
                    sums[date] = sums.get(date, 0) + views
        return books


class World:
    def __init__(self, directory):
        self.plan = ExpectedStats()
        self.instance = Viewtally(directory / "viewtally", {}, FakeClock(directory / "clock", DEFAULT_NOW))
        self.instance.import_lines(self.plan.lines)
        self.keys = {name: self.instance.create_key(lines.uid(name)) for name in ("big", "small", "shelf")}
        # AddressSanitizer keeps freed memory in quarantine, which would dominate VmRSS.
        self.instance.start({"ASAN_OPTIONS": "detect_leaks=1:abort_on_error=0:quarantine_size_mb=4"})

    def get(self, path, author="big", headers=None, method="GET", **params):
        query = "&".join(f"{name}={value}" for name, value in params.items())
        with self.instance.client(self.keys[author], timeout=120) as client:
            return client.request(method, f"/v1{path}?{query}", headers=headers)

    def stats(self, **options):
        return self.get("/stats", **{**RANGE, **options})

    def open_slowly(self, target, author="big", version="1.1"):
        """Sends a request on a connection with a small receive buffer. Returns the socket and the first bytes of the response."""
        host, _, port = self.instance.address.rpartition(":")
        sock = socket.socket()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        sock.settimeout(120)
        sock.connect((host, int(port)))
        sock.sendall(f"GET {target} HTTP/{version}\r\nHost: a\r\nAuthorization: Bearer {self.keys[author]}\r\n"
                     "Connection: close\r\n\r\n".encode())
        return sock, sock.recv(100)

    def rss_kb(self):
        with open(f"/proc/{self.instance.pid}/status", encoding="ascii") as file:
            return int(re.search(r"VmRSS:\s+(\d+) kB", file.read()).group(1))


STATS = "/v1/stats?" + "&".join(f"{name}={value}" for name, value in RANGE.items())


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    made = World(tmp_path_factory.mktemp("slices"))
    yield made
    made.instance.stop()


def split_response(data):
    """Returns head, decoded body, and whether the body is complete (None if it is not chunked)."""
    head, _, rest = data.partition(b"\r\n\r\n")
    if b"Transfer-Encoding: chunked" not in head:
        return head.decode(), rest, None
    parts, position = [], 0
    while (line_end := rest.find(b"\r\n", position)) >= 0:
        size = int(rest[position:line_end], 16)
        if size == 0:
            return head.decode(), b"".join(parts), rest[line_end:] == b"\r\n\r\n"
        parts.append(rest[line_end + 2:line_end + 2 + size])
        position = line_end + 2 + size + 2
    return head.decode(), b"".join(parts), False


def assert_rows(world, rows):
    """Asserts that the rows of a JSON response equal the expected ones, including their order."""
    seen = [(row["video"]["posted_at"], row["video"]["id"], row["video"]["title"],
             row["video"]["book"] and row["video"]["book"]["id"],
             [(entry["date"], entry["views"], entry["views_total"]) for entry in row["days"]]) for row in rows]
    assert len(seen) == len(world.plan.rows)
    assert all(found == expected_row for found, expected_row in zip(seen, world.plan.rows))


# --- complete responses ---


def test_long_json_response_has_every_video(world):
    response = world.stats()
    assert response.status == 200 and response.headers["Transfer-Encoding"] == "chunked"
    assert "Content-Length" not in response.headers
    page = response.json()
    assert_rows(world, page["data"])
    assert len(response.body) > 1_000_000 and (page["start_date"], page["end_date"]) == (str(FROM), str(TO))
    for row in page["data"]:       # the total is the baseline plus all gains
        assert row["days"][-1]["views_total"] == world.plan.views[row["video"]["id"]]


def test_long_csv_response_has_every_video(world):
    response = world.stats(format="csv")
    assert response.status == 200 and response.headers["Transfer-Encoding"] == "chunked"
    rows = list(csv.DictReader(io.StringIO(response.body.decode(), newline="")))
    expected = [(date, video, book or "", str(views), str(total))
                for _, video, _, book, days in world.plan.rows for date, views, total in days]
    seen = [(row["date"], row["video_id"], row["book_id"], row["views"], row["views_total"]) for row in rows]
    assert len(seen) == len(expected) and all(found == expected_row for found, expected_row in zip(seen, expected))


@pytest.mark.parametrize("form", ["json", "csv"])
def test_book_rows_are_the_sums_of_their_videos(world, form):
    response = world.stats(group_by="book", format=form)
    assert response.status == 200 and response.headers["Transfer-Encoding"] == "chunked"
    if form == "json":
        seen = {row["book"]["id"]: {entry["date"]: entry["views"] for entry in row["days"]} for row in response.json()["data"]}
    else:
        seen = {}
        for row in csv.DictReader(io.StringIO(response.body.decode(), newline="")):
            seen.setdefault(row["book_id"], {})[row["date"]] = int(row["views"])
    assert seen == world.plan.by_book()
    assert list(seen) == [lines.uid(f"book {n}") for n in reversed(range(BOOKS)) if lines.uid(f"book {n}") in seen]


def test_long_response_has_every_book(world):
    response = world.get("/books", "shelf")
    assert response.status == 200 and response.headers["Transfer-Encoding"] == "chunked"
    seen = [(book["id"], book["title"], book["subtitle"], book["created_at"]) for book in response.json()["data"]]
    assert seen == [(book["id"], book["title"], book["subtitle"], book["created_at"]) for book in world.plan.shelf]


# --- HTTP ---


@pytest.mark.parametrize("path, author, params", [("/stats", "big", RANGE), ("/stats", "big", {**RANGE, "format": "csv"}),
                                                  ("/stats", "big", {**RANGE, "group_by": "book"}), ("/books", "shelf", {})])
def test_head_response_has_the_entity_tag(world, path, author, params):
    whole = world.get(path, author, **params)
    etag = whole.headers["ETag"]
    assert re.fullmatch(r'"[^"]+"', etag)
    head = world.get(path, author, method="HEAD", **params)
    assert (head.status, head.body, head.headers["ETag"]) == (200, b"", etag)
    assert head.headers["Content-Type"] == whole.headers["Content-Type"]
    same = world.get(path, author, {"If-None-Match": etag}, **params)
    assert (same.status, same.body, same.headers["ETag"]) == (304, b"", etag)
    assert world.get(path, author, {"If-None-Match": '"other"'}, **params).body == whole.body


def test_head_request_keeps_the_connection_open(world):
    with world.instance.client(world.keys["big"], timeout=120) as client:
        for _ in range(3):
            assert client.request("HEAD", STATS).status == 200
            assert client.get("/account").json()["success"] is True
        assert client.opened == 1


def test_long_http_1_0_response_ends_by_closing_the_connection(world):
    sock, first = world.open_slowly(STATS, version="1.0")
    with sock:
        head, body, ended = split_response(first + receive_all(sock))
    assert " 200 " in head and "chunked" not in head.lower() and ended is None
    assert_rows(world, json.loads(body)["data"])


# --- other requests at the same time ---


def test_slow_readers_do_not_block_others_and_need_little_memory(world):
    body = len(world.stats().body)
    before = most = world.rss_kb()
    readers = [world.open_slowly(STATS)[0] for _ in range(READERS)]
    stop = threading.Event()

    def read_at_full_speed():
        while not stop.is_set():
            sock, _ = world.open_slowly(STATS)
            with sock:
                while not stop.is_set() and sock.recv(65536):
                    pass

    fast = threading.Thread(target=read_at_full_speed, daemon=True)
    fast.start()
    try:
        with world.instance.client(world.keys["small"]) as client:
            for _ in range(60):
                for sock in readers:
                    assert sock.recv(2048)
                response = client.get("/stats")       # served between the time slices of the long responses
                assert response.status == 200 and len(response.body) < 2000
                most = max(most, world.rss_kb())
            assert client.opened == 1
    finally:
        stop.set()
        fast.join(60)
        for sock in readers:
            sock.close()
    bound_kb = (READERS + 1) * 1536
    assert most - before < bound_kb, (before, most)
    assert READERS * body // 1024 > 3 * bound_kb        # the bound excludes buffering of whole responses
    assert world.get("/account").status == 200


def read_dashboard(world, cookie):
    with world.instance.client(timeout=120) as client:
        response = client.request("GET", "/dashboard", headers={"Cookie": f"viewtally-session={cookie}"})
    assert response.status == 200
    return response.body.decode()


def requests_served_before(world, cookie):
    """Counts the small requests that are served, in sequence, between the request for a dashboard and its response."""
    host, _, port = world.instance.address.rpartition(":")
    big, small = (socket.create_connection((host, int(port)), 120) for _ in range(2))
    request = f"GET /v1/account HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {world.keys['small']}\r\n\r\n".encode()
    with big, small:
        big.sendall(f"GET /dashboard HTTP/1.1\r\nHost: a\r\nCookie: viewtally-session={cookie}\r\n\r\n".encode())
        for count in range(1000):
            small.sendall(request)
            ready, _, _ = select.select([big, small], [], [], 120)
            if big in ready:
                assert big.recv(12) == b"HTTP/1.1 200"
                return count
            assert small.recv(65536).startswith(b"HTTP/1.1 200")
    return 1000


def test_dashboard_does_not_block_other_requests(world):
    """The sums over all videos are computed in time slices, once per revision of the data."""
    cookie, most = session_cookie(world.instance, lines.uid("big")), 0
    for n in range(10):
        world.instance.import_lines([lines.author("big", plan_active=bool(n % 2))])
        most = max(most, requests_served_before(world, cookie))
        if most >= 4:
            break
    # Without time slices the number is 1: only the request that was queued together with the one for the dashboard.
    assert most >= 4
    body = read_dashboard(world, cookie)
    world.instance.import_lines([lines.author("big", plan_active=True)])
    month = {str(TO - datetime.timedelta(days=back)) for back in range(30)}
    totals = [int(value.replace(",", "")) for value in re.findall(r'<dd class="big">.*?class="sr">([\d,]+)<', body)]
    assert totals[0] == sum(world.plan.views.values())
    assert totals[1] == sum(views for *_, days in world.plan.rows for date, views, _ in days if date in month)


# --- changes of the data during a response ---


def import_during_response(world, target, author, change):
    """Imports `change` during a response. Returns the response before the change, the body that the client received, and whether it is complete."""
    before = world.get(target.removeprefix("/v1"), author) if "?" not in target else world.stats(**dict(
        pair.split("=") for pair in target.split("?")[1].split("&")))
    sock, first = world.open_slowly(target, author)
    with sock:
        world.instance.import_lines(change)
        head, body, ended = split_response(first + receive_all(sock))
    assert " 200 " in head and before.headers["ETag"] in head
    return before, body, ended


def assert_cut_off(before, body, ended):
    assert ended is False and len(body) < len(before.body)
    assert before.body.startswith(body)


@pytest.mark.parametrize("form", ["json", "csv"])
def test_title_change_during_a_response_cuts_it_off(world, form):
    """The changed video is the last one and not sent yet: the response is cut off, and all its bytes show the old
    revision."""
    _, _, title, _, _ = world.plan.rows[-1]
    target = f"{STATS}&format={form}"
    change = lines.video(title, "big", title="Changed")
    change.pop("posts")
    before, body, ended = import_during_response(world, target, "big", [change])
    assert_cut_off(before, body, ended)
    after = world.stats(format=form)
    assert after.headers["ETag"] != before.headers["ETag"] and b"Changed" in after.body and b"Changed" not in before.body
    world.instance.import_lines([{**change, "title": title}])
    assert world.stats(format=form).body == before.body


def test_new_reading_during_a_response_cuts_it_off(world):
    _, video, title, _, days = world.plan.rows[0]
    before, body, ended = import_during_response(world, STATS, "big", [
        lines.reading(title, "2026-07-10T11:30:00Z", days[-1][2] + 5)])
    assert_cut_off(before, body, ended)
    after = world.stats()
    assert after.headers["ETag"] != before.headers["ETag"]
    row = after.json()["data"][0]
    assert row["video"] == before.json()["data"][0]["video"] and row["video"]["id"] == video
    assert row["days"][-1]["views_total"] == days[-1][2] + 5
    # Later tests expect the new reading.
    date, gained, total = days[-1]
    days[-1] = (date, gained + 5, total + 5)
    world.plan.views[video] = total + 5


def test_change_of_another_author_does_not_cut_off_a_response(world):
    before, body, ended = import_during_response(world, STATS, "big", [lines.reading("little", "2026-07-10T11:30:00Z", 70)])
    assert ended is True and body == before.body


def test_book_change_during_a_response_cuts_it_off(world):
    last = world.plan.shelf[-1]
    before, body, ended = import_during_response(world, "/v1/books", "shelf", [{**last, "title": "Changed"}])
    assert_cut_off(before, body, ended)
    after = world.get("/books", "shelf")
    assert after.headers["ETag"] != before.headers["ETag"] and b"Changed" in after.body
    world.instance.import_lines([last])
    assert world.get("/books", "shelf").body == before.body
