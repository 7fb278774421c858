"""The log: the server must not block if the reader of its standard error stops reading."""
import fcntl
import os
import re

import pytest

from lib import wait
from lib.metrics import scrape

PIPE_BYTES = 4096
# At level debug each request logs about 100 bytes. Together they exceed what the pipe and both buffers of 256 KiB hold.
ENOUGH_REQUESTS = 6_000


class Pipe:
    """A FIFO as the standard error of the server. It is read only by read()."""

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
        """Drains the pipe. Returns all text read so far."""
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
    """An installation that logs at level debug to `pipe`, which is not read; `key` is an API key."""
    instance = make_viewtally({"log": {"level": "debug"}, "admin": {"listen": "127.0.0.1:0"}})
    instance.key = instance.create_key(instance.add_author())
    instance.pipe = Pipe(instance)
    yield instance
    instance.stop()
    instance.pipe.close()


def send_requests(instance, count):
    with instance.client(instance.key) as client:
        for _ in range(count):
            assert client.get("/account").status == 200


def dropped(instance):
    return scrape(instance).get("viewtally_log_lines_dropped_total")


def test_unread_log_drops_lines_and_reports_the_loss_once(piped):
    with piped:
        assert dropped(piped) == 0
        send_requests(piped, ENOUGH_REQUESTS)
        lost = dropped(piped)
        assert lost > 0
        wait.until(lambda: "dropped because standard error" in piped.pipe.read(), "the report of dropped lines")
        send_requests(piped, 10)
        wait.until(lambda: piped.pipe.read().count("/v1/account") and piped.pipe.text.endswith("\n"), "later lines")
        reports = re.findall(r"(\d+) lines? (?:was|were) dropped", piped.pipe.text)
        assert len(reports) == 1 and lost <= int(reports[0]) <= dropped(piped)
        assert all(re.match(r"20\d\d-\S+Z (debug|info|warn) ", line) for line in piped.pipe.text.splitlines())


def test_no_line_is_lost_while_the_log_is_read(piped):
    with piped:
        for _ in range(20):
            send_requests(piped, 100)
            piped.pipe.read()
        wait.until(lambda: piped.pipe.read().count("/v1/account") >= 2000, "every request's line")
        assert dropped(piped) == 0 and "were dropped" not in piped.pipe.text


@pytest.mark.parametrize("requests", [300, ENOUGH_REQUESTS])
def test_server_stops_although_its_log_is_blocked(piped, requests):
    """300 requests fill the queue partly, ENOUGH_REQUESTS fill it completely."""
    piped.start()
    send_requests(piped, requests)
    piped.stop()


def test_standard_error_stays_blocking_for_other_processes(piped):
    """O_NONBLOCK belongs to the open file description, which other processes may share."""
    with piped:
        send_requests(piped, 300)
        flags = int(re.search(r"flags:\s*(\d+)", open(f"/proc/{piped.pid}/fdinfo/2", encoding="ascii").read()).group(1), 8)
        assert not flags & os.O_NONBLOCK


def test_access_log_on_standard_error_does_not_block(make_viewtally):
    instance = make_viewtally({"log": {"level": "debug", "access": "-"}, "admin": {"listen": "127.0.0.1:0"}})
    instance.key = instance.create_key(instance.add_author())
    instance.pipe = Pipe(instance)
    with instance:
        send_requests(instance, 2000)
        instance.pipe.read()
        send_requests(instance, 2000)
    instance.pipe.close()
