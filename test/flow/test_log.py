"""The diagnostic log: a reader of standard error that stops reading must never hold up the server."""
import fcntl
import os
import re

import pytest

from lib import wait
from lib.metrics import scrape

PIPE_BYTES = 4096
ENOUGH_REQUESTS = 4_500         # some 100 bytes each at level debug: more than the pipe and the queue of 256 KiB hold


class Pipe:
    """A FIFO as the server's standard error, with a reader that reads only when it is told to."""

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
        """All that is in the pipe by now; the whole text so far."""
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
    """An installation that logs at level debug to a pipe that nobody reads: .pipe, .key."""
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


def test_a_log_that_nobody_reads_drops_lines_and_says_so_once(piped):
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
def test_the_server_stops_while_its_log_is_stuck(piped, requests):
    """The first stop finds the queue partly filled, the second one full."""
    piped.start()
    ask_often(piped, requests)
    piped.stop()


def test_standard_error_stays_blocking_for_others(piped):
    """O_NONBLOCK is a flag of the open file, which other processes may share."""
    with piped:
        ask_often(piped, 300)
        flags = int(re.search(r"flags:\s*(\d+)", open(f"/proc/{piped.pid}/fdinfo/2", encoding="ascii").read()).group(1), 8)
        assert not flags & os.O_NONBLOCK


def test_the_access_log_on_standard_error_waits_for_nobody(make_viewtally):
    instance = make_viewtally({"log": {"level": "debug", "access": "-"}, "admin": {"listen": "127.0.0.1:0"}})
    instance.key = instance.create_key(instance.add_author())
    instance.pipe = Pipe(instance)
    with instance:
        ask_often(instance, 2000)
        instance.pipe.read()
        ask_often(instance, 2000)
    instance.pipe.close()
