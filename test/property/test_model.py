"""Imports random data and compares every response of the server with the model, field by field.

A failure names the author as `world/number`. VIEWTALLY_SEED=17/3 replays that author, VIEWTALLY_SEED=17 the whole world;
VIEWTALLY_WORLDS=200 sets the number of worlds.
"""
import collections
import os
import random
import re
import uuid

import pytest

from property.compare import Comparison
from lib import packed_days
from lib.clock import FakeClock
from lib.viewtally import Viewtally, encode_lines, sanitized
from model import Model, Responses, iso, ms, steps
from model.values import DAY, HOUR, LIFE
from property.worlds import World

AUTHORS = 12
WORLDS = int(os.environ.get("VIEWTALLY_WORLDS") or (8 if sanitized() else 25))
REPLAY = os.environ.get("VIEWTALLY_SEED")
READING_REASON = re.compile(r"unknown post|observed_at is (more|before|after) .*|"
                            r"(views|likes|comments|shares|saves) is (negative|not an integer|too large)")
REPORT = re.compile(r"^(?P<file>[^\s:]+):(?P<line>\d+): (?P<reason>.+)$", re.MULTILINE)


def chosen_worlds():
    if REPLAY:
        seed, _, number = REPLAY.partition("/")
        return [(int(seed), int(number) if number else None)]
    return [(seed, None) for seed in range(WORLDS)]


def check_rejections(rejected, finished, names):
    """Compares the reported with the expected rejected lines. `names`: (file, number) of each line."""
    expected = {names[number - 1]: reason for number, reason in rejected}
    reported = {(found["file"], int(found["line"])): found["reason"] for found in REPORT.finditer(finished.err)}
    missing = {line_name: reason for line_name, reason in expected.items() if line_name not in reported}
    extra = {line_name: reason for line_name, reason in reported.items() if line_name not in expected}
    assert not missing and not extra, f"not reported: {missing}; reported: {extra}"
    for line_name, reason in expected.items():
        if READING_REASON.fullmatch(reason):
            assert reported[line_name] == reason, f"{line_name}: {reason!r} expected, {reported[line_name]!r} reported"


def run_import(instance, rng, lines):
    """Imports through standard input or as two files. Returns (result of the command, (file, number) of each line)."""
    status = None
    if rng.random() < 0.7:
        return instance.run("import", "-", stdin=encode_lines(lines), status=status), \
            [("-", number) for number in range(1, len(lines) + 1)]
    middle = rng.randrange(len(lines) + 1)
    names = []
    for name, part in (("one.ndjson", lines[:middle]), ("two.ndjson", lines[middle:])):
        (instance.directory / name).write_bytes(encode_lines(part))
        names += [(name, number) for number in range(1, len(part) + 1)]
    return instance.run("import", "one.ndjson", "two.ndjson", status=status), names


