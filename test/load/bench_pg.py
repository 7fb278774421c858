#!/usr/bin/python3
"""Compares the two stores, SQLite and PostgreSQL, with the same program and the same data. `make bench-pg`; needs wrk and PostgreSQL.

1,000 authors with 55 videos on 3 platforms each are imported into a database file, which `viewtally move` copies to a PostgreSQL of its
own on a Unix socket, with fsync and synchronous_commit. The stores take turns for several rounds, so that other load on the machine
affects both, and the tables show medians. The first round only warms up. The measure is processor time per request, of viewtally and of
PostgreSQL's backends, because it does not depend on the speed of wrk. The processes of PostgreSQL that write to disk in the background
are counted separately.

  cached     the responses come from the response cache, which must hit for 98 % of the requests. One miss of each key does not count for
             /account, see share_from_cache()
  rendered   without a response cache: every response is rendered from the store

viewtally runs on the first processor, PostgreSQL and wrk on the last. There is no rate limit. All requests that arrive in one loop
iteration share one query for the owners of their keys, so PostgreSQL's time per cached request depends on how many they are; the table
shows it. On two processors, wrk and PostgreSQL get in each other's way, and few requests share a query. Then all videos are refreshed several times
in two ways:

  file       a file with a reading of each post is dropped into the spool. In each file, a twentieth of the videos has eight times as many
             views, so that some videos go viral. Both stores must create the same number of events
  simulated  `viewtally refresh` with the simulated platform. There is no file to read and to sort, so this shows how fast readings are
             applied, which is what the goal is about

--quick is one short round with few authors.
"""
import argparse
import contextlib
import datetime
import functools
import json
import os
import pathlib
import resource
import shutil
import statistics
import sys
import tempfile
import time
import typing

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "test"), str(ROOT / "scripts")]
sys.dont_write_bytecode = True

import bench_data as data  # noqa: E402
import measure  # noqa: E402
import programs  # noqa: E402
import report  # noqa: E402
from lib import metrics, postgres, wait  # noqa: E402
from lib.spool import Spool  # noqa: E402
from report import say  # noqa: E402
from servers import CACHE_BYTES, Build  # noqa: E402

ACCOUNT, PAGE = "/v1/account", "/v1/videos?limit=50"
CACHED, RENDERED = "cached", "rendered"
REQUESTS = ((CACHED, ACCOUNT), (CACHED, PAGE), (RENDERED, PAGE))
FILE, SIMULATED = "file", "simulated"
SQLITE, POSTGRES = "SQLite", "PostgreSQL"
CACHE_SIZES = {CACHED: CACHE_BYTES, RENDERED: 0}
MOST_MORE_US, MOST_OWN_US, MOST_BACKEND_US, MOST_HEADS_US, FEWEST_VIDEOS = 4, 120, 150, 3, 40_000
HITS_MIN = 0.98
HEAD_BYTES = 900            # more than the head of any response
SETTINGS = ("shared_buffers = 256MB", "synchronous_commit = on")


class Used(typing.NamedTuple):
    """Processor time in seconds: of viewtally, and of PostgreSQL's processes that serve it or write in the background."""
    own: float
    backends: float
    background: float


def process_seconds(pid):
    """Processor time of a process, with the threads that have exited: the run of a refresh is a thread."""
    try:
        return time.clock_gettime(~pid << 3 | 2)        # what clock_getcpuclockid(3) returns on Linux
    except OSError:
        raise ProcessLookupError(pid) from None


class Cluster:
    """The PostgreSQL with the copy of the data."""

    def __init__(self, cpu):
        self.server = postgres.Postgres(SETTINGS, schema="")
        # Processes that PostgreSQL starts later inherit the processor.
        for pid in (self.server.pid(), *measure.children(self.server.pid())):
            measure.pin(pid, cpu)
        self.database = self.server.database("template0")
        self.url = self.server.url(self.database)

    def sql(self, text):
        return self.server.sql(text, self.database)

    def settle(self):
        """Does what autovacuum and the checkpointer would do in the first minutes after the copy."""
        self.sql("VACUUM (ANALYZE)")
        self.sql("CHECKPOINT")

    def processes(self):
        """{process id: (True if the process serves a connection of viewtally, its processor seconds)}"""
        found = {}
        for pid in measure.children(self.server.pid()):
            with contextlib.suppress(FileNotFoundError, ProcessLookupError):        # the process has exited
                title = pathlib.Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace")
                found[pid] = title.startswith(f"postgres: {postgres.SUPERUSER} "), process_seconds(pid)
        return found


