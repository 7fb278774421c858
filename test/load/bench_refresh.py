#!/usr/bin/python3
"""Measures the duration of a refresh and the latency of requests during it. `make bench-refresh`; needs wrk.

The database has 5,000 authors with 40 videos on 5 platforms each: 1,000,000 live posts. One run reads all posts from a
file that is dropped into the spool, another run from the simulated source. Before each run and during it, wrk requests
/videos?limit=50 and /events with the keys of all authors, at a moderate rate: on a few connections, with pauses.
Compare times only within one bench, because the machine runs wrk, the server's loop and the run at the same time.

--posts 50000 gives a quick result, --data DIR keeps the database for the next bench.
"""
import argparse
import contextlib
import datetime
import json
import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import uuid

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "test"), str(ROOT / "scripts")]

import report  # noqa: E402
import bench_data as data  # noqa: E402
import programs  # noqa: E402
from lib import wait  # noqa: E402
from lib.spool import Spool  # noqa: E402
from lib.viewtally import Viewtally  # noqa: E402

VIDEOS, PLATFORMS = 40, ("tiktok", "instagram", "youtube", "facebook", "pinterest")
TARGETS = ["/v1/videos?limit=50", "/v1/events"]
HOUR = datetime.timedelta(hours=1)


def say(text):
    print(text, file=sys.stderr, flush=True)


def video_names(authors):
    for a in range(authors):
        for v in range(VIDEOS):
            yield a, v, f"{a}-{v}"


def lines(authors, now):
    """Authors, videos and one reading of each post an hour ago, so that most videos have reached a milestone or two."""
    posted = [data.iso(now - data.DAY * (1 + v * 27 / VIDEOS)) for v in range(VIDEOS)]
    before = data.iso(now - HOUR)
    ids = [data.name_uuid(f"author {a}") for a in range(authors)]
    for a, author in enumerate(ids):
        yield f'{{"type":"author","id":"{author}","name":"Author {a}"}}\n'
    for a, v, name in video_names(authors):
        video = uuid.UUID(int=(a << 64 | v) | (0x4000 << 64) << 2 | 1 << 127)
        posts = ",".join(f'{{"platform":"{p}","post_id":"{name}","posted_at":"{posted[v]}","url":"https://{p}.example/{name}"}}'
                         for p in PLATFORMS)
        yield (f'{{"type":"video","id":"{video}","author_id":"{ids[a]}","title":"Video {v} of author {a}",'
               f'"thumbnail_url":"https://cdn.example/{video}.jpg","posts":[{posts}]}}\n')
    yield from readings(authors, before, 1)


def readings(authors, when, growth):
    """One reading of each post: 100 to 80,000 views, a fifth more with each `growth`."""
    for a, v, name in video_names(authors):
        views = int((100 + (a * 7919 + v * 104729) % 1000 ** 2 / 12.5) * 1.2 ** growth)
        for p in PLATFORMS:
            yield (f'{{"type":"reading","platform":"{p}","post_id":"{name}","observed_at":"{when}","views":{views},'
                   f'"likes":{views // 9},"comments":{views // 90},"shares":{views // 40},"saves":{views // 50}}}\n')


