#!/usr/bin/python3
"""What a run of the refresh costs those who ask meanwhile. `make bench-refresh`; needs wrk.

200,000 videos on all five platforms, so 1,000,000 live posts, of 4,000 authors, each with a key. A server with the simulated source is asked by wrk,
first while nothing else happens, then while it refreshes all of them, again and again, each time anew, until it has been asked as often. Shown are the
p99 of both, readings a second of the runs (with wrk beside them, and of one that has the machine for itself), and how large the write-ahead log became.
"""
import argparse
import datetime
import json
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

import bench  # noqa: E402
import bench_data as data  # noqa: E402
import measure  # noqa: E402
from lib import wait  # noqa: E402
from lib.viewtally import Viewtally  # noqa: E402

TARGETS = ["/v1/videos?limit=50", "/v1/events"]
PLATFORMS = ("tiktok", "instagram", "youtube", "facebook", "pinterest")
VIDEOS_AN_AUTHOR = 50
RUN_SECONDS = 600


def world(authors):
    now = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
    for number in range(authors):
        author = data.name_uuid(f"author {number}")
        yield {"type": "author", "id": author, "name": f"Author {number}"}
        for n in range(VIDEOS_AN_AUTHOR):
            video = data.name_uuid(f"video {number} {n}")
            posted = data.iso(now - datetime.timedelta(hours=2 + 12 * n))
            yield {"type": "video", "id": video, "author_id": author, "title": f"Video {n} of author {number}",
                   "posts": [{"platform": platform, "post_id": f"{video}-{platform}", "posted_at": posted} for platform in PLATFORMS]}


class Bench:
    def __init__(self, options, directory):
        self.options = options
        self.directory = pathlib.Path(directory)
        self.server = Viewtally(self.directory, {"refresh": {"source": "simulated"}})
        self.database = self.server.settings["store"]["path"]
        self.largest_log = 0
        self.alone = []
        self.beside = []

    def prepare(self):
        lines = self.directory / "lines.ndjson"
        with open(lines, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in world(self.options.posts // len(PLATFORMS) // VIDEOS_AN_AUTHOR))
        self.server.run("import", str(lines))
        lines.unlink()
        self.keys = self.directory / "keys"
        self.keys.write_text("".join(key + "\n" for key, _ in data.add_keys(self.database, self.options.keys)))
        self.db = sqlite3.connect(self.database, isolation_level=None, timeout=60)

    def rate(self):
        """Readings a second of the newest run, and whether there is one that has ended."""
        rows = self.db.execute("SELECT id, started_at, finished_at FROM refresh_runs WHERE outcome = 0 ORDER BY id DESC LIMIT 1").fetchall()
        if not rows:
            return None
        run, begun, ended = rows[0]
        readings = self.db.execute("SELECT sum(value) FROM refresh_counts WHERE run_id = ? AND name = 'accepted'", (run,)).fetchone()[0]
        return readings / max(ended - begun, 1) * 1000

    def forget_runs(self):
        """The next one is due at once then."""
        self.db.execute("DELETE FROM refresh_runs WHERE outcome IS NOT NULL")

    def watch_log(self, stop):
        while not stop.wait(0.05):
            try:
                self.largest_log = max(self.largest_log, os.stat(self.database + "-wal").st_size)
            except FileNotFoundError:
                pass

    def ask(self, target):
        url = f"http://{self.server.address}{target}"
        return measure.run_wrk(url, self.keys, [self.server.pid], self.options.seconds, self.options.connections)["p99_ms"]

    def wait_for_run(self):
        wait.until(lambda: self.rate() is not None, "a run to end", RUN_SECONDS)
        return self.rate()

    def measure(self):
        """Returns {target: (p99 idle, p99 beside a run)}."""
        self.server.start()
        self.wait_for_run()                                     # the first writes every milestone: not what an hour is like
        self.forget_runs()
        self.alone.append(self.wait_for_run())
        idle = {target: [self.ask(target) for _ in range(self.options.rounds + 1)][1:] for target in TARGETS}
        busy = {target: [] for target in TARGETS}
        while min(map(len, busy.values())) < self.options.rounds:
            for target in TARGETS:
                if self.rate() is not None:
                    self.beside.append(self.rate())
                    self.forget_runs()
                    wait.until(lambda: self.db.execute("SELECT count(*) FROM refresh_runs WHERE outcome IS NULL").fetchone()[0], "a run to begin")
                p99 = self.ask(target)
                if self.rate() is None:                         # it was at work all the time
                    busy[target].append(p99)
        self.beside = self.beside[1:] + [self.wait_for_run()]   # the first one there had no wrk beside it
        return {target: (statistics.median(idle[target]), statistics.median(busy[target])) for target in TARGETS}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--posts", type=int, default=1_000_000)
    parser.add_argument("--keys", type=int, default=4000)
    parser.add_argument("--connections", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=1, help="of one run of wrk (1)")
    options = parser.parse_args()
    if not shutil.which("wrk"):
        raise SystemExit("bench: wrk is not installed")
    os.environ["VIEWTALLY_BIN"] = bench.bench_binary()
    load = os.getloadavg()[0]
    (ROOT / "build").mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=ROOT / "build") as directory:
        run = Bench(options, directory)
        run.prepare()
        stop = threading.Event()
        watcher = threading.Thread(target=run.watch_log, args=(stop,))
        watcher.start()
        try:
            results = run.measure()
        finally:
            stop.set()
            watcher.join()
            run.server.stop()
    print(f"{bench.machine()}; load before: {load:.2f}")
    print(f"{options.posts:,} live posts, {options.connections} connections, medians of {options.rounds} rounds of {options.seconds} s")
    for target, (idle, busy) in results.items():
        print(f"{target:24} p99 {idle:8.2f} ms, during a run {busy:8.2f} ms: {busy / idle:.2f} times")
    print(f"a run alone: {run.alone[0]:,.0f} readings/s; beside wrk: {statistics.median(run.beside):,.0f} readings/s")
    print(f"the write-ahead log became {run.largest_log / 1e6:,.0f} MB at the most")


if __name__ == "__main__":
    main()
