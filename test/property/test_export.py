"""Exports the authors of random worlds and imports them into an empty database, which must give the same bytes in every response.

VIEWTALLY_SEED=17 replays a world; VIEWTALLY_EXPORT_WORLDS=100 sets the number of worlds.
"""
import os
import random

import pytest

from lib.clock import FakeClock
from lib.viewtally import Viewtally, sanitized
from model import Model
from model.values import DAY, date_text, day_of
from test_model import forget_splits
from property.worlds import World

AUTHORS = 6
WORLDS = int(os.environ.get("VIEWTALLY_EXPORT_WORLDS") or (2 if sanitized() else 4))
REPLAY = os.environ.get("VIEWTALLY_SEED")
GROUPS = ("video", "book", "account", "platform")


def chosen_worlds():
    return [int(REPLAY.partition("/")[0])] if REPLAY else range(WORLDS)


def body(client, path, params=None):
    response = client.get(path, params)
    assert response.status == 200, f"GET {path} {params}: {response}"
    return response.body


class Pair:
    """The same author on two servers."""

    def __init__(self, left, right, writer):
        self.clients, self.writer = (left, right), writer

    def same(self, path, params=None):
        left, right = (body(client, path, params) for client in self.clients)
        assert left == right, f"author {self.writer.name}, GET {path} {params}:\n{left[:2000]}\n{right[:2000]}"
        return left

    def pages(self, path, params, name):
        """Compares all pages. The cursors are equal, too."""
        cursor, number = None, 0
        while number == 0 or cursor:
            number += 1
            self.same(path, {**params, name: cursor} if cursor else params)
            page = self.clients[0].get(path, {**params, name: cursor} if cursor else params).json()
            cursor = page["next_cursor"] if page["has_more"] else None

    def all(self, rng, now):
        self.same("/account")
        self.same("/books")
        self.pages("/videos", {"limit": str(rng.randrange(1, 9))}, "cursor")
        for params in ({"sort": "views"}, {"sort": "views_7d", "include": "total"}, {"viral": "true"}, {"platform": "youtube"}):
            self.pages("/videos", params, "cursor")
        for video in self.clients[0].get("/videos", {"limit": "100"}).json()["data"][:4]:
            self.same(f"/videos/{video['id']}")
        self.pages("/events", {"limit": str(rng.randrange(1, 20))}, "after")
        self.pages("/events", {"order": "desc"}, "before")
        self.same("/events", {"after": "latest"})
        today = day_of(now)
        for group in GROUPS:
            for params in ({}, {"granularity": "week"}, {"granularity": "month"},
                           {"start_date": date_text(today - 89), "end_date": date_text(today)}, {"format": "csv"}):
                self.same("/stats", {"group_by": group, **params})


def disturb(instance, rng, writer):
    """Does what only an operator does: corrects a reading, sometimes removes a video, and revokes a key."""
    posts = [post for post in writer.posts() if post.views > 1]
    if posts:
        post = rng.choice(posts)
        instance.run("reading", "correct", post.platform, post.post_id, rng.randrange(post.views), status=None)
    videos = list(writer.author.videos)
    if videos and rng.random() < 0.3:
        instance.run("video", "remove", rng.choice(videos), status=None)
    instance.run("key", "revoke", instance.run("key", "create", "--author", writer.id, "--name", "old", "--json").json()["id"])


@pytest.mark.parametrize("seed", chosen_worlds())
def test_imported_exports_give_equal_responses(seed, tmp_path):
    world, rng, clock = World(seed, AUTHORS), random.Random(f"export {seed}"), FakeClock(tmp_path / "clock")
    left, right = (Viewtally(tmp_path / name, {"viral": world.viral}, clock) for name in ("left", "right"))
    model = Model(world.rules)
    for now, lines in world.imports():
        clock.set_wall(now)
        model.import_lines(lines, now)
        left.import_lines(lines, status=None)
    left.run("migrate")
    keys = {writer.id: left.create_key(writer.id) for writer in world.authors if writer.id in model.authors}
    for writer in world.authors:
        if writer.id in keys:
            disturb(left, rng, writer)
    if rng.random() < 0.5:
        forget_splits(left, rng)
    clock.set_wall(now + rng.choice([0, 3 * DAY]))
    exports = b"".join(left.run("author", "export", author_id, "-").out.encode() for author_id in keys)
    right.import_lines(exports)
    again = b"".join(right.run("author", "export", author_id, "-").out.encode() for author_id in keys)
    assert again == exports, f"VIEWTALLY_SEED={seed}"
    assert not right.run("events", "verify", "--json").json()["differences"]
    right.run("backup", "sums.db")
    right.run("restore", "--drill", "sums.db")
    with left, right:
        for writer in world.authors:
            if writer.id in keys:
                with left.client(keys[writer.id]) as one, right.client(keys[writer.id]) as other:
                    Pair(one, other, writer).all(random.Random(f"{seed} {writer.name}"), clock.wall_ms)
