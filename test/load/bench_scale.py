#!/usr/bin/python3
"""Does a request cost the same with 100 times as many authors? `make bench-scale`; needs wrk and some GB of disk.

Two databases: 1,000 authors with 22 videos on three platforms and 606 days of views each, imported; and 100,000 such authors (2.2 million videos,
60 million days), copied from them (scale_data.py). Both get authors with 200, 2,000 and 20,000 videos. Then, side by side, the processor
time per request at both sizes with kept answers and without; pages; /stats by the size of its answer; and the cache: that it keeps to its
bound, and that it costs nothing when no question is asked twice. Everything is deleted in the end.

BENCH=--small takes a tenth (100 authors against 2,000) and a minute, BENCH="--data DIR" keeps the databases for the next time.
"""
import argparse
import datetime
import itertools
import os
import pathlib
import resource
import shutil
import statistics
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "test")]

import bench_data as data  # noqa: E402
import measure  # noqa: E402
import report  # noqa: E402
import scale_data  # noqa: E402
import tail  # noqa: E402
from lib.metrics import scrape  # noqa: E402
from lib.viewtally import Viewtally  # noqa: E402
from report import say  # noqa: E402

ANSWERS = ["/v1/account", "/v1/videos/{id}", "/v1/events?limit=100", "/v1/stats", "/v1/videos?limit=50"]
HISTORY = {"events": {"history_start": "2020-01-01"}}
GROWTH_GOAL, PAGE_GOAL, LINEAR_GOAL, CACHE_GOAL = 1.1, 1.2, 1.2, 1.02
CACHE_MB = 64
SLACK_MB = 16               # what the allocator and the table of the cache may take beside the answers
MANY = 30000                # keys that are asked in turn when no answer may be kept


def seconds_of(work):
    """(by the clock, on a processor, in commands that it ran)."""
    start, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    work()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.monotonic() - start, after.ru_utime + after.ru_stime - used.ru_utime - used.ru_stime


class Database:
    """One of the two; `asked` are the authors with keys whose answers are compared: the same models at both sizes."""

    def __init__(self, place, authors, asked):
        self.place = pathlib.Path(place)
        self.authors = authors
        self.asked = asked
        self.instance = Viewtally(self.place, HISTORY)
        self.path = self.place / "viewtally.db"

    def megabytes(self):
        return self.path.stat().st_size / 1e6

    def count(self, table):
        return data.read_rows(self.path, f"SELECT count(*) FROM {table}")[0][0]