class Wrk:
    """wrk on one target until stop()."""

    def __init__(self, address, target, keys_file, options):
        environment = {**os.environ, "KEYS": str(keys_file), "KEYS_LUA": str(HERE / "keys.lua"), "PAUSE_MS": str(options.pause_ms)}
        self.process = subprocess.Popen(
            ["wrk", "-t1", f"-c{options.connections}", "-d3600s", "--latency", "-s", str(HERE / "paced.lua"), f"http://{address}{target}"],
            env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def result(self):
        self.process.send_signal(signal.SIGINT)
        out, _ = self.process.communicate(timeout=30)
        match = re.search(r"^RESULT (.*)$", out, re.M)
        result = json.loads(match.group(1)) if match else {}
        if not result or result["refused"] or result["broken"] or not result["requests"]:
            raise SystemExit(f"bench: wrk failed:\n{out}")
        return result


class Watch(threading.Thread):
    """Samples the write-ahead log and the memory of a server several times a second and records the maximum."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.server = server
        self.wal_mb = self.own_mb = 0.0
        self.ended = threading.Event()
        self.start()

    def run(self):
        while not self.ended.wait(0.05):
            with contextlib.suppress(OSError):
                self.wal_mb = max(self.wal_mb, os.stat(self.server.settings["store"]["path"] + "-wal").st_size / 1e6)
                status = pathlib.Path(f"/proc/{self.server.pid}/status").read_text()
                self.own_mb = max(self.own_mb, int(re.search(r"RssAnon:\s+(\d+)", status).group(1)) / 1024)

    def stop(self):
        self.ended.set()
        self.join()


class Bench:
    def __init__(self, options, directory):
        self.options = options
        self.directory = directory
        self.authors = options.posts // VIDEOS // len(PLATFORMS)
        self.now = datetime.datetime.now(datetime.timezone.utc)

    def prepare(self):
        """Creates the database, once per --data directory."""
        place = pathlib.Path(self.options.data or self.directory) / f"posts-{self.options.posts}"
        base = Viewtally(place, {"events": {"history_start": "2020-01-01"}})
        self.database = base.settings["store"]["path"]
        if not (place / "complete").exists():
            start = time.monotonic()
            base.run("migrate")
            with open(place / "lines.ndjson", "w", encoding="utf-8") as file:
                file.writelines(lines(self.authors, self.now))
            made = time.monotonic()
            base.run("import", "--create", "lines.ndjson", timeout=3600)
            say(f"bench: {self.options.posts:,} posts: generated in {made - start:.0f} s, imported in {time.monotonic() - made:.0f} s")
            (place / "lines.ndjson").unlink()
            (place / "complete").touch()

    def serve(self, source):
        """Starts a server on a copy of the database, and writes a file with one key per author. Returns both."""
        directory = self.directory / source
        directory.mkdir()
        shutil.copy(self.database, directory / "viewtally.db")
        self.spool = Spool(directory / "spool")
        server = Viewtally(directory, {"refresh": {"source": source, "spool_dir": self.spool.path, "minute": self.far_minute()}})
        keys = data.add_keys(server.settings["store"]["path"], self.authors)
        (directory / "keys").write_text("".join(key + "\n" for key, _ in keys))
        # A complete run has just ended, so that none is due when the server starts.
        with contextlib.closing(sqlite3.connect(server.settings["store"]["path"])) as database:
            database.execute("INSERT INTO refresh_runs (cause, holder, started_at, finished_at, outcome) VALUES (1, 'bench', ?1, ?1, 0)",
                             (int(time.time() * 1000),))
            database.commit()
        return server.start(), directory / "keys"

    def far_minute(self):
        """A minute of the hour that does not occur during the bench."""
        return (datetime.datetime.now().minute + 45) % 60

    def measure(self, server, keys, work):
        """Measures both targets while `work` runs."""
        with contextlib.ExitStack() as stack:
            running = []
            for target in TARGETS:
                running.append(Wrk(server.address, target, keys, self.options))
                stack.callback(running[-1].process.kill)
            work()
            return [wrk.result() for wrk in running]

    def run(self, source):
        server, keys = self.serve(source)
        try:
            self.measure(server, keys, lambda: self.let_pass(self.options.idle_seconds / 5))      # warms up
            idle = self.measure(server, keys, lambda: self.let_pass(self.options.idle_seconds))
            start = {"spool": self.drop, "simulated": lambda: self.command(server)}[source]()
            watch = Watch(server)
            busy = self.measure(server, keys, lambda: start(server))
            watch.stop()
            return source, idle, busy, self.last_run(server), watch
        finally:
            server.stop()

    def let_pass(self, seconds):
        threading.Event().wait(seconds)

    def drop(self):
        """Returns a function that drops a file of readings, which is prepared here, into the spool and waits until it
        is processed."""
        when = datetime.datetime.now(datetime.timezone.utc)
        text = "".join(readings(self.authors, data.iso(when), 2)).encode()

        def work(server):
            self.spool.drop("readings.ndjson", text)
            self.wait_for(lambda: self.spool.done == ["readings.ndjson"])
            self.wait_for(lambda: self.last_run(server))
        return work

    def command(self, server):
        """Returns a function that makes the server start a scheduled run, by moving the time of the last run into the
        past, and waits for it."""
        def work(_):
            with contextlib.closing(sqlite3.connect(server.settings["store"]["path"], timeout=10)) as database:
                database.execute("UPDATE refresh_runs SET started_at = started_at - 7200000")
                database.commit()
            self.wait_for(lambda: self.last_run(server))
        return work

    def wait_for(self, condition):
        wait.until(condition, "the run", seconds=3600, pause_most=0.02)

    def last_run(self, server):
        """(seconds, readings accepted, result) of the last run; None if no run has ended."""
        with contextlib.closing(sqlite3.connect(server.settings["store"]["path"], timeout=10)) as database:
            rows = database.execute("SELECT (finished_at - started_at) / 1000.0, (SELECT ifnull(sum(value), 0) FROM refresh_counts "
                                    "WHERE run_id = id AND name = 'accepted'), outcome FROM refresh_runs "
                                    "WHERE holder <> 'bench' AND outcome IS NOT NULL ORDER BY id DESC LIMIT 1").fetchall()
        if rows and (rows[0][1] != self.options.posts or rows[0][2] != 0):
            raise SystemExit(f"bench: the run took {rows[0][1]:,} of {self.options.posts:,} readings, outcome {rows[0][2]}")
        return rows[0] if rows else None


def table(results):
    yield "| source | target | | requests/s | p50 ms | p99 ms | p99, times idle | longest ms |"
    yield "|---|---|---|---:|---:|---:|---:|---:|"
    for source, idle, busy, _, _ in results:
        for target, before, during in zip(TARGETS, idle, busy):
            for name, r in (("idle", before), ("run", during)):
                ratio = "" if r is before else f"{r['p99_us'] / before['p99_us']:.2f}"
                yield (f"| {source} | {target} | {name} | {r['requests'] / r['seconds']:,.0f} | {r['p50_us'] / 1000:.2f} | {r['p99_us'] / 1000:.2f} | "
                       f"{ratio} | {r['max_us'] / 1000:.1f} |")
    yield ""
    yield "| source | readings | seconds | readings/s | largest log MB | most own memory MB |"
    yield "|---|---:|---:|---:|---:|---:|"
    for source, _, _, (seconds, accepted, _), watch in results:
        yield f"| {source} | {accepted:,} | {seconds:.1f} | {accepted / seconds:,.0f} | {watch.wal_mb:.0f} | {watch.own_mb:.0f} |"


def text_of(options, results, load):
    text = "\n".join(table(results))
    return f"""# `make bench-refresh`

Written by `test/load/bench_refresh.py`, whose head explains the measurement. Last run: {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC.

- machine: {report.machine()}; load before the run: {load:.2f}{report.BUSY if load > report.BUSY_LOAD else ""}
- {report.first_line(report.bench_binary(), "--version")}; {report.wrk_version()}
- {options.posts:,} live posts; {options.connections} connections for each target, pauses of {options.pause_ms} ms, keys of all authors

{text}

"seconds" is the whole run as it is recorded: reading the file, sorting, applying. "own memory" leaves out what is mapped from files.
"""


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--posts", type=int, default=1_000_000, help="live posts; whole authors have 200 (1,000,000)")
    parser.add_argument("--sources", default="spool,simulated")
    parser.add_argument("--connections", type=int, default=4, help="connections for each target (4)")
    parser.add_argument("--pause-ms", type=float, default=20, help="pause of a connection between two requests, in ms (20)")
    parser.add_argument("--idle-seconds", type=float, default=10)
    parser.add_argument("--data", help="a directory where the database is stored for later runs")
    parser.add_argument("--results", default=str(HERE / "RESULTS-refresh.md"), help="where the tables are written; empty: nowhere")
    return parser.parse_args()


def main():
    options = parse_options()
    if not shutil.which("wrk"):
        raise SystemExit("bench: wrk is not installed")
    os.environ["VIEWTALLY_BIN"] = report.bench_binary()
    load = os.getloadavg()[0]
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=ROOT / "build") as directory:
        run = Bench(options, pathlib.Path(directory))
        run.prepare()
        results = [run.run(source) for source in options.sources.split(",")]
    text = text_of(options, results, load)
    print(text)
    if options.results:
        pathlib.Path(options.results).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    programs.exit_on_signals(main)
