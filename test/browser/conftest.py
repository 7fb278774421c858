"""Fixtures: one Chromium for all tests of this directory, and one viewtally with test data."""
import json
import os
import selectors
import shutil
import subprocess
import pathlib

import pytest

from lib import npm
from lib.clock import FakeClock
from lib.pages import session_cookie
from lib.viewtally import ROOT, Viewtally, sanitized

import stage_scene as scene

HERE = pathlib.Path(__file__).resolve().parent
SCREENSHOTS = ROOT / "build/screenshots"
WALK_SECONDS = 240


class Browser:
    """A Chromium that runs the walks of walks.js through driver.js."""

    def __init__(self, program, modules, log):
        environment = {**os.environ, "BROWSER_MODULES": str(modules), "BROWSER_PROGRAM": program}
        if not sanitized():
            SCREENSHOTS.mkdir(parents=True, exist_ok=True)
            environment["BROWSER_SCREENSHOTS"] = str(SCREENSHOTS)
        self._log = log
        with open(log, "wb") as errors:
            self._process = subprocess.Popen(["node", str(HERE / "driver.js")], env=environment, stdin=subprocess.PIPE,
                                             stdout=subprocess.PIPE, stderr=errors)
        self._answers = selectors.DefaultSelector()
        self._answers.register(self._process.stdout, selectors.EVENT_READ)

    def walk(self, walk, **arguments):
        """Runs a walk and returns its value. Any problem fails the test."""
        self._process.stdin.write(json.dumps({"walk": walk, "args": arguments}).encode() + b"\n")
        self._process.stdin.flush()
        assert self._answers.select(WALK_SECONDS), f"the walk {walk} did not end within {WALK_SECONDS} s"
        line = self._process.stdout.readline()
        assert line, f"the browser exited:\n{self._log.read_text(errors='replace')[-4000:]}"
        answer = json.loads(line)
        assert "error" not in answer, answer["error"]
        return answer["value"]

    def close(self):
        self._process.stdin.close()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()


@pytest.fixture(scope="session")
def browser(tmp_path_factory):
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if not program:
        pytest.skip("chromium is not installed")
    opened = Browser(program, npm.install("browser"), tmp_path_factory.mktemp("browser") / "driver.log")
    yield opened
    opened.close()


class Stage:
    """A server with the test data; `base` is its URL, `cookie[who]` a session cookie of an author."""

    def __init__(self, instance):
        self.instance = instance
        self.authors = scene.install(instance)
        scene.insert_webhooks(instance, self.authors)
        scene.insert_audit(instance, self.authors)
        key_file = str(instance.directory / "secrets.key")
        instance.run("secrets", "init", key_file)
        instance.configure({"secrets": {"key_file": key_file}})
        instance.start()
        self.base = f"http://{instance.address}"
        for name in ("Spreadsheet", scene.SCRIPT, "Verylongwordwithoutanyspace" * 7):
            instance.create_key(self.authors["lively"], name)
        self.cookie = {who: session_cookie(instance, author) for who, author in self.authors.items()}

    def invite(self, who):
        """Returns an invitation link for an author."""
        link = self.instance.run("author", "invite", self.authors[who], "--json").json()["link"]
        return self.base + link[link.index("/invite/"):]

    def arguments(self, who=None, **more):
        return {"base": self.base, **({"cookie": self.cookie[who]} if who else {}), **more}


@pytest.fixture(scope="session")
def stage(tmp_path_factory):
    directory = tmp_path_factory.mktemp("stage")
    instance = Viewtally(directory / "viewtally", {}, FakeClock(directory / "clock", scene.NOW))
    try:
        yield Stage(instance)
    finally:
        instance.stop()
