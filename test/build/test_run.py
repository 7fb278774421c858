"""scripts/run, which `make run` calls: the first run fills a directory, later runs keep its contents."""
import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import threading
import urllib.request

import pytest

from lib.services import free_port
from lib.viewtally import ROOT, binary

READY_SECONDS = 60


class Run:
    """Runs scripts/run until it listens."""

    def __init__(self, directory, port):
        self.process = subprocess.Popen([ROOT / "scripts/run", binary()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, "DATA_DIR": str(directory), "LISTEN": f"127.0.0.1:{port}"})
        watchdog = threading.Timer(READY_SECONDS, self.process.kill)
        watchdog.start()
        self.output = ""
        for line in self.process.stdout:
            self.output += line
            if line.startswith("listening on"):
                break
        watchdog.cancel()
        self.errors = ""
        if "listening on" not in self.output:
            self.errors = self.process.stderr.read()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=READY_SECONDS)

    def get(self, number):
        """Requests the URL of the printed curl line with this index. Returns the JSON response."""
        key = re.search(r"KEY=(\S+)", self.output).group(1)
        url = re.findall(r"^  curl .*?'?(http://[^\s']+)'?$", self.output, re.M)[number]
        request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"})
        with urllib.request.urlopen(request, timeout=READY_SECONDS) as answer:
            return json.load(answer)


def link_of(text):
    """The invitation link in the output."""
    return re.search(r"^  (http://\S+/invite/\S+)$", text, re.M).group(1)


@pytest.fixture
def place(tmp_path):
    return tmp_path / "data", free_port()


def names(videos):
    """The fields of videos that do not change while their views grow."""
    return [(video["id"], video["title"], video["posted_at"]) for video in videos]


def test_second_make_run_keeps_database_and_api_key(place):
    directory, _ = place
    with Run(*place) as first:
        assert "listening on" in first.output, first.errors
        account, videos = first.get(0)["data"], first.get(1)["data"]
        assert account["videos_count"] > 1 and videos
        key = (directory / "demo.key").read_text()
    for name in ("demo.key", "welcome.txt", "config.ini", "viewtally.db"):
        assert stat.S_IMODE((directory / name).stat().st_mode) == 0o600
    assert not (directory / "setup").exists()
    with Run(*place) as second:
        assert "Setting up" not in second.output + second.errors
        assert (directory / "demo.key").read_text() == key and key.strip() in second.output
        assert link_of(second.output) == link_of(first.output)
        assert names(second.get(1)["data"]) == names(videos)
        again = second.get(0)["data"]
        changing = {"key": None, "views_refreshed_at": None}
        assert {**again, **changing} == {**account, **changing}


def test_make_run_starts_again_if_its_first_run_was_interrupted(place):
    directory, _ = place
    with Run(*place):
        pass
    # Simulates an interruption just before the database was renamed: the key exists, its database does not.
    for file in directory.glob("viewtally.db*"):
        file.unlink()
    (directory / "setup").mkdir()
    (directory / "setup/viewtally.db").write_text("half a database")
    with Run(*place) as run:
        assert "listening on" in run.output, run.errors
        assert run.get(1)["data"]


def test_busy_port_is_reported_before_anything_is_created(place):
    directory, port = place
    with socket.create_server(("127.0.0.1", port)):
        with Run(*place) as run:
            pass
        assert run.process.returncode == 1 and run.output == ""
        assert run.errors.startswith(f"make run: 127.0.0.1:{port} is in use, and nothing was created or changed.\n")
        assert "make run DATA_DIR=data-2 LISTEN=127.0.0.1:8081" in run.errors and f"'sport = :{port}'" in run.errors
    assert not directory.exists()


def files_of(directory):
    return sorted((path.name, path.stat().st_mtime_ns) for path in directory.iterdir() if not path.name.startswith("viewtally.db"))


def test_second_make_run_beside_a_server_fails_and_keeps_the_invitation_valid(place):
    directory, port = place
    with Run(*place) as first:
        before = files_of(directory)
        with Run(*place) as second:
            pass
        assert second.process.returncode == 1 and f"127.0.0.1:{port} is in use" in second.errors and "config.ini" in second.errors
        assert files_of(directory) == before
        with urllib.request.urlopen(link_of(first.output), timeout=READY_SECONDS) as answer:
            assert answer.status == 200 and b"assword" in answer.read()
    (directory / "welcome.txt").unlink()
    (directory / "demo.key").unlink()
    with Run(*place) as third:
        assert "key create" in third.output and "KEY=" not in third.output and not (directory / "demo.key").exists()


def test_simulated_readings_cause_events(place):
    directory, _ = place
    with Run(*place):
        pass
    config = directory / "config.ini"
    config.write_text(re.sub("interval_s = .*", "interval_s = 1", config.read_text()))
    seen = []
    with Run(*place) as run:
        assert "wait=55" in run.output
        # In the simulated source, a video goes viral within fifteen intervals.
        for _ in range(60):
            seen += [event["type"] for event in run.get(-1)["data"]]
            if "video.went_viral" in seen and "video.milestone_reached" in seen:
                break
    assert "video.went_viral" in seen and "video.milestone_reached" in seen


def test_busy_port_is_reported_before_a_parallel_make_starts_to_build(tmp_path):
    for name in ("Makefile", "scripts", "vendor/manifest", "vendor/build", "src/main.c"):
        source, target = ROOT / name, tmp_path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if source.is_dir() else shutil.copy)(source, target)
    (tmp_path / "scripts/run").write_text("#!/bin/sh\necho busy\nexit 1\n")
    (tmp_path / "scripts/bootstrap").write_text("#!/bin/sh\necho installing\n")
    environment = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL")}
    done = subprocess.run(["make", "-j8", "run"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and done.stdout == "busy\n" and not (tmp_path / "build").exists()


def make(directory, *arguments, **env):
    """Runs make in a directory with copies of the files that the Makefile reads."""
    for name in ("Makefile", "scripts/bootstrap", "vendor/manifest", "vendor/build"):
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, directory / name)
    unset = ("MAKEFLAGS", "MAKELEVEL", "VENDOR_DIR", "VENDOR_CACHE")
    environment = {**{name: value for name, value in os.environ.items() if name not in unset}, **env}
    return subprocess.run(["make", *arguments], cwd=directory, env=environment, capture_output=True, text=True, check=False)


def test_directory_with_a_space_in_its_name_is_rejected(tmp_path):
    done = make(tmp_path / "a b", "clean")
    assert done.returncode == 2 and "whose path contains a space" in done.stderr


EMPTY = {"VENDOR_DIR": "", "VENDOR_CACHE": ""}


@pytest.mark.parametrize("arguments, env, directories", [
    ([], {}, "vendor/cache build/vendor/"), ([], EMPTY, "vendor/cache build/vendor/"),
    (["VENDOR_DIR=", "VENDOR_CACHE="], {}, "vendor/cache build/vendor/"), (["VENDOR_DIR=/d"], EMPTY, "/d/cache /d/"),
    (["VENDOR_CACHE=/c"], EMPTY, "/c build/vendor/")], ids=["unset", "environment", "command line", "directory", "cache"])
def test_empty_directories_of_the_libraries_mean_the_defaults(tmp_path, arguments, env, directories):
    done = make(tmp_path, "-n", "vendor", "BOOTSTRAP=0", *arguments, **env)
    assert done.returncode == 0 and f"vendor/build {directories}release-" in done.stdout, done
