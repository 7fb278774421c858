"""What the benches rest on: keys are never asked beyond their limit, tables are tables, and the requests are those of the file."""
import http.server
import shutil
import threading

import pytest

import measure
import report


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


def test_a_run_that_the_host_disturbed_is_tried_again(monkeypatch):
    lost = [0.5, 0.1, 0.0]              # seconds, in one run after the other
    total = 0.0

    def run():
        nonlocal total
        total += lost.pop(0)
        return {"left": len(lost)}

    monkeypatch.setattr(measure, "stolen_seconds", lambda: total)
    assert measure.undisturbed(run, 1) == {"left": 0, "stolen": 0}
    lost = [0.9, 0.4, 0.7, 0.0]
    assert measure.undisturbed(run, 1)["left"] == 2 and lost == [0.0]        # of three the least disturbed


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
