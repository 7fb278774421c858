"""scripts/run, which `make run` calls: the first run fills a directory, later runs keep its contents."""
import json
import os
import re
import signal
import socket
import stat
import subprocess
import threading
import time
import urllib.request

import pytest

from lib.viewtally import ROOT, binary

READY_SECONDS = 60


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Run:
    """Runs scripts/run until it listens; `seconds` is the time that took."""

    def __init__(self, directory, port):
        start = time.monotonic()
        self.process = subprocess.Popen([ROOT / "scripts/run", binary()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, "DATA_DIR": str(directory), "LISTEN": f"127.0.0.1:{port}"})
        watchdog = threading.Timer(READY_SECONDS, self.process.kill)
        watchdog.start()
        self.said = ""
        for line in self.process.stdout:
            self.said += line
            if line.startswith("listening on"):
                break
        watchdog.cancel()
        self.seconds = time.monotonic() - start
        self.errors = ""
        if "listening on" not in self.said:
            self.errors = self.process.stderr.read()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=READY_SECONDS)

    def get(self, number):
        """The output of the number-th printed curl line, run by a shell."""
        key = re.search(r"KEY=(\S+)", self.said).group(1)
        url = re.findall(r"^  curl .*?'?(http://[^\s']+)'?$", self.said, re.M)[number]
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"})
        with urllib.request.urlopen(request, timeout=READY_SECONDS) as answer:
            return json.load(answer)


@pytest.fixture
def place(tmp_path):
    return tmp_path / "data", free_port()


def names(videos):
    """The fields of videos that do not change while their views grow."""
    return [(video["id"], video["title"], video["posted_at"]) for video in videos]


def test_second_run_keeps_data_and_key(place):
    directory, _ = place
    with Run(*place) as first:
        assert "listening on" in first.said, first.errors
        account, videos = first.get(0)["data"], first.get(1)["data"]
        assert account["videos_count"] > 1 and videos
        key = (directory / "demo.key").read_text()
    assert stat.S_IMODE((directory / "demo.key").stat().st_mode) == 0o600
    assert not (directory / "setup").exists()
    with Run(*place) as second:
        assert "Setting up" not in second.said + second.errors
        assert (directory / "demo.key").read_text() == key and key.strip() in second.said
        assert names(second.get(1)["data"]) == names(videos)
        again = second.get(0)["data"]
        changing = {"key": None, "views_refreshed_at": None}
        assert {**again, **changing} == {**account, **changing}
    assert second.seconds < 2


def test_interrupted_first_run_is_repeated(place):
    directory, _ = place
    with Run(*place):
        pass
    # Simulates an interruption just before the database was renamed: the key exists, its database does not.
    for file in directory.glob("viewtally.db*"):
        file.unlink()
    (directory / "setup").mkdir()
    (directory / "setup/viewtally.db").write_text("half a database")
    with Run(*place) as run:
        assert "listening on" in run.said, run.errors
        assert run.get(1)["data"]


def test_lost_key_is_replaced_and_data_kept(place):
    directory, _ = place
    with Run(*place) as first:
        videos = first.get(1)["data"]
    (directory / "demo.key").unlink()
    with Run(*place) as second:
        assert names(second.get(1)["data"]) == names(videos)


def test_simulated_readings_cause_events(place):
    directory, _ = place
    with Run(*place):
        pass
    config = directory / "config.ini"
    config.write_text(re.sub("interval_s = .*", "interval_s = 1", config.read_text()))
    seen = []
    with Run(*place) as run:
        assert "wait=55" in run.said
        # In the simulated source, a video goes viral within fifteen intervals.
        for _ in range(60):
            seen += [event["type"] for event in run.get(-1)["data"]]
            if "video.went_viral" in seen and "video.milestone_reached" in seen:
                break
    assert "video.went_viral" in seen and "video.milestone_reached" in seen
