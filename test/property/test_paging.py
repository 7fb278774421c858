"""Reading all pages of /videos neither repeats nor loses a video while videos are added."""
import os
import random
import uuid

import pytest

from lib.clock import FakeClock
from lib.viewtally import Viewtally, encode_lines
from model import iso, ms
from model.values import DAY, date_text, day_of

NOW = ms("2026-07-10T12:00:00Z")
SEEDS = [int(os.environ["VIEWTALLY_SEED"])] if "VIEWTALLY_SEED" in os.environ else range(12)
INITIAL_VIDEOS = 60


class Library:
    """An author whose videos are added in small groups, often with equal posted_at."""

    def __init__(self, rng):
        self.rng = rng
        self.author_id = self.uuid()
        self.book_id = self.uuid()
        self.videos = {}            # id -> (posted_at, has_book)
        self.times = [NOW - rng.randrange(20 * DAY) for _ in range(15)]

    def uuid(self):
        return str(uuid.UUID(int=self.rng.getrandbits(128), version=4))

    def first_lines(self):
        return [{"type": "author", "id": self.author_id, "name": "A"},
                {"type": "book", "id": self.book_id, "author_id": self.author_id, "title": "B"}] + self.add(INITIAL_VIDEOS)

    def add(self, count):
        return [self.video_line() for _ in range(count)]

    def video_line(self):
        rng, video_id = self.rng, self.uuid()
        posted_at = rng.choice(self.times + [NOW, NOW - rng.randrange(20 * DAY)])
        has_book = rng.random() < 0.5
        self.videos[video_id] = (posted_at, has_book)
        return {"type": "video", "id": video_id, "author_id": self.author_id, "book_id": self.book_id if has_book else None,
                "posts": [{"platform": "tiktok", "post_id": video_id, "posted_at": iso(posted_at)}]}

    def filter(self):
        """Returns random parameters and a predicate for the videos that they select."""
        rng = self.rng
        start, end = sorted(day_of(rng.choice(self.times)) for _ in range(2))
        return rng.choice([
            ({}, lambda posted_at, has_book: True),
            ({"viral": "false"}, lambda posted_at, has_book: True),
            ({"book_id": self.book_id}, lambda posted_at, has_book: has_book),
            ({"start_date": date_text(start), "end_date": date_text(end)},
             lambda posted_at, has_book: start <= day_of(posted_at) <= end)])

    def matching(self, matches):
        return {video_id for video_id, properties in self.videos.items() if matches(*properties)}


def read_all_pages(client, params, rng, between_pages=lambda: None):
    """Reads all pages, with a random size for each. Returns (posted_at, id) of their videos."""
    seen, cursor = [], None
    while True:
        page = client.get("/videos", {**params, "limit": rng.choice([1, 2, 5, 9, 40]), "cursor": cursor})
        assert page.status == 200, page
        page = page.json()
        seen += [(video["posted_at"], video["id"]) for video in page["data"]]
        if not page["has_more"]:
            assert page["next_cursor"] is None
            return seen
        assert page["data"], "an empty page has has_more"
        cursor = page["next_cursor"]
        between_pages()


def check_partition(seen, before, after):
    assert seen == sorted(seen, reverse=True), "the order is not newest first"
    ids = [video_id for _, video_id in seen]
    assert len(ids) == len(set(ids)), "a video is repeated"
    assert before <= set(ids), f"lost videos: {before - set(ids)}"
    assert set(ids) <= after, f"videos that were never added: {set(ids) - after}"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    directory = tmp_path_factory.mktemp("paging")
    instance = Viewtally(directory / "viewtally", clock=FakeClock(directory / "clock", NOW))
    instance.run("migrate")
    with instance:
        yield instance


@pytest.mark.parametrize("seed", SEEDS)
def test_videos_added_between_two_pages_do_not_repeat_or_hide_others(server, seed):
    rng = random.Random(f"paging {seed}")
    library = Library(rng)
    server.import_lines(library.first_lines())

    def add_some():
        if rng.random() < 0.25:
            server.import_lines(library.add(rng.randrange(1, 6)))

    with server.client(server.create_key(library.author_id)) as client:
        for _ in range(4):
            params, matches = library.filter()
            before = library.matching(matches)
            seen = read_all_pages(client, params, rng, add_some)
            check_partition(seen, before, library.matching(matches))
        all_videos = read_all_pages(client, {}, rng)
        assert {video_id for _, video_id in all_videos} == set(library.videos)


def test_videos_imported_while_pages_are_read_do_not_repeat_or_hide_others(server):
    """Pages are read during an import of 3,000 videos."""
    rng = random.Random("paging at once")
    library = Library(rng)
    server.import_lines(library.first_lines())
    before = set(library.videos)
    lines = encode_lines(library.add(3000))
    (server.directory / "many.ndjson").write_bytes(lines)
    with server.client(server.create_key(library.author_id)) as client:
        importer = server.background("import", "many.ndjson")
        try:
            passes = 0
            while importer.poll() is None or passes < 2:
                check_partition(read_all_pages(client, {}, rng), before, set(library.videos))
                passes += 1
        finally:
            status = importer.wait(timeout=300)
        assert status == 0, importer.output.read_text()
        assert {video_id for _, video_id in read_all_pages(client, {}, rng)} == set(library.videos)


def test_cursor_is_bound_to_its_filters(server):
    library = Library(random.Random("cursor"))
    server.import_lines(library.first_lines())
    other = Library(random.Random("other cursor"))
    server.import_lines(other.first_lines())
    with server.client(server.create_key(library.author_id)) as client:
        cursor = client.get("/videos", {"limit": 1}).json()["next_cursor"]
        assert client.get("/videos", {"limit": 2, "cursor": cursor}).status == 200
        for params in ({"viral": "false"}, {"book_id": library.book_id}, {"start_date": "2026-01-01"},
                       {"end_date": "2026-12-31"}):
            assert is_rejected_cursor(client.get("/videos", {**params, "cursor": cursor}))
        for broken in (cursor[:-1], cursor + "A", "x", "%", cursor.swapcase()):
            assert is_rejected_cursor(client.get("/videos", {"cursor": broken}))
    with server.client(server.create_key(other.author_id)) as client:
        assert is_rejected_cursor(client.get("/videos", {"limit": 1, "cursor": cursor}))


def is_rejected_cursor(response):
    error = response.json().get("error", {})
    return response.status == 400 and error["code"] == "invalid_parameter" and "cursor" in error["message"]