class Scale:
    def __init__(self, options, directory):
        self.options = options
        self.directory = pathlib.Path(directory)
        self.server_cpu, self.wrk_cpu = measure.two_processors()
        self.started = []
        self.facts = []             # sentences about the making
        self.names = itertools.count(1)

    # -- making ----------------------------------------------------------------------------------------------------------

    def make(self):
        o = self.options
        place = pathlib.Path(o.data or self.directory) / f"scale-{o.authors}-{o.copies}"
        self.small = Database(place / "small", o.authors, list(range(o.authors)))
        self.large = Database(place / "large", o.authors * o.copies, [model + o.authors * (model % o.copies) for model in range(o.authors)])
        if (place / "facts").exists():
            self.facts = (place / "facts").read_text().splitlines()
            return
        self.import_models()
        self.grow()
        for database in (self.small, self.large):
            self.add_big_authors(database)
        (place / "facts").write_text("\n".join(self.facts))

    def note(self, text):
        say("bench: " + text)
        self.facts.append(text)

    def import_models(self):
        today = datetime.datetime.now(datetime.timezone.utc).replace(hour=0, minute=0, second=0, microsecond=0)
        lines = self.small.place / "lines.ndjson"
        self.small.instance.run("migrate")
        made, _ = seconds_of(lambda: scale_data.write_lines(lines, range(self.options.authors), self.options.authors, today))
        readings = self.options.authors * scale_data.days_a_author() * len(scale_data.PLATFORMS)
        taken, used = seconds_of(lambda: self.small.instance.run("import", "--create", str(lines), timeout=1800))
        lines.unlink()
        self.note(f"{self.options.authors:,} authors: lines of {readings:,} readings written in {made:.0f} s, imported in {taken:.0f} s "
                  f"({used:.0f} of a processor; {readings / taken:,.0f} readings/s, with {self.small.count('events'):,} events); {self.small.megabytes():,.0f} MB")

    def grow(self):
        shutil.copy(self.small.path, self.large.path)
        taken, _ = seconds_of(lambda: scale_data.grow(self.large.path, self.small.path, self.options.authors, self.options.copies))
        self.note(f"{self.large.authors:,} authors: {self.large.count('videos'):,} videos, {self.large.count('daily'):,} days and "
                  f"{self.large.count('events'):,} events copied in {taken:.0f} s; {self.large.megabytes():,.0f} MB")

    def big_sizes(self):
        return [size for size in (200, 2000, 20000) if size <= self.options.big_videos]

    def add_big_authors(self, database):
        lines = database.place / "big.ndjson"
        for size in self.big_sizes():
            tail.write_big_author(lines, size, f"big author {size}")
            taken, used = seconds_of(lambda: database.instance.run("import", "--create", str(lines), timeout=1800))
            if size == self.big_sizes()[-1]:
                count = sum(1 for line in open(lines, encoding="utf-8") if '"reading"' in line)
                self.note(f"an author of {size:,} videos with {count:,} readings imported beside {database.authors:,} in {taken:.1f} s "
                          f"({used:.1f} of a processor; {count / taken:,.0f} readings/s)")
        lines.unlink()

    # -- servers and requests ----------------------------------------------------------------------------------------------

    def serve(self, database, config=None):
        instance = Viewtally(self.directory / f"server-{next(self.names)}", {"store": {"path": database.path}, **(config or {})}).start()
        self.started.append(instance)
        measure.pin(instance.pid, self.server_cpu)
        return instance

    def stop(self):
        for instance in self.started:
            instance.stop()
        self.started.clear()

    def requests(self, lines):
        path = self.directory / f"requests-{next(self.names)}"
        path.write_text("".join(line + "\n" for line in lines))
        return path

    def of_authors(self, keys, authors, answer):
        return self.requests(f"{key} {answer.replace('{id}', str(scale_data.make_uuid('video', author, 0)))}" for key, author in zip(keys, authors))

    def wrk(self, instance, requests, start=0, connections=64, seconds=None):
        result = measure.wrk(f"http://{instance.address}", {"REQUESTS": str(requests), "START": str(start)}, [instance.pid],
                             seconds or self.options.seconds, connections, self.wrk_cpu)
        if result["refused"]:
            raise SystemExit(f"bench: {result['refused']} of {result['requests']} requests were refused")
        return result

    def medians(self, runs):
        """runs: {name: function giving a result}; rounds in which all take turns, now in one order and now in the other, the first
        thrown away; {name: median µs}."""
        seen = {name: [] for name in runs}
        for number in range(self.options.rounds + 1):
            for name in list(runs)[::1 if number % 2 else -1]:
                seen[name].append(runs[name]()["us"])
        return {name: statistics.median(values[1:]) for name, values in seen.items()}

    # -- the tables --------------------------------------------------------------------------------------------------------

    def growth(self):
        """Rows: answer, kept: µs small, large, ratio; made: the same; and each author of the large one in turn."""
        say("bench: the same questions at both sizes")
        servers = {(size, kept): self.serve(database, {} if kept else {"cache": {"max_bytes": 0}})
                   for size, database in (("small", self.small), ("large", self.large)) for kept in (True, False)}
        keys = {size: scale_data.add_keys(database.path, database.asked) for size, database in (("small", self.small), ("large", self.large))}
        every = list(range(self.large.authors))[::max(1, self.large.authors // MANY)]
        self.many = list(zip(scale_data.add_keys(self.large.path, every), every))
        for answer in ANSWERS:
            files = {size: self.of_authors(keys[size], database.asked, answer) for size, database in (("small", self.small), ("large", self.large))}
            all_of_them = self.of_authors(*zip(*self.many), answer)
            runs = {key: (lambda k=key: self.wrk(servers[k], files[k[0]])) for key in servers}
            offset = itertools.count(0, MANY // 7)
            runs["every"] = lambda requests=all_of_them, at=offset: self.wrk(servers["large", False], requests, next(at))
            us = self.medians(runs)
            kept, made = us["large", True] / us["small", True], us["large", False] / us["small", False]
            yield [answer.removeprefix("/v1"), f"{us['small', True]:.1f}", f"{us['large', True]:.1f}", f"{kept:.2f}", f"{us['small', False]:.1f}",
                   f"{us['large', False]:.1f}", f"{made:.2f}", f"{us['every']:.1f}", report.verdict(max(kept, made) <= GROWTH_GOAL, f"≤ {GROWTH_GOAL}")]
        self.stop()

    def last_cursor(self, instance, key):
        """Of the last page of 50; and how many pages there are."""
        cursor, pages = None, 1
        with instance.client(key) as client:
            while True:
                page = client.get("/videos", {"limit": 50, "cursor": cursor}).json()
                if not page["has_more"]:
                    return cursor, pages
                cursor, pages = page["next_cursor"], pages + 1

    def pages(self):
        say("bench: pages of an author with very many videos")
        size = self.big_sizes()[-1]
        for name, database in (("small", self.small), ("large", self.large)):
            instance = self.serve(database, {"cache": {"max_bytes": 0}})
            key = data.add_key(database.path, data.name_uuid(f"big author {size}"))
            cursor, pages = self.last_cursor(instance, key)
            first, last = self.requests([f"{key} /v1/videos?limit=50"]), self.requests([f"{key} /v1/videos?limit=50&cursor={cursor}"])
            us = self.medians({"first": lambda: self.wrk(instance, first), "last": lambda: self.wrk(instance, last)})
            ratio = us["last"] / us["first"]
            yield [f"{database.authors:,}", f"{pages:,}", f"{us['first']:.1f}", f"{us['last']:.1f}", f"{ratio:.2f}", report.verdict(ratio <= PAGE_GOAL, f"≤ {PAGE_GOAL}")]
            self.stop()

    def one_by_one(self, instance, key, target):
        """µs per request of a client that waits for each answer, however long it takes; and the length of an answer."""
        with instance.client(key, timeout=120) as client:
            length, count = len(client.request("GET", target).body), 0
            before, end = measure.processor_seconds([instance.pid]), time.monotonic() + self.options.rounds
            while count < 3 or time.monotonic() < end:
                assert len(client.request("GET", target).body) == length
                count += 1
        return (measure.processor_seconds([instance.pid]) - before) / count * 1e6, length

    def stats(self):
        """In the large database; nothing of /stats that is long is kept, and the cache is off."""
        say("bench: /stats by the size of its answer")
        instance = self.serve(self.large, {"cache": {"max_bytes": 0}})
        cost = {}
        for days in (7, 90):
            for size in self.big_sizes():
                key = data.add_key(self.large.path, data.name_uuid(f"big author {size}"))
                target = f"/v1/stats?{data.last_days(days)}"
                us, length = self.one_by_one(instance, key, target)
                cost[days, size] = us / length * 1000
                against = cost[days, self.big_sizes()[0]]
                ratio = cost[days, size] / against
                goal = report.verdict(ratio <= LINEAR_GOAL, f"≤ {LINEAR_GOAL}") if size != self.big_sizes()[0] else ""
                yield [f"{size:,}", str(days), f"{length:,}", f"{us:,.0f}", f"{cost[days, size]:.2f}", f"{ratio:.2f}", goal]
        self.stop()

    def cache(self):
        """Rows: what, figure, goal."""
        say("bench: the bound of the cache, and questions that do not repeat")
        answer = "/v1/videos?limit=50"
        requests = self.of_authors(*zip(*self.many), answer)
        # Groups of authors whose answers fit in, one group after the other: what is asked for again after more than that is not kept.
        parts = 8 if self.options.small else 20
        groups = [self.of_authors(*zip(*self.many[n::parts]), answer) for n in range(4)]
        own = {}
        for size in (CACHE_MB, 0):
            instance = self.serve(self.large, {"cache": {"max_bytes": size << 20}})
            for group in groups:
                self.wrk(instance, group, seconds=2)
            own[size], _ = measure.resident_mb([instance.pid])
            if size:
                page = scrape(instance)
                kept = page.get("viewtally_response_cache_bytes") / 2 ** 20
                yield [f"answers kept of [cache] max_bytes = {size} MiB, MiB", f"{kept:.1f} ({page.get('viewtally_response_cache_evicted_total'):,.0f} made room)",
                       report.verdict(kept <= size, f"≤ {size}")]
            self.stop()
        yield ["own memory after the same requests with that cache, with none, MiB", f"{own[CACHE_MB]:.1f}, {own[0]:.1f}",
               report.verdict(own[CACHE_MB] - own[0] <= CACHE_MB + SLACK_MB, f"≤ {CACHE_MB} + {SLACK_MB} more")]
        with_cache, without = self.serve(self.large), self.serve(self.large, {"cache": {"max_bytes": 0}})
        # Half the authors apart: whoever came second to an author would find the pages in the processor's caches.
        at = {"with": 0, "without": len(self.many) // 2}

        def run(name, server):
            result = self.wrk(server, requests, at[name])
            at[name] += result["requests"] + 200        # and those that were under way at the end
            return result
        us = self.medians({"with": lambda: run("with", with_cache), "without": lambda: run("without", without)})
        hits = scrape(with_cache).get("viewtally_response_cache_hits_total")
        ratio = us["with"] / us["without"]
        repeats = " (some did repeat)" if hits else ""
        yield [f"nothing repeats: µs with cache, without{repeats}", f"{us['with']:.1f}, {us['without']:.1f}: {ratio:.2f}", report.verdict(ratio <= CACHE_GOAL, f"≤ {CACHE_GOAL}")]
        self.stop()

    def text(self, load):
        growth, pages, stats, cache = (list(part()) for part in (self.growth, self.pages, self.stats, self.cache))
        o = self.options
        facts = "\n".join(f"- {fact}" for fact in self.facts)
        return report.heading("bench-scale", "bench_scale.py", load, [report.wrk_version()]) + f"""{facts}
- processor time per request; medians of {o.rounds} rounds of {o.seconds} s, 64 connections; server on one processor, wrk on another

## The same question with {self.small.authors:,} and with {self.large.authors:,} authors

{report.table(["<answer", f"kept: {self.small.authors:,} µs", f"{self.large.authors:,} µs", "times", f"made: {self.small.authors:,} µs", f"{self.large.authors:,} µs",
               "times", "made, many authors µs", "<goal"], growth)}

Asked are {len(self.small.asked):,} authors at both sizes, with the same answers; "many authors": {len(self.many):,} of the larger database in turn. "kept": out of the cache;
"made": [cache] max_bytes = 0.

## First and last page of an author with {self.big_sizes()[-1]:,} videos

{report.table(["authors", "pages", "first µs", "last µs", "times", "<goal"], pages)}

## `/stats` by the size of its answer

{report.table(["videos of the author", "days", "bytes", "µs/request", "ns/byte", "times the smallest", "<goal"], stats)}

## The cache

{report.table(["<what", "measured", "<goal"], cache)}
"""


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--authors", type=int, default=1000, help="of the smaller database")
    parser.add_argument("--copies", type=int, default=100, help="of it in the larger one")
    parser.add_argument("--big-videos", type=int, default=20000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=1, help="of one run of wrk (1)")
    parser.add_argument("--small", action="store_true", help="100 authors against 2,000, one round, and nothing is written")
    parser.add_argument("--data", help="a directory in which the databases are kept for the next time")
    parser.add_argument("--results", default=str(HERE / "RESULTS-scale.md"), help="where the tables are written; empty: nowhere")
    options = parser.parse_args()
    if options.small:
        options.authors, options.copies, options.big_videos, options.rounds, options.results = 100, 20, 2000, 1, ""
    return options


def main():
    options = parse_options()
    for program in ("wrk", "taskset"):
        if not shutil.which(program):
            raise SystemExit(f"bench: {program} is not installed")
    os.environ["VIEWTALLY_BIN"] = report.bench_binary()
    load = report.load_before()
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=ROOT / "build") as directory:
        scale = Scale(options, directory)
        try:
            scale.make()
            text = scale.text(load)
        finally:
            scale.stop()
    report.write(options.results, text)


if __name__ == "__main__":
    main()
