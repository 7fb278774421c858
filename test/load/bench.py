#!/usr/bin/python3
"""viewtally beside nginx that serves the very same bytes as files, and beside `floor`. `make bench`; needs wrk, nginx and Redis.

1,000 authors with 55 videos each and 10,000 keys. Each server is pinned to the first processor, wrk to the last, and they
take turns for several rounds, so that what else the machine does hits all alike; shown are the medians. The measure that
counts is the processor time of the server per answered request: it does not depend on how fast wrk is.

The rate limit. "Redis beside …" takes the exact window of 60 in Redis for every request. Beside wrk, Redis makes the clients slower, and a
server that has nothing to do meanwhile pays for being woken; beside the server it takes of the server's processor, and its caches. A key may make 60 requests in a minute, so before
each run the bench waits until the keys have enough left. A single answer of another kind than the row's ends the
bench with an error, so no row ever counts refusals for answers; and each answer has to have the size of nginx's file.

Cold. The server "no cache" makes every answer from the database; with "data changes" a writer bumps the revision of all authors some
times a second, and what an answer costs more is divided by the share of requests that the cache could not answer.

`floor` (test/load/floor.c) is the least that such a server does: libuv, llhttp, SHA-256 of the key, bodies in memory, and
with Redis one script call for all requests of one turn of its loop.

--quick is one short round with few authors, to see that everything works.
"""
import argparse
import os
import pathlib
import shutil
import sqlite3
import statistics
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "test")]

import bench_data as data  # noqa: E402
import bench_memory  # noqa: E402
import measure  # noqa: E402
import report  # noqa: E402
import tail  # noqa: E402
from lib.metrics import scrape  # noqa: E402
from lib.services import Nginx, Redis  # noqa: E402
from report import say  # noqa: E402
from servers import ANSWERS, NEVER_TWICE, NOT_MODIFIED, POLL, REFUSED, Servers  # noqa: E402
from undisturbed import TRIES, WORDS, undisturbed  # noqa: E402

HEAD_BYTES = 900            # more than the head of any answer
FIRST_GUESS = 120_000       # requests a second, before the first run has told
COLD_GOALS = {"/videos?limit=50": 60}
COLD_GOAL = 40
SETTLE_SECONDS = 26         # until the last use of all keys is written, which stands in /account


class Row:
    """One contender on one question: what each round measured."""

    def __init__(self, question, contender, requests, size, refused=False, name=None):
        self.question = question
        self.contender = contender
        self.requests = requests
        self.size = size                # of the body
        self.refused = refused          # the answers have to be refusals
        self.name = name or contender.name
        self.results = []
        self.asked = 0                  # of all time, for questions that may not come twice

    def median(self, what):
        return statistics.median(result[what] for result in self.results)

    @property
    def us(self):
        return self.median("us")


class Changes(threading.Thread):
    """Bumps the revision of all authors, as if a refresh had just changed something of each."""

    def __init__(self, database, cpu, pause=0.02):
        super().__init__(daemon=True)
        self.database, self.cpu, self.pause = database, cpu, pause
        self.ended = threading.Event()
        self.start()

    def run(self):
        measure.pin_thread(self.cpu)
        connection = sqlite3.connect(self.database, timeout=60, isolation_level=None)
        connection.execute("PRAGMA synchronous = OFF")
        while not self.ended.wait(self.pause):
            connection.execute("UPDATE authors SET rev = rev + 1, feed_rev = feed_rev + 1")
        connection.close()

    def stop(self):
        self.ended.set()
        self.join()