def seconds_of_children():
    """Processor time of the child processes that have exited."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Meter:
    """Measures the processor time from its creation until used(): of viewtally as returned by `own`, and of the processes of the cluster.
    A process of the cluster that exits before used() counts up to the last sample()."""

    def __init__(self, own, cluster):
        self.own, self.cluster = own, cluster
        self.before = cluster.processes() if cluster else {}
        self.last = dict(self.before)
        self.own_before = own()

    def sample(self):
        # An exiting process has no title any more, so a process that has served viewtally stays one that serves it.
        for pid, (serves, seconds) in (self.cluster.processes() if self.cluster else {}).items():
            self.last[pid] = serves or self.last.get(pid, (False, 0.0))[0], seconds

    def used(self):
        self.sample()
        spent = [(serves, seconds - self.before.get(pid, (serves, 0.0))[1]) for pid, (serves, seconds) in self.last.items()]
        return Used(self.own() - self.own_before, *(sum(seconds for serves, seconds in spent if serves is which) for which in (True, False)))


class Store:
    """One of the two stores with its servers."""

    def __init__(self, name, settings, cluster=None):
        self.name = name
        self.settings = settings        # of [store]
        self.cluster = cluster
        self.servers = {}               # {cached or rendered: Viewtally}
        self.results = {request: [] for request in REQUESTS}
        self.refreshes = {FILE: [], SIMULATED: []}

    def median(self, request, what):
        return statistics.median(result[what] for result in self.results[request])

    def refresh_median(self, source, what):
        return statistics.median(result[what] for result in self.refreshes[source])


class Bench:
    def __init__(self, options, directory, cpus, stack):
        self.options = options
        self.directory = directory
        self.server_cpu, self.other_cpu = cpus
        self.stack = stack
        self.cluster = Cluster(self.other_cpu)
        stack.callback(self.cluster.server.remove)

    def prepare(self):
        say("bench: importing")
        self.build = Build(self.directory, report.bench_binary(), self.options)
        self.add_run()
        say("bench: moving")
        base = self.build.make_installation("data", {})
        base.run("move", "--from", self.build.database, "--to", self.cluster.url, timeout=600)
        self.cluster.settle()
        self.stores = [Store(SQLITE, {"path": self.build.database}), Store(POSTGRES, {"url": self.cluster.url}, self.cluster)]
        self.requests = {target: self.build.write_lines(str(i), lambda author, t=target: t) for i, target in enumerate((ACCOUNT, PAGE))}

    def add_run(self):
        """Inserts a complete run that has just ended, so that no run is due when a server starts."""
        self.build.make_installation("data", {}).sql(
            "INSERT INTO refresh_runs (cause, holder, started_at, finished_at, outcome) VALUES (1, 'bench', ?, ?, 0)", *[int(time.time() * 1000)] * 2)

    def serve(self, store, name, config):
        server = self.build.make_installation(f"{store.name}-{name}", {"store": store.settings, **config}).start()
        self.stack.callback(server.stop)
        measure.pin(server.pid, self.server_cpu)
        return server

    def compare_requests(self):
        for store in self.stores:
            store.servers = {name: self.serve(store, name, {"cache": {"max_bytes": size}}) for name, size in CACHE_SIZES.items()}
        self.sizes = self.check_pages()
        say("bench: warming up")
        for request in REQUESTS:
            for store in self.stores:
                self.warm_up(store, request)
        for number in range(1, self.options.rounds + 1):
            say(f"bench: round {number} of {self.options.rounds}")
            for request in REQUESTS:
                for store in self.stores:
                    store.results[request].append(self.run_wrk(store, request))
        for store in self.stores:
            for server in store.servers.values():
                server.stop()

    def check_pages(self):
        """The servers must return the same pages. Returns the size of the body of each request."""
        sizes = {}
        for key, _ in self.build.keys[:10]:
            bodies = set()
            for server in (server for store in self.stores for server in store.servers.values()):
                with server.client(key) as client:
                    bodies.add(client.get("/videos?limit=50").body)
                    sizes[ACCOUNT] = len(client.get("/account").body)
            assert len(bodies) == 1, "the stores return different pages"
            sizes[PAGE] = len(bodies.pop())
        return sizes

    def warm_up(self, store, request):
        """With a response cache, sends each request at least twice, however slow the machine is, because a response is stored on its second
        request."""
        sent, wanted = 0, 2 * self.options.keys if request[0] == CACHED else 1
        while sent < wanted:
            sent += self.run_wrk(store, request, start=sent, is_warm=False)["requests"]

    def run_wrk(self, store, request, start=0, is_warm=True):
        name, target = request
        server = store.servers[name]
        hits, batches = self.hits(server), self.batches(server)
        meter = Meter(lambda: process_seconds(server.pid), store.cluster)
        result = measure.wrk(f"http://{server.address}", {"REQUESTS": str(self.requests[target]), "START": str(start)}, [server.pid], self.options.seconds,
                             self.options.connections, self.other_cpu)
        used = meter.used()
        size = result["bytes"] / result["requests"]
        if result["refused"] or not self.sizes[target] * 0.95 - 40 <= size <= self.sizes[target] * 1.05 + HEAD_BYTES:
            raise SystemExit(f"bench: {store.name}, {target}: {result['refused']} refused, {size:,.0f} bytes per response")
        share = share_from_cache(target, result["requests"], self.hits(server) - hits, self.options.keys)
        if is_warm and (share < HITS_MIN if name == CACHED else share > 0):
            raise SystemExit(f"bench: {store.name}, {target}, {name}: {share:.1%} of the responses came from the cache")
        times = {what: seconds / result["requests"] * 1e6 for what, seconds in used._asdict().items()}
        return {**result, **times, "batch": result["requests"] / max(1, self.batches(server) - batches)}

    def hits(self, server):
        return metrics.scrape(server).get("viewtally_response_cache_hits_total")

    def batches(self, server):
        """Batches of queries that the server has sent; 0 with SQLite."""
        return metrics.scrape(server).get("viewtally_store_server_round_trips_total") or 0

    def compare_file_refreshes(self):
        # The minute does not occur during the bench, so that only the files start runs.
        minute = (datetime.datetime.now().minute + 45) % 60
        running = []
        for store in self.stores:
            spool = Spool(self.directory / f"{store.name}-spool")
            running.append((store, spool, self.serve(store, "refresh", {"refresh": {"source": "spool", "spool_dir": spool.path, "minute": minute}})))
        for number in range(self.options.rounds + 1):
            say(f"bench: refresh {number} of {self.options.rounds}" if number else "bench: refresh to warm up")
            when = data.iso(datetime.datetime.now(datetime.timezone.utc))
            text = "".join(readings(self.options.authors, when, number)).encode()
            results = [self.refresh_from_file(store, spool, server, number, text) for store, spool, server in running]
            if len({result["events"] for result in results}) != 1:
                raise SystemExit(f"bench: the stores created different numbers of events: {results}")
            for store, result in zip(self.stores, results):
                if number:
                    store.refreshes[FILE].append(result)

    def refresh_from_file(self, store, spool, server, number, text):
        name = f"readings-{number}.ndjson"

        def run(meter):
            spool.drop(name, text)
            wait.until(lambda: meter.sample() or name in spool.done, "the run", seconds=600, pause_most=0.02)

        return self.refresh(store, server, lambda: process_seconds(server.pid), run)

    def compare_simulated_refreshes(self):
        commands = [self.build.make_installation(f"{store.name}-simulated", {"store": store.settings, "refresh": {"source": "simulated"}})
                    for store in self.stores]
        for number in range(self.options.rounds + 1):
            say(f"bench: simulated refresh {number} of {self.options.rounds}" if number else "bench: simulated refresh to warm up")
            for store, command in zip(self.stores, commands):
                result = self.refresh(store, command, seconds_of_children, lambda meter, command=command: self.refresh_by_command(command, meter))
                if number:
                    store.refreshes[SIMULATED].append(result)

    def refresh_by_command(self, installation, meter):
        process = installation.background("refresh")
        measure.pin(process.pid, self.server_cpu)
        try:
            wait.until(lambda: meter.sample() or process.poll() is not None, "the command", seconds=600, pause_most=0.02)
        finally:
            process.kill()
            process.wait()
        if process.returncode:
            raise SystemExit(f"bench: viewtally refresh failed: {process.output.read_text()}")

    def refresh(self, store, installation, own, run):
        """Measures run(), which refreshes all videos. own() returns the processor time of viewtally."""
        runs, events, position = len(self.runs(installation)), self.events(installation), self.log_position(store)
        meter = Meter(own, store.cluster)
        run(meter)
        seconds, accepted = wait.until(lambda: self.run_result(installation, runs), "the end of the run")
        used = meter.used()
        videos = self.options.authors * data.VIDEOS_AN_AUTHOR
        if accepted != videos * len(data.PLATFORMS):
            raise SystemExit(f"bench: {store.name}: {accepted:,} readings were accepted")
        return {"seconds": seconds, "videos": videos / seconds, "events": self.events(installation) - events,
                "log": (self.log_position(store) - position) / videos, **{what: value / videos * 1e6 for what, value in used._asdict().items()}}

    def events(self, installation):
        return installation.sql("SELECT count(*) FROM events")[0][0]

    def log_position(self, store):
        """Bytes of write-ahead log that PostgreSQL has written so far."""
        return int(store.cluster.sql("SELECT pg_current_wal_insert_lsn() - '0/0'")[0][0]) if store.cluster else 0

    def runs(self, installation):
        """The runs that have ended, in their order: (id, start, end, outcome)."""
        return installation.sql("SELECT id, started_at, finished_at, outcome FROM refresh_runs WHERE outcome IS NOT NULL ORDER BY id")

    def run_result(self, installation, before):
        """(seconds, accepted readings) of the newest run, once more than `before` runs have ended; otherwise None."""
        runs = self.runs(installation)
        if len(runs) <= before:
            return None
        ident, started, finished, outcome = runs[-1]
        if outcome:
            raise SystemExit(f"bench: a run ended with outcome {outcome}; see `viewtally status` and the log of the server")
        accepted, = installation.sql("SELECT sum(value) FROM refresh_counts WHERE run_id = ? AND name = 'accepted'", ident)[0]
        return (finished - started) / 1000, int(accepted or 0)


def share_from_cache(target, requests, hits, keys):
    """The share of the requests that hit the response cache. Once a minute, the time of the last use of each key is stored. This changes
    the key's response of /account, so its next request misses. On a busy machine, these are more than 2 % of the requests of a run."""
    expected = keys if target == ACCOUNT else 0
    return min(1, (hits + expected) / requests)


