"""The data of the soak: authors whose videos grow, the spool files, and the model with the same readings."""
import random
import sys
import pathlib
import time
import uuid

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / name) for name in ("", "property")]

from lib.spool import Spool     # noqa: E402
from model import Model, iso    # noqa: E402
from model.values import DAY, HOUR     # noqa: E402

AUTHORS, VIDEOS, BOOKS = 12, 40, 4


def now_ms():
    return int(time.time() * 1000)


class SoakWorld:
    """`lines()` is the first import; `drop()` adds a file of readings to the spool and applies it to `model`."""

    def __init__(self, directory, seed=1):
        self.rng = random.Random(f"soak {seed}")
        self.spool = Spool(directory / "spool")
        self.model = Model()
        self.begin = now_ms()
        self.authors = [self.uuid() for _ in range(AUTHORS)]
        self.views = {}
        self.files = 0
        self.last_instant = self.begin - 2 * HOUR

    def uuid(self):
        return str(uuid.UUID(int=self.rng.getrandbits(128), version=4))

    def lines(self):
        lines = [{"type": "author", "id": author_id, "name": f"Author {number}"} for number, author_id in enumerate(self.authors)]
        for author_id in self.authors:
            books = [self.uuid() for _ in range(BOOKS)]
            for book_id in books:
                lines.append({"type": "book", "id": book_id, "author_id": author_id, "title": f"Book {book_id[:4]}",
                              "created_at": iso(self.begin - 90 * DAY)})
            for _ in range(VIDEOS):
                lines += self.video(author_id, self.rng.choice(books + [None]))
        refused = self.model.import_lines(lines, self.begin)
        assert not refused, refused[:3]
        return lines

    def video(self, author_id, book_id):
        """A video whose 30 days do not end during the run, with a week of daily readings."""
        video_id, posted_at = self.uuid(), self.begin - self.rng.randrange(8 * DAY, 28 * DAY)
        yield {"type": "video", "id": video_id, "author_id": author_id, "book_id": book_id, "title": f"Video {video_id[:8]}",
               "posts": [{"platform": "youtube", "post_id": video_id, "posted_at": iso(posted_at)}]}
        views = self.rng.randrange(500)
        for day in range(7, 0, -1):
            views += self.rng.randrange(2000)
            yield {"type": "reading", "platform": "youtube", "post_id": video_id, "observed_at": iso(self.begin - day * DAY),
                   "views": views}
        self.views[video_id] = views

    def drop(self):
        """Readings of every video at a few times since the last file."""
        self.files += 1
        lines = []
        until = now_ms() - 1000
        for part in (1, 2, 3):
            instant = self.last_instant + (until - self.last_instant) * part // 3
            for video_id in self.views:
                if self.rng.random() < 0.8:
                    self.views[video_id] = int(self.views[video_id] * self.rng.choice([1, 1, 1.05, 1.3])) + self.rng.randrange(50)
                    lines.append({"type": "reading", "platform": "youtube", "post_id": video_id, "observed_at": iso(instant),
                                  "views": self.views[video_id]})
        self.last_instant = until
        refused = self.model.import_lines(lines, now_ms())
        assert not refused, refused[:3]
        self.spool.drop(f"{self.files:05d}.ndjson", lines)
