#!/usr/bin/python3
"""Compares viewtally with nginx, which serves the same bytes as files. `make bench`; needs wrk, nginx and Redis.

1,000 authors with 55 videos each and 10,000 keys. The server runs on the first processor, wrk on the last. The contenders take turns
for several rounds, so that other load on the machine affects all of them, and the tables show medians. The measure is the server's
processor time per answered request, because it does not depend on the speed of wrk.

  viewtally, exact window   the limit of 60 requests per minute and key in Redis, which runs beside wrk
  viewtally, no limit       the same without a rate limit
  viewtally, rendered       without a response cache: every response is rendered from the database
  nginx                     one worker, sendfile, descriptors cached, no log

A key may make 60 requests per minute, so the bench waits before each run until the keys have enough left. A response with another
status or size than expected ends the bench with an error.

--against BINARY measures another build of viewtally in the same run, with data of its own. --quick is one short round with few authors.
"""
import argparse
import os
import pathlib
import shutil
import statistics
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "test"), str(ROOT / "scripts")]

import bench_data as data  # noqa: E402
import measure  # noqa: E402
import programs  # noqa: E402
import report  # noqa: E402
from lib.services import Nginx, Redis  # noqa: E402
from report import say  # noqa: E402
from servers import NOT_MODIFIED, POLL, RESPONSES, Servers  # noqa: E402

HEAD_BYTES = 900            # more than the head of any response
FIRST_RATE = 120_000        # requests per second, assumed before the first run
TIMES_NGINX = 0.70
RENDERED_US = {"/videos?limit=50": 150, "/events?limit=100": 150}     # the two pages of over 70 KB
RENDERED_US_OTHERS = 100


class Row:
    """One contender with one request: the result of each round."""

    def __init__(self, name, contender, size):
        self.name = name                # of the request
        self.contender = contender
        self.size = size                # of the body
        self.results = []

    def median(self, what):
        return statistics.median(result[what] for result in self.results)


def rows_of(servers):
    for name in RESPONSES:
        for contender in [*servers.viewtally, servers.nginx]:
            yield Row(name, contender, servers.size(name))
    for contender in servers.viewtally:
        if not contender.rendered:
            yield Row(NOT_MODIFIED, contender, 0)
            yield Row(POLL, contender, servers.size(POLL))


def wait_for_budget(row, options):
    budget = row.contender.budget
    if budget:
        rate = row.results[-1]["rate"] if row.results else FIRST_RATE
        seconds = budget.seconds_until(min(1.2 * options.seconds * rate, budget.a_minute))
        if seconds:
            threading.Event().wait(seconds)
    return budget


def run_once(row, options, wrk_cpu):
    budget = wait_for_budget(row, options)
    environment = {"REQUESTS": str(row.contender.requests[row.name]), **({"START": str(budget.total)} if budget else {})}
    result = measure.wrk(f"http://{row.contender.address}", environment, row.contender.pids, options.seconds, options.connections, wrk_cpu)
    if budget:
        budget.spend(result["requests"])
    check_responses(row, result)
    row.results.append({**result, "memory_mb": measure.resident_mb(row.contender.pids)[1]})


def check_responses(row, result):
    size, refused = result["bytes"] / result["requests"], result["refused"] / result["requests"]
    # wrk counts some bytes of a response in the next run, and /account contains times that may be null.
    if refused or not row.size * 0.95 - 40 <= size <= row.size * 1.02 + HEAD_BYTES:
        raise SystemExit(f"bench: {row.contender.name}, {row.name}: {refused:.1%} refused, {size:,.0f} bytes per response, "
                         f"expected a body of {row.size:,.0f}")


def measure_all(rows, options, wrk_cpu):
    for number in range(options.rounds + 1):
        say(f"bench: round {number} of {options.rounds}" if number else "bench: warming up")
        for row in rows:
            run_once(row, options, wrk_cpu)
            if not number:
                row.results.pop()


HEAD = ["<request", "body bytes", "<server", "µs per request", "× nginx", "requests/s", "p99 ms", "resident MB", "<goal"]


def table(rows):
    nginx = {row.name: row.median("us") for row in rows if row.contender.name == "nginx"}
    for row in rows:
        us, times = row.median("us"), nginx.get(row.name, nginx["/account"]) / row.median("us")
        yield [row.name, f"{row.size:,.0f}", row.contender.name, f"{us:.1f}", f"{times:.2f}", f"{row.median('rate'):,.0f}",
               f"{row.median('p99_ms'):.2f}", f"{row.median('memory_mb'):.1f}", goal_of(row, us, times)]


def goal_of(row, us, times):
    if row.contender.rendered:
        most = RENDERED_US.get(row.name, RENDERED_US_OTHERS)
        return report.verdict(us <= most, f"≤ {most} µs")
    if row.contender.budget and row.name in RESPONSES:
        return report.verdict(times >= TIMES_NGINX, f"≥ {TIMES_NGINX:.2f}")
    return ""


def heading(options, load):
    versions = [report.first_line(Nginx._find(), "-v"), report.first_line(Redis._find(), "--version").partition(" sha")[0], report.wrk_version()]
    against = f"\n- against: {report.first_line(options.against, '--version')}" if options.against else ""
    return report.heading("bench", "bench.py", load, versions) + f"""\
- {options.authors:,} authors with {data.VIDEOS_AN_AUTHOR} videos each and {options.keys:,} keys; {options.connections} connections
- medians of {options.rounds} rounds of {options.seconds} s; the server on one processor, wrk and Redis on another{against}

"µs per request" is the server's processor time. "× nginx" is nginx's time for the same body divided by it: above 1 is faster than nginx.
304 and the empty poll are compared with nginx on /account.

"""


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=1, help="duration of one run of wrk in seconds (1)")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--authors", type=int, default=1000)
    parser.add_argument("--keys", type=int, default=10000)
    parser.add_argument("--against", metavar="BINARY", help="another build to measure in the same run")
    parser.add_argument("--quick", action="store_true", help="one round, 200 authors, writes no results")
    parser.add_argument("--results", default=str(HERE / "RESULTS.md"), help="where the table is written; empty: nowhere")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.authors, options.results = 1, 200, ""
    return options


def main():
    options = parse_options()
    for program in ("wrk", "taskset", "nginx", "redis-server"):
        if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
            raise SystemExit(f"bench: {program} is not installed")
    load = report.load_before()
    server_cpu, wrk_cpu = measure.two_processors()
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=ROOT / "build") as directory:
        servers = Servers(directory, options, server_cpu, wrk_cpu)
        try:
            servers.start()
            rows = list(rows_of(servers))
            measure_all(rows, options, wrk_cpu)
        finally:
            servers.stop()
    report.write(options.results, heading(options, load) + report.table(HEAD, list(table(rows))) + "\n")


if __name__ == "__main__":
    programs.exit_on_signals(main)
