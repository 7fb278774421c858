"""What the benches rest on: keys are never asked beyond their limit, tables are tables, and the requests are those of the file."""
import http.server
import os
import pathlib
import shutil
import subprocess
import sys
import threading
import time
import types

import pytest

import measure
import report
import tail
import undisturbed
from lib import wait


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_a_budget_is_free_until_it_is_spent_and_again_a_minute_later():
    clock = Clock()
    budget = measure.Budget(1000, clock)            # 900 with the reserve
    assert budget.seconds_until(900) == 0
    budget.spend(500)
    clock.now += 10
    assert budget.seconds_until(400) == 0
    budget.spend(400)
    assert budget.seconds_until(1) == pytest.approx(51)
    assert budget.seconds_until(501) == pytest.approx(61)
    clock.now += 51.5
    assert budget.seconds_until(500) == 0
    assert budget.total == 900


def test_a_run_that_somebody_disturbed_is_tried_again(monkeypatch):
    seconds = {"stolen": 0.0, "others": 0.0}

    def runs(*lost):
        left = list(lost)

        def run():
            what, lasted = left.pop(0)
            seconds[what] += lasted * (os.cpu_count() or 1)
            return {"left": len(left)}

        return run

    monkeypatch.setattr(undisturbed, "stolen_seconds", lambda: seconds["stolen"])
    monkeypatch.setattr(undisturbed, "others_seconds", lambda: {"7": seconds["others"], "new": 1.0} if seconds["others"] else {"7": 0.0})
    tried = undisturbed.undisturbed(runs(("stolen", 0.5), ("others", 0.1), ("others", 0.001)), 1)
    assert tried["left"] == 0 and tried["stolen"] == 0 and tried["others"] == pytest.approx(0.001)
    once = undisturbed.undisturbed(runs(("stolen", 0.009), ("others", 0.0)), 1)
    assert once["left"] == 1 and once["stolen"] == pytest.approx(0.009)
    least = undisturbed.undisturbed(runs(("others", 0.9), ("stolen", 0.4), ("others", 0.7), ("others", 0.0)), 1)
    assert least["left"] == 2                       # of three the least disturbed
    waits = []

    def wait_long():
        waits.append(len(waits))
        seconds["others"] += 9

    waited = undisturbed.undisturbed(runs(("others", 0.1), ("others", 0.001), ("others", 0.5)), 1, wait_long)
    assert waited["left"] == 1 and waited["others"] == pytest.approx(0.001) and waits == [0, 1]


def test_what_others_take_is_seen_and_what_we_take_is_not():
    busy = "import time; end = time.time() + {}\nwhile time.time() < end: pass"
    bench = f"""
import os, subprocess, sys, threading
sys.path.insert(0, {str(pathlib.Path(undisturbed.__file__).parent)!r})
import undisturbed
own = subprocess.Popen([sys.executable, "-c", {busy.format(60)!r}])
print(undisturbed.undisturbed(lambda: {{"set": threading.Event().wait(0.1)}}, 0.1)["others"] > undisturbed.OTHERS_PART)
threads = undisturbed.others_seconds()
own.kill()
print(sys.argv[1] in threads, str(own.pid) in threads, str(os.getpid()) in threads)
"""
    other = subprocess.Popen([sys.executable, "-c", busy.format(60)])
    try:
        wait.until(lambda: os.sysconf("SC_CLK_TCK") * time.clock_gettime(time.CLOCK_BOOTTIME) > undisturbed.began(other.pid) + 1, "the next tick")
        told = subprocess.run([sys.executable, "-c", bench, str(other.pid)], capture_output=True, text=True, check=True, timeout=60)
    finally:
        other.kill()
        other.wait()
    assert told.stdout.split() == ["True", "True", "False", "False"], told.stderr


class Look:
    """threading.Timer on a clock of the test."""
    started = []

    def __init__(self, seconds, function):
        self.seconds, self.function = seconds, function

    def start(self):
        self.started.append(self)

    def join(self):
        assert self not in self.started, "nobody waits for it"


def test_a_try_counts_only_what_came_in_it(monkeypatch):
    reader, seen = types.SimpleNamespace(bytes=900e6), []

    def read():
        seen.append("read")
        return 1.5, 2, 1

    def ask(*_):
        """Of two seconds; all connections have come after a twentieth of them, and leave in the last."""
        steps = [(0.1, lambda: seen.append("all are there")), (1.9, lambda: seen.append("the first leaves")),
                 *((look.seconds, look.function) for look in Look.started)]
        Look.started.clear()
        for _, step in sorted(steps, key=lambda step: step[0]):
            step()
        reader.bytes += 5e6
        return {"p99_us": 7}

    now = iter([10.0, 12.0, 20.0, 22.0])
    turns = types.SimpleNamespace(clear=lambda: seen.append("clear"), read=read)
    monkeypatch.setattr(tail, "ask", ask)
    monkeypatch.setattr(tail, "time", types.SimpleNamespace(monotonic=lambda: next(now)))
    monkeypatch.setattr(tail, "threading", types.SimpleNamespace(Timer=Look))
    for _ in range(2):
        seen.clear()
        result = tail.poll_beside(reader, None, types.SimpleNamespace(poll_rate=1), 2, None, turns)
        assert result == {"p99_us": 7, "mb": pytest.approx(2.5), "turn_ms": 1.5, "above_1": 2, "above_2": 1}
        assert seen == ["all are there", "clear", "read", "the first leaves"]


def test_a_table_has_a_cell_for_each_column():
    text = report.table(["<name", "number"], [["a", "1"], ["bcdefg", "22"]]).split("\n")
    assert text == ["| name   | number |", "|--------|-------:|", "| a      |      1 |", "| bcdefg |     22 |"]


class Recorder(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.server.seen.append((self.path, self.headers["Authorization"], self.headers["If-None-Match"]))
        self.send_response(304 if self.headers["If-None-Match"] else 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


@pytest.mark.skipif(not shutil.which("wrk"), reason="wrk is not installed")
def test_wrk_sends_the_requests_of_the_file_from_the_line_that_it_was_told(tmp_path):
    (tmp_path / "requests").write_text('key1 /one\nkey2 /two?x=1 "tag"\nkey3 /three\n')
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    server.seen = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    result = measure.wrk(f"http://127.0.0.1:{server.server_port}",
                         {"REQUESTS": str(tmp_path / "requests"), "START": "4"}, [], 1, 1)
    server.shutdown()
    # The first request is one of wrk's own, to see whether the server is there.
    seen = server.seen[-result["requests"]:]
    wanted = [("/two?x=1", "Bearer key2", '"tag"'), ("/three", "Bearer key3", None), ("/one", "Bearer key1", None)]
    assert result["refused"] == 0 and sorted(map(str, set(seen))) == sorted(map(str, wanted))
    first = server.seen.index(wanted[0])
    assert server.seen[first:first + 6] == wanted * 2