def readings(authors, when, number):
    """One reading of each post: a third more views than in the file before, and for a twentieth of the videos eight times as many."""
    today = datetime.datetime.now(datetime.timezone.utc).replace(hour=0, minute=0, second=0, microsecond=0)
    for author in range(authors):
        # author_lines() has two readings of each post. The dictionary keeps the second one, which comes later.
        last = {line["post_id"]: line for line in data.author_lines(author, today) if line["type"] == "reading"}
        for position, line in enumerate(last.values()):
            has_jumped = (author + position // len(data.PLATFORMS)) % 20 <= number
            views = int(line["views"] * 1.3 ** (number + 1)) * (8 if has_jumped else 1)
            yield json.dumps({**line, "observed_at": when, "views": views, "likes": views // 9, "comments": views // 90, "shares": views // 40,
                              "saves": views // 50}) + "\n"


def request_rows(stores):
    for request in REQUESTS:
        for store in stores:
            numbers = [f"{store.median(request, what):.1f}" if store.cluster or what == "own" else "" for what in Used._fields]
            yield [f"{request[1]}, {request[0]}", store.name, *numbers, f"{store.median(request, 'batch'):.1f}" if store.cluster else "",
                   f"{store.median(request, 'rate'):,.0f}", f"{store.median(request, 'p99_ms'):.2f}"]


def refresh_rows(stores):
    for source in (FILE, SIMULATED):
        for store in stores:
            median = functools.partial(store.refresh_median, source)
            numbers = [f"{median(what):.1f}" if store.cluster or what == "own" else "" for what in Used._fields]
            yield [source, store.name, *numbers, f"{median('log'):,.0f}" if store.cluster else "", f"{median('events'):,.0f}",
                   f"{median('seconds'):.2f}", f"{median('videos'):,.0f}"]


def goal_rows(stores):
    sqlite, server = stores
    for request in REQUESTS[:2]:
        more = server.median(request, "own") - sqlite.median(request, "own")
        yield [f"{request[1]}, cached: more time of viewtally than with SQLite", f"{more:.1f} µs", report.verdict(more <= MOST_MORE_US, f"≤ {MOST_MORE_US} µs")]
    for request in REQUESTS[:2]:
        us = server.median(request, "backends")
        yield [f"{request[1]}, cached: time of PostgreSQL's backends", f"{us:.1f} µs", report.verdict(us <= MOST_HEADS_US, f"≤ {MOST_HEADS_US} µs")]
    for what, whose, most in (("own", "viewtally", MOST_OWN_US), ("backends", "PostgreSQL's backends", MOST_BACKEND_US)):
        us = server.median(REQUESTS[2], what)
        yield [f"{REQUESTS[2][1]}, rendered: time of {whose}", f"{us:.1f} µs", report.verdict(us <= most, f"≤ {most} µs")]
    videos = server.refresh_median(SIMULATED, "videos")
    yield ["refresh, simulated: videos per second", f"{videos:,.0f}", report.verdict(videos >= FEWEST_VIDEOS, f"≥ {FEWEST_VIDEOS:,}")]


TIMES = ["viewtally µs", "backends µs", "background µs"]
REQUEST_HEAD = ["<request", "<store", *TIMES, "requests/batch", "requests/s", "p99 ms"]
REFRESH_HEAD = ["<source", "<store", *TIMES, "log bytes", "events", "seconds", "videos/s"]
GOAL_HEAD = ["<with PostgreSQL", "measured", "<goal"]


def text_of(bench, load):
    options, stores = bench.options, bench.stores
    settings = ", ".join(f"{name} = {bench.cluster.sql(f'SHOW {name}')[0][0]}" for name in ("fsync", "synchronous_commit", "shared_buffers"))
    version = report.first_line(str(postgres.programs() / "postgres"), "--version")
    system = report.first_line("findmnt", "-n", "-o", "FSTYPE", "-T", str(bench.directory))
    return report.heading("bench-pg", "bench_pg.py", load, [version, report.wrk_version()]).rstrip("\n") + f"""
- {options.authors:,} authors with {data.VIDEOS_AN_AUTHOR} videos each and {options.keys:,} keys; {options.connections} connections
- medians; rounds: {options.rounds}, {options.seconds} s each; viewtally on one processor, wrk and PostgreSQL on another; load after the run: {os.getloadavg()[0]:.2f}
- data of both stores on {system}; {settings}

{report.table(GOAL_HEAD, list(goal_rows(stores)))}

Requests; processor time per request:

{report.table(REQUEST_HEAD, list(request_rows(stores)))}

A refresh of all videos with {len(data.PLATFORMS)} readings of each; processor time and bytes of write-ahead log per video:

{report.table(REFRESH_HEAD, list(refresh_rows(stores)))}

"background" are the processes of PostgreSQL that write to disk. "requests/batch" are the requests per batch of queries
that viewtally sent; a rendered page needs a batch of its own. "seconds" is the whole run as recorded: for a
file reading, sorting and applying it; for the simulated platform reading the videos from the store and applying.
"""


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=3, help="duration of one run of wrk in seconds (3)")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--authors", type=int, default=1000)
    parser.add_argument("--keys", type=int, default=2000)
    parser.add_argument("--quick", action="store_true", help="one round of a second, 100 authors, writes no results")
    parser.add_argument("--results", default=str(HERE / "RESULTS-pg.md"), help="where the tables are written; empty: nowhere")
    options = parser.parse_args()
    if options.quick:
        options.rounds, options.seconds, options.authors, options.keys, options.results = 1, 1, 100, 200, ""
    return options


def main():
    options = parse_options()
    if not shutil.which("wrk") or not postgres.programs():
        raise SystemExit("bench: wrk or PostgreSQL is not installed")
    load = report.load_before()
    # Both stores are in the directory for temporary files, so that they use the same disk.
    with tempfile.TemporaryDirectory(prefix="viewtally-bench-") as directory, contextlib.ExitStack() as stack:
        bench = Bench(options, pathlib.Path(directory), measure.two_processors(), stack)
        bench.prepare()
        bench.compare_requests()
        bench.compare_file_refreshes()
        bench.compare_simulated_refreshes()
        text = text_of(bench, load)
    report.write(options.results, text)


if __name__ == "__main__":
    programs.exit_on_signals(main)