class Bench:
    def __init__(self, options, servers, wrk_cpu):
        self.options = options
        self.servers = servers
        self.wrk_cpu = wrk_cpu
        self.rows = []

    def plan(self):
        s = self.servers
        size = {question: statistics.median(size for (_, q), size in s.bodies.items() if q == question) for question in [*ANSWERS, POLL]}
        for question in ANSWERS:
            for contender in (s.limited, s.beside, s.off, *s.nginx, *s.floors):
                self.add(question, contender, size[question])
        self.add(REFUSED, s.limited, len(s.refusal), refused=True)
        self.rows.append(Row(REFUSED, s.nginx[0], s.of_files["limited"], 162, True, "nginx, limit_req, its own page"))
        self.rows.append(Row(REFUSED, s.nginx[0], s.of_files["worded"], len(s.refusal), True, "nginx, limit_req, same size"))
        for contender in (s.limited, s.beside, s.off):
            self.add(NOT_MODIFIED, contender, 0)
            self.add(POLL, contender, size[POLL])
        for question in ANSWERS:
            self.add(question, s.cold, size[question])
        for question in ANSWERS:
            self.add(question, s.changing, size[question])
        for contender in (s.off, s.cold):
            self.add(NEVER_TWICE, contender, size["/videos?limit=50"])

    def add(self, question, contender, size, refused=False):
        self.rows.append(Row(question, contender, contender.requests[question], size, refused))

    # -- measuring -----------------------------------------------------------------------------------------------------

    def run(self):
        for number in range(self.options.rounds + 1):       # the first warms caches and is thrown away
            say(f"bench: round {number} of {self.options.rounds}" if number else "bench: warming up")
            for row in self.rows:
                self.measure(row)
                if not number:
                    row.results.pop()

    def measure(self, row):
        server = row.contender.server
        is_changing = row.contender is self.servers.changing
        if server and row.question == "/account" and not is_changing:
            # What a minute brings once for each key would else come once for some six requests: its last use is
            # written, and the answer made anew. So all three runs, and tries again of the last, are to be within the minute.
            self.wait_for_budget(row, 2 + TRIES)
            for pause in (SETTLE_SECONDS, 0):
                self.run_once(row)
                self.wait(pause)
        changes = Changes(self.servers.changing_database, self.wrk_cpu) if is_changing else None
        before = self.cache_counts(server) if server else ()
        self.measure_once(row)
        if server:
            hits, misses = (now - then for now, then in zip(self.cache_counts(server), before))
            row.results[-1]["missed"] = misses / max(1, hits + misses)
        if changes:
            changes.stop()

    def measure_once(self, row):
        row.results.append(undisturbed(lambda: self.run_once(row), self.options.seconds, lambda: self.wait_for_budget(row, 1)))

    def run_once(self, row):
        c, options, environment = row.contender, self.options, {"REQUESTS": str(row.requests)}
        budget = self.wait_for_budget(row, 1)
        if budget:
            environment["START"] = str(budget.total)
        if row.question == NEVER_TWICE:
            environment["START"] = str(row.asked)
        commands = measure.redis_commands(c.redis) if c.redis else {}
        redis_before = measure.processor_seconds([c.redis.pid]) if c.redis else 0
        result = measure.wrk(f"http://{c.address}", environment, c.pids, options.seconds, options.connections, self.wrk_cpu)
        row.asked += result["requests"] + options.connections
        if budget:
            budget.spend(result["requests"])
        if c.redis:
            after = measure.redis_commands(c.redis)
            sent = sum(after[name] - commands.get(name, 0) for name in after if name.startswith(("eval", "script")))
            inside = sum(after.values()) - sum(commands.values()) - sent - 1      # and our own INFO
            result["redis_calls"], result["redis_inside"] = sent / result["requests"], inside / result["requests"]
            result["redis_us"] = (measure.processor_seconds([c.redis.pid]) - redis_before) / result["requests"] * 1e6
        result["own_mb"], result["all_mb"] = measure.resident_mb(c.pids)
        self.check(row, result)
        return result

    def wait_for_budget(self, row, runs):
        """Until the keys may ask for so many runs; the budget, None if nothing limits them."""
        budget = None if row.refused else row.contender.budget
        if budget:
            expected = 1.2 * runs * self.options.seconds * (row.results[-1]["rate"] if row.results else FIRST_GUESS)
            self.wait(budget.seconds_until(min(expected, budget.a_minute)))
        return budget

    def wait(self, seconds):
        if seconds:
            threading.Event().wait(seconds)

    def check(self, row, result):
        """The answers were what the row says."""
        size, refused = result["bytes"] / result["requests"], result["refused"] / result["requests"]
        # Some bytes of an answer stand in the count of the next run; /account has times that may be null.
        fits = row.size * 0.95 - 40 <= size <= row.size * 1.02 + HEAD_BYTES
        # A long answer that changes again and again while it is made may be a 503.
        allowed = 0.02 if row.contender is self.servers.changing else 0
        if row.refused and (refused < 0.9 or size > 2 * HEAD_BYTES) or not row.refused and (refused > allowed or not fits):
            raise SystemExit(f"bench: {row.name}, {row.question}: {refused:.1%} refused, {size:,.0f} bytes an answer where "
                             f"the body has {row.size:,.0f}")

    def cache_counts(self, server):
        page = scrape(server)
        return [page.get(f"viewtally_response_cache_{name}_total") for name in ("hits", "misses")]

    # -- tables --------------------------------------------------------------------------------------------------------

    def of(self, question):
        return [row for row in self.rows if row.question == question]

    def nginx_us(self, question):
        return min(row.us for row in self.of(question) if row.name.startswith("nginx"))

    def table(self):
        for question in [*ANSWERS, REFUSED, NOT_MODIFIED, POLL]:
            against = self.nginx_us("/account" if question in (NOT_MODIFIED, POLL) else question)
            wanted = 1.2 if question in (NOT_MODIFIED, POLL) else 1.0
            for row in self.of(question):
                if row.contender in (self.servers.cold, self.servers.changing):
                    continue
                times = against / row.us
                has_goal = row.contender in (self.servers.limited, self.servers.beside)
                redis = [f"{row.median(what):.2f}" for what in ("redis_calls", "redis_inside", "redis_us")] if row.contender.redis else [""] * 3
                yield [question, f"{row.size:,.0f}", row.name, f"{1 - row.median('missed'):.1%}" if row.contender.server and not row.refused else "", f"{row.us:.1f}", f"{times:.2f}", report.verdict(times >= wanted, f"≥ {wanted}") if has_goal else "",
                       f"{row.median('rate'):,.0f}", f"{row.median('p99_ms'):.2f}", *redis, f"{row.median('own_mb'):.1f}", f"{row.median('all_mb'):.1f}"]

    def once_line(self):
        kept, none = (row.us for row in self.of(NEVER_TWICE))
        return (f"Questions that never come twice (one page of videos in ever new spellings): {kept:.1f} µs each with the cache, {none:.1f} µs without: "
                f"{kept / none:.3f} times (goal {report.verdict(kept <= 1.03 * none, '≤ 1')}; 3 % are within what the rounds differ by).")

    def cold_table(self):
        for question in ANSWERS:
            rows = {row.name: row for row in self.of(question)}
            warm, cold, changing = rows[self.servers.off.name], rows[self.servers.cold.name], rows[self.servers.changing.name]
            missed = changing.median("missed")
            extra, changed = cold.us - warm.us, (changing.us - warm.us) / missed if missed else float("nan")
            goal = COLD_GOALS.get(question, COLD_GOAL)
            yield [question, f"{warm.us:.1f}", f"{cold.us:.1f}", f"{extra:.1f}", f"{missed:.0%}", f"{changed:.1f}",
                   report.verdict(max(extra, changed) <= goal, f"≤ {goal}")]



