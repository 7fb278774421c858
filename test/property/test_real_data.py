"""Imports real readings of 2017 and compares every endpoint of every author with the model."""
import datetime
import json
import random
import subprocess
import sys

import pytest

from property.compare import Comparison
from lib.clock import FakeClock
from lib.viewtally import ROOT, Viewtally, sanitized
from model import Model, Responses, ms

TODAY = "2026-07-10"        # the readings begin on 05-31, so some events precede the start of the history on 06-15
NOW = ms(TODAY + "T09:30:00Z")
READINGS = 7874


def real_lines(today):
    result = subprocess.run([sys.executable, ROOT / "scripts/trending-to-ndjson", "--today", today], check=True,
                          capture_output=True)
    return result.stdout


def test_converted_lines_match_the_data_set():
    lines = [json.loads(line) for line in real_lines(TODAY).decode().splitlines()]
    readings = [line for line in lines if line["type"] == "reading"]
    assert len(readings) == READINGS
    assert max(line["observed_at"] for line in readings) == "2026-07-09T23:55:00Z"
    assert sum(line.get("baseline", False) for line in readings) == len({line["post_id"] for line in readings}) == 2332
    assert real_lines(TODAY) == real_lines(TODAY)
    today = datetime.date.today().isoformat()
    assert all(line.get("created_at", "") < today + "T" for line in lines)


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A running server with all lines imported: (instance, model, lines)."""
    directory = tmp_path_factory.mktemp("real")
    clock = FakeClock(directory / "clock", NOW)
    instance = Viewtally(directory / "viewtally", clock=clock)
    lines = real_lines(TODAY)
    instance.import_lines(lines)
    model = Model()
    assert model.import_lines([json.loads(line) for line in lines.decode().splitlines()], NOW) == []
    with instance:
        yield instance, model, lines


def test_server_matches_the_model_for_every_author(served):
    instance, model, _ = served
    assert sum(len(author.events) for author in model.authors.values()) > 500
    authors = sorted(model.authors.items(), key=lambda item: -len(item[1].videos))
    for author_id, author in authors[:100] if sanitized() else authors:
        with instance.client(instance.create_key(author_id)) as client:
            comparison = Comparison(client, Responses(model, author_id, NOW), random.Random(author_id))
            try:
                comparison.all(each_video=True)
                comparison.stats({"start_date": "2026-05-01", "end_date": "2026-07-29"})
            except AssertionError as difference:
                raise AssertionError(f"{author.name} {author_id}: {difference}") from None


def test_importing_again_changes_nothing(served):
    instance, model, lines = served
    authors = sorted(model.authors.values(), key=lambda author: -len(author.videos))[:5]
    clients = [instance.client(instance.create_key(author.id)) for author in authors]
    paths = ["/videos?limit=100", "/stats?start_date=2026-05-31&end_date=2026-07-10", "/events", "/books"]

    def bodies():
        return [client.request("GET", "/v1" + path).body for client in clients for path in paths]

    before = bodies()
    again = instance.import_lines(lines)
    videos = len(model.videos)
    assert again.err == "" and f"readings   0 applied, {videos} unchanged, {READINGS - videos} older, 0 rejected" in again.out
    assert bodies() == before