def forget_splits(instance, rng):
    """Imitates an older program, which does not split gains by platform, for random rows."""
    with instance.write_transaction() as execute:
        for author, day, platform, gained in execute("SELECT author_id, day, platform, gained FROM author_daily ORDER BY 1, 2, 3"):
            if rng.random() < 0.4:
                execute("UPDATE author_daily SET gained = ? WHERE author_id = ? AND day = ? AND platform = ?",
                        rng.choice([0, gained // 2]), author, day, platform)
            elif rng.random() < 0.4:
                execute("DELETE FROM author_daily WHERE author_id = ? AND day = ? AND platform = ?", author, day, platform)
        execute("UPDATE authors SET rev = rev + 1")


def check_sums_without_splits(world, instance, model, now, keys, rng):
    """Gains that are not split are in the row without a platform, so no sum changes."""
    forget_splits(instance, rng)
    for writer in world.authors:
        with instance.client(keys[writer.id]) as client:
            comparison = Comparison(client, Responses(model, writer.id, now), rng)
            for params in ({}, comparison.stats_range(), {"granularity": "month"}):
                comparison.sums_are_equal(params)
                comparison.same(comparison.responses.stats({**params, "group_by": "account"}), "/stats", {**params, "group_by": "account"})


def compare_world(world, instance, model, now, keys):
    verified = instance.run("events", "verify", "--json").json()
    assert verified["events"] == sum(len(author.events) for author in model.authors.values()) and not verified["differences"]
    for writer in world.authors:
        if writer.id not in keys:
            keys[writer.id] = instance.create_key(writer.id)
        with instance.client(keys[writer.id]) as client:
            try:
                Comparison(client, Responses(model, writer.id, now), random.Random(f"{writer.name} {now}")).all()
            except AssertionError as difference:
                raise AssertionError(f"VIEWTALLY_SEED={writer.name} (import at {now}): {difference}") from None


def check_world(seed, only, directory, url=None):
    """Imports a world and compares the responses with the model after each import. `url` names an empty database on a server."""
    world = World(seed, AUTHORS, only)
    rng = random.Random(f"test {seed}")
    clock = FakeClock(directory / "clock", world.times[0])
    instance = Viewtally(directory / "viewtally", {"viral": world.viral, "store": {"url": url} if url else {}}, clock)
    model, keys = Model(world.rules), {}
    instance.run("migrate")
    instance.start()
    try:
        for now, lines in world.imports():
            clock.set_wall(now)
            rejected = [(number, reason) for number, reason in model.import_lines(lines, now) if "is older than" not in reason]
            finished, names = run_import(instance, rng, lines)
            assert finished.status == (1 if rejected else 0), finished
            check_rejections(rejected, finished, names)
            packed_days.check(instance.as_file())
            if not instance.is_on_server and rng.random() < 0.3:
                packed_days.make_stale(instance.database, rng)
            later = now + rng.choice([0, 0, HOUR, 3 * DAY])
            clock.set_wall(later)
            compare_world(world, instance, model, later, keys)
        check_sums_without_splits(world, instance, model, later, keys, rng)
    except AssertionError as failure:
        raise AssertionError(f"VIEWTALLY_SEED={seed}: {failure}") from None
    finally:
        instance.stop()


@pytest.mark.parametrize("seed, only", chosen_worlds())
def test_server_matches_the_model_on_random_data(seed, only, tmp_path):
    check_world(seed, only, tmp_path)


def large_author(rng, now):
    """Returns the id and lines of an author that exceeds every batch and page of the server: 1,200 videos, 200 books, 5,000 events."""
    author_id, videos = str(uuid.UUID(int=1)), [str(uuid.UUID(int=rng.getrandbits(128))) for _ in range(1200)]
    books = [str(uuid.UUID(int=rng.getrandbits(128))) for _ in range(200)]
    lines = [{"type": "author", "id": author_id, "name": "Large"}]
    for book_id in books:
        lines.append({"type": "book", "id": book_id, "author_id": author_id, "title": f"Book {book_id}",
                      "created_at": iso(now - rng.randrange(5) * DAY)})
    for number, video_id in enumerate(videos):
        posted_at = now - (30 * DAY if number % 3 else rng.randrange(1, 30) * DAY)
        lines.append({"type": "video", "id": video_id, "author_id": author_id, "book_id": rng.choice(books[:150] + [None]),
                      "title": f"Video {video_id}",
                      "posts": [{"platform": "tiktok", "post_id": video_id, "posted_at": iso(posted_at)}]})
        for day in {DAY // 2, rng.randrange(1, 30) * DAY}:
            if number % 5 and posted_at + day <= now:
                lines.append({"type": "reading", "platform": "tiktok", "post_id": video_id, "observed_at": iso(posted_at + day),
                              "views": day // HOUR * rng.choice([10, 10000, 1000000])})
    return author_id, lines


def test_server_matches_the_model_for_a_large_author(tmp_path):
    now = ms("2026-07-20T10:00:00Z")
    author_id, lines = large_author(random.Random("large"), now)
    instance = Viewtally(tmp_path / "viewtally", clock=FakeClock(tmp_path / "clock", now))
    model = Model()
    assert model.import_lines(lines, now) == []
    instance.import_lines(lines)
    with instance, instance.client(instance.create_key(author_id)) as client:
        responses = Responses(model, author_id, now)
        assert len(responses.author.events) > 5000
        comparison = Comparison(client, responses, random.Random(5))
        comparison.all()
        comparison.stats({"start_date": "2026-05-01", "end_date": "2026-07-29"})
        for _ in range(10):
            comparison.videos(comparison.video_filter())
            params = comparison.event_filter([event["id"] for event in responses.author.events])
            comparison.same(responses.events(params), "/events", params)


def test_random_data_reaches_the_boundaries(monkeypatch):
    """The random data contains each intended boundary case at least ten times."""
    seen = collections.Counter()
    decide = steps.decide

    def count_cases(model, author, change):
        video, before = change.video, len(author.events)
        line = steps.viral_comparison(model.rules, author, video, change.t)
        if not video.viral and line.median is not None:
            age = model.rules.compare_min_age_hours * HOUR
            if change.gain and abs(video.views - line.threshold) <= 1:
                seen[f"a gain to the threshold {video.views - line.threshold:+d}"] += 1
            seen["at or above the threshold without a gain"] += not change.gain and video.views >= line.threshold
            seen["a video at exactly the minimum age"] += any(
                other.posted_at == change.t - age for other in steps.comparables(model.rules, author, video, change.t))
            seen["as many videos as are compared"] += line.compared == model.rules.compare_last
            seen["a threshold from the multiplier"] += line.threshold > model.rules.min_views
        decide(model, author, change)
        seen["several events in a step"] += len(author.events) > before + 1
        seen["at the last millisecond of the 30 days"] += change.t == video.posted_at + LIFE

    monkeypatch.setattr(steps, "decide", count_cases)
    for seed in range(8):
        world = World(seed, AUTHORS)
        model = Model(world.rules)
        for now, lines in world.imports():
            model.import_lines(lines, now)
    assert len(seen) >= 9 and min(seen.values()) >= 10, seen