TABLE_HEAD = ["<answer", "body bytes", "<server", "kept", "processor µs/request", "× nginx", "<goal", "requests/s", "p99 ms", "Redis calls/request",
              "commands in scripts", "Redis' own µs", "own memory MB", "resident MB"]
COLD_HEAD = ["<answer", "warm µs", "no cache µs", "extra µs", "data changes: missed", "extra µs of a miss", "<goal"]


def heading(options, load):
    versions = [report.first_line(Nginx._find(), "-v"), report.first_line(Redis._find(), "--version").partition(" sha")[0], report.wrk_version()]
    return report.heading("bench", "bench.py", load, versions) + f"""\
- {options.authors:,} authors with {data.VIDEOS_AN_AUTHOR} videos each and {options.keys:,} keys
- {options.connections} connections; medians of {options.rounds} rounds of {options.seconds} s; {WORDS}; server on one processor, wrk on another
"""


def text_of(bench):
    return f"""
{report.table(TABLE_HEAD, list(bench.table()))}

"Redis beside": the limit of 60 in Redis, which shares a processor with wrk or with the server. "× nginx": how many times as many answers as nginx's better row a second of the processor gives (above 1 is better than nginx; 304 and the empty poll
stand beside nginx on /account's file). "kept": the share of answers that came out of the cache. "Redis calls" are those that the server sends; they run "commands in scripts". "own memory" leaves out what is
mapped from files, such as the database, and large answers that are given often, which are in a file in memory; nginx is one worker, its memory that of the worker.

## Cold answers

{report.table(COLD_HEAD, list(bench.cold_table()))}

{bench.once_line()}

"no cache": each answer is made from the database ([cache] max_bytes = 0). "data changes": all authors' data changes fifty times a second.
"""


def run_tables(servers, options, wrk_cpu):
    bench = Bench(options, servers, wrk_cpu)
    bench.plan()
    bench.run()
    return text_of(bench)


# In this order; each measures and gives its part of the text.
PARTS = {"table": run_tables, "tail": tail.section, "memory": bench_memory.section}


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=1, help="of one run of wrk (1)")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--authors", type=int, default=1000)
    parser.add_argument("--keys", type=int, default=10000)
    parser.add_argument("--quick", action="store_true", help="one round, 200 authors, and nothing is written")
    parser.add_argument("--results", default=str(HERE / "RESULTS.md"), help="where the tables are written; empty: nowhere")
    parser.add_argument("--parts", default=",".join(PARTS), help="only these; then nothing is written")
    parser.add_argument("--big-videos", type=int, default=10000, help="of the author who asks for very much")
    parser.add_argument("--poll-rate", type=int, default=2000, help="a second, of the pollers beside that author")
    parser.add_argument("--idle", type=int, default=10000, help="idle connections")
    options = parser.parse_args()
    options.parts = options.parts.split(",")
    if options.quick:
        options.rounds, options.authors, options.big_videos, options.idle = 1, 200, 2000, 1000
    if options.quick or options.parts != list(PARTS):
        options.results = ""
    return options


def main():
    options = parse_options()
    for program in ("wrk", "taskset", "nginx", "redis-server"):
        if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
            raise SystemExit(f"bench: {program} is not installed")
    os.environ["VIEWTALLY_BIN"] = report.bench_binary()
    load = report.load_before()
    server_cpu, wrk_cpu = measure.two_processors()
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=ROOT / "build") as directory:
        servers = Servers(directory, options, server_cpu, wrk_cpu)
        try:
            servers.start()
            text = heading(options, load) + "".join(PARTS[part](servers, options, wrk_cpu) for part in options.parts)
        finally:
            servers.stop()
    report.write(options.results, text)


if __name__ == "__main__":
    main()
