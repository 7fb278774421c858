"""The parts of the benches: keys stay below their limit, tables have all cells, and wrk sends the requests of the file."""
import http.server
import shutil
import threading

import pytest

import bench_pg
import measure
import report


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


def test_budget_of_requests_is_available_again_after_a_minute():
    clock = Clock()
    budget = measure.Budget(1000, clock)            # 900: a tenth is reserved
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


def test_table_aligns_text_left_and_numbers_right():
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
def test_wrk_sends_the_requests_of_the_file_from_the_given_line(tmp_path):
    (tmp_path / "requests").write_text('key1 /one\nkey2 /two?x=1 "tag"\nkey3 /three\n')
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Recorder)
    server.seen = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    result = measure.wrk(f"http://127.0.0.1:{server.server_port}",
                         {"REQUESTS": str(tmp_path / "requests"), "START": "4"}, [], 1, 1)
    server.shutdown()
    # wrk sends one request of its own first, to check the server.
    seen = server.seen[-result["requests"]:]
    wanted = [("/two?x=1", "Bearer key2", '"tag"'), ("/three", "Bearer key3", None), ("/one", "Bearer key1", None)]
    assert result["refused"] == 0 and sorted(map(str, set(seen))) == sorted(map(str, wanted))
    first = server.seen.index(wanted[0])
    assert server.seen[first:first + 6] == wanted * 2


def test_one_miss_of_each_key_of_account_is_expected():
    assert bench_pg.share_from_cache("/v1/account", 90_000, 88_000, 2000) == 1
    assert bench_pg.share_from_cache("/v1/account", 90_000, 84_000, 2000) < bench_pg.HITS_MIN
    assert bench_pg.share_from_cache("/v1/videos?limit=50", 90_000, 88_000, 2000) < bench_pg.HITS_MIN
    assert bench_pg.share_from_cache("/v1/videos?limit=50", 90_000, 0, 2000) == 0
