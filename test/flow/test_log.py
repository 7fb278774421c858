"""The log: a reader of standard error that stops reading must not block the server."""
import fcntl
import os
import re

import pytest

from lib import wait
from lib.metrics import scrape

PIPE_BYTES = 4096
ENOUGH_REQUESTS = 4_500         # about 100 bytes each at level debug: more than the pipe and the queue of 256 KiB can hold


class Pipe:
    """A FIFO as standard error of the server. The test decides when it is read."""

    def __init__(self, instance):
        self.path = instance.directory / "stderr.fifo"
        os.mkfifo(self.path)
        self.reader = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK)
        fcntl.fcntl(self.reader, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        wrapper = instance.directory / "with-pipe"
        wrapper.write_text(f'#!/bin/sh\nexec {instance.binary} "$@" 2>{self.path}\n')
        wrapper.chmod(0o755)
        instance.binary = str(wrapper)
        self.text = ""

    def read(self):
        """Reads the content of the pipe; returns the whole text so far."""
        try:
            while data := os.read(self.reader, 1 << 16):
                self.text += data.decode()
        except BlockingIOError:
            pass
        return self.text

    def close(self):
        os.close(self.reader)


@pytest.fixture
def piped(make_viewtally):
    """An installation that logs at level debug to a pipe that is not read: .pipe, .key."""
    instance = make_viewtally({"log": {"level": "debug"}, "admin": {"listen": "127.0.0.1:0"}})
    instance.key = instance.create_key(instance.add_author())
    instance.pipe = Pipe(instance)
    yield instance
    instance.stop()
    instance.pipe.close()


def ask_often(instance, count):
    with instance.client(instance.key) as client:
        for _ in range(count):
            assert client.get("/account").status == 200


def dropped(instance):
    return scrape(instance).get("viewtally_log_lines_dropped_total")


def test_unread_log_drops_lines_and_reports_it_once(piped):
    with piped:
        assert dropped(piped) == 0
        ask_often(piped, ENOUGH_REQUESTS)
        lost = dropped(piped)
        assert lost > 0
        wait.until(lambda: "lines were dropped" in piped.pipe.read(), "the report of dropped lines")
        ask_often(piped, 10)
        wait.until(lambda: piped.pipe.read().count("/v1/account") and piped.pipe.text.endswith("\n"), "later lines")
        reports = re.findall(r"(\d+) lines were dropped", piped.pipe.text)
        assert len(reports) == 1 and lost <= int(reports[0]) <= dropped(piped)
        assert all(re.match(r"20\d\d-\S+Z (debug|info|warn) ", line) for line in piped.pipe.text.splitlines())


def test_no_line_is_lost_while_the_log_is_read(piped):
    with piped:
        for _ in range(20):
            ask_often(piped, 100)
            piped.pipe.read()
        wait.until(lambda: piped.pipe.read().count("/v1/account") >= 2000, "every request's line")
        assert dropped(piped) == 0 and "were dropped" not in piped.pipe.text


@pytest.mark.parametrize("requests", [300, ENOUGH_REQUESTS])
def test_server_stops_although_its_log_is_blocked(piped, requests):
    """At the first stop the queue is partly filled, at the second one it is full."""
    piped.start()
    ask_often(piped, requests)
    piped.stop()


def test_standard_error_stays_blocking_for_other_processes(piped):
    """O_NONBLOCK is a flag of the open file description, which other processes may share."""
    with piped:
        ask_often(piped, 300)
        flags = int(re.search(r"flags:\s*(\d+)", open(f"/proc/{piped.pid}/fdinfo/2", encoding="ascii").read()).group(1), 8)
        assert not flags & os.O_NONBLOCK


def test_access_log_on_standard_error_does_not_block(make_viewtally):
    instance = make_viewtally({"log": {"level": "debug", "access": "-"}, "admin": {"listen": "127.0.0.1:0"}})
    instance.key = instance.create_key(instance.add_author())
    instance.pipe = Pipe(instance)
    with instance:
        ask_often(instance, 2000)
        instance.pipe.read()
        ask_often(instance, 2000)
    instance.pipe.close()
