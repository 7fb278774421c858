"""Invariants of the model on the random data of the property tests, without a server."""
import pathlib
import random
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "property"))

from model import Model, Responses  # noqa: E402
from property.worlds import World, mix  # noqa: E402

AUTHORS = 3


def everything(model, now):
    found = []
    for author_id in model.authors:
        responses = Responses(model, author_id, now)
        found.append((responses.videos({}), responses.stats({}), responses.account(), responses.events({"limit": "100"})))
    return found


def final_model(world, change=lambda lines: [lines]):
    """Runs all imports of the world, each split into several by `change`. Returns (all responses, model)."""
    model = Model(world.rules)
    for now, lines in world.imports():
        for part in change(lines):
            model.import_lines(part, now)
    return everything(model, world.times[-1]), model


@settings(max_examples=12, deadline=None, derandomize=True)
@given(strategies.integers(0, 10 ** 9))
def test_order_of_readings_in_a_file_does_not_matter(seed):
    rng = random.Random(seed)
    assert final_model(World(seed, AUTHORS))[0] == final_model(World(seed, AUTHORS), lambda lines: [mix(rng, lines)])[0]


@settings(max_examples=12, deadline=None, derandomize=True)
@given(strategies.integers(0, 10 ** 9))
def test_importing_a_file_twice_changes_nothing(seed):
    assert final_model(World(seed, AUTHORS))[0] == final_model(World(seed, AUTHORS), lambda lines: [lines, lines])[0]


@settings(max_examples=12, deadline=None, derandomize=True)
@given(strategies.integers(0, 10 ** 9))
def test_importing_step_by_step_equals_one_import(seed):
    world = World(seed, AUTHORS)
    _, model = final_model(world)
    now = world.times[-1]
    for writer in world.authors:
        assert everything(writer.model, now) == [
            found for found, author_id in zip(everything(model, now), model.authors) if author_id == writer.id]


@pytest.mark.parametrize("seed", range(15))
def test_sums_milestones_and_viral_marks_are_consistent(seed):
    _, model = final_model(World(seed, AUTHORS))
    for video in model.videos.values():
        assert video.baseline + sum(video.gains.values()) == video.views
        assert video.viral or video.views < video.comparison.threshold
        assert not video.baseline_pending
        values = [value for value, _ in video.milestones]
        assert values == sorted(set(values)) and all(value <= video.views for value in values)
        assert [moment for _, moment in video.milestones] == sorted(moment for _, moment in video.milestones)
        events = [event for event in video.author.events if event["video"] is video]
        assert sum(event["type"] == "video.went_viral" for event in events) <= 1
        assert all(event["occurred_at"] >= model.rules.history_start for event in events)
