#!/usr/bin/python3
"""viewtally beside nginx that serves the very same bytes as files. `make bench`; needs wrk and nginx.

1,000 authors with 55 videos each, and a key of every author. Each server is pinned to the first processor, wrk to the last,
and they take turns for several rounds, so that what else the machine does hits all alike; shown are the medians. The measure that
counts is the processor time of the server per answered request: it does not depend on how fast wrk is.

The rate limit. A key may make 60 requests in a minute, so 1,000 keys last for 60,000 requests, about a second. Hence the limit is
off in the first three rows; the rows that say "limit 60" take the exact window for every request, with so many keys
(--limited-keys) that none is used up: in the process's memory, and in a Redis on wrk's processor. A single refused request
ends the bench with an error, so no row ever counts refusals for answers.
"""
import argparse
import datetime
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(HERE), str(ROOT / "test")]

import bench_data as data  # noqa: E402
import measure  # noqa: E402
from lib.client import Client  # noqa: E402
from lib.services import Nginx, Redis  # noqa: E402
from lib.viewtally import Viewtally  # noqa: E402

TARGETS = ["/v1/account", "/v1/videos?limit=50", "/v1/events"]

# A file server at its best: descriptors cached, no log, connections kept for ever.
NGINX = """
%(user)s
pid @DIR@/nginx.pid; error_log @DIR@/error.log; worker_processes 1;
events { worker_connections 1024; }
http {
  access_log off; client_body_temp_path @DIR@/b; proxy_temp_path @DIR@/p; fastcgi_temp_path @DIR@/f; uwsgi_temp_path @DIR@/u; scgi_temp_path @DIR@/s;
  sendfile %(sendfile)s; tcp_nopush on; keepalive_requests 1000000000; default_type application/json;
  open_file_cache max=20000 inactive=300s; open_file_cache_valid 300s;
  server { listen 127.0.0.1:@PORT@; root %(root)s; }
}
"""


class Contender:
    """A server under measurement: how to reach it and which processes are its own."""

    def __init__(self, name, url, pids, keys_file, targets):
        self.name = name
        self.url = url
        self.pids = pids
        self.keys_file = keys_file
        self.targets = targets
        self.results = {target: [] for target in targets}

    def run(self, target, options, wrk_cpu):
        result = measure.run_wrk(self.url + target, self.keys_file, self.pids, options.seconds, options.connections, wrk_cpu)
        result["own_mb"], result["all_mb"] = measure.resident_mb(self.pids)
        self.results[target].append(result)

    def median(self, target, what):
        return statistics.median(result[what] for result in self.results[target])


def say(text):
    print(text, file=sys.stderr, flush=True)


class Bench:
    def __init__(self, options, directory):
        self.options = options
        self.directory = pathlib.Path(directory)
        cpus = sorted(os.sched_getaffinity(0))
        self.server_cpu, self.wrk_cpu = (cpus[0], cpus[-1]) if len(cpus) > 1 else (None, None)
        self.contenders = []
        self.started = []
        self.sizes = {}

    # -- setting up --------------------------------------------------------------------------------------------------

    def prepare(self):
        start = datetime.datetime.now()
        base = Viewtally(self.directory / "data", {"events": {"history_start": "2020-01-01"}})
        base.run("migrate")
        lines = self.directory / "lines.ndjson"
        data.write_lines(lines, self.options.keys)
        made = datetime.datetime.now()
        base.run("import", str(lines))
        lines.unlink()
        say(f"bench: data generated in {(made - start).total_seconds():.0f} s, imported in {(datetime.datetime.now() - made).total_seconds():.0f} s")
        self.database = base.settings["store"]["path"]
        self.keys = data.add_keys(self.database, self.options.keys)
        self.limited_keys = data.add_keys(self.database, self.options.limited_keys)
        self.start_viewtally("viewtally", {}, self.keys, TARGETS)
        limited = {"limits": {"requests_per_minute": "60"}}
        self.start_viewtally("viewtally, limit 60 in memory", limited, self.limited_keys, TARGETS[:1])
        redis = Redis(self.directory / "redis")
        if Redis.available():
            self.started.append(redis.start())
            measure.pin(redis.pid, self.wrk_cpu)
            self.start_viewtally("viewtally, limit 60 in Redis", {**limited, "redis": {"url": redis.url}}, self.limited_keys, TARGETS[:1])
        self.write_files()
        for sendfile in ("on", "off"):
            self.start_nginx(sendfile)

    def write_keys(self, name, keys, with_prefix=False):
        path = self.directory / (re.sub("[^a-z0-9]+", "-", name) + ".keys")
        path.write_text("".join(f"{key} /{number}\n" if with_prefix else key + "\n" for key, number in keys))
        return path

    def start_viewtally(self, name, config, keys, targets):
        server = Viewtally(self.directory / re.sub("[^a-z0-9]+", "-", name), {"store": {"path": self.database}, **config})
        self.started.append(server.start())
        measure.pin(server.pid, self.server_cpu)
        self.contenders.append(Contender(name, f"http://{server.address}", [server.pid], self.write_keys(name, keys), targets))

    def write_files(self):
        """What the first server answers to each key as files; /account last, which shows that the key has been used."""
        self.files = self.directory / "files"
        address = self.contenders[0].url.removeprefix("http://")
        with Client(address, base="") as client:
            for target in reversed(TARGETS):
                for key, number in self.keys:
                    answer = client.request("GET", target, key=key)
                    assert answer.status == 200, answer
                    path = self.files / str(number) / target.lstrip("/").partition("?")[0]
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(answer.body)
                    self.sizes.setdefault(target, []).append(len(answer.body))

    def start_nginx(self, sendfile):
        user = "user root;" if os.getuid() == 0 else ""
        server = Nginx(self.directory / f"nginx-{sendfile}", NGINX % {"user": user, "sendfile": sendfile, "root": self.files})
        self.started.append(server.start())
        workers = measure.children(server.pid)
        for pid in workers:
            measure.pin(pid, self.server_cpu)
        name = f"nginx, files, sendfile {sendfile}"
        keys = self.write_keys(name, self.keys, with_prefix=True)
        self.contenders.append(Contender(name, f"http://{server.address}", workers, keys, TARGETS))

    # -- measuring ---------------------------------------------------------------------------------------------------

    def run(self):
        for number in range(self.options.rounds + 1):       # the first warms caches and is thrown away
            say(f"bench: round {number} of {self.options.rounds}" if number else "bench: warming up")
            for target in TARGETS:
                for contender in self.contenders:
                    if target in contender.targets:
                        contender.run(target, self.options, self.wrk_cpu)
                        if not number:
                            contender.results[target].clear()

    def stop(self):
        for server in reversed(self.started):
            server.stop()

    # -- the table -----------------------------------------------------------------------------------------------------

    def rows(self):
        for target in TARGETS:
            of_target = [contender for contender in self.contenders if target in contender.targets]
            best = min(contender.median(target, "us") for contender in of_target if contender.name.startswith("nginx"))
            for contender in of_target:
                us, rate, p99, own, everything = (contender.median(target, what) for what in ("us", "rate", "p99_ms", "own_mb", "all_mb"))
                yield [target, f"{statistics.median(self.sizes[target]):,.0f}", contender.name, f"{us:.1f}", f"{us / best:.2f}", f"{rate:,.0f}",
                       f"{p99:.2f}", f"{own:.1f}", f"{everything:.1f}"]


# Other work takes turns with the servers and empties the processor's caches: times, and p99 above all, are longer than they would be.
BUSY_LOAD = 0.5
BUSY = " (**not idle**: other work ran beside it, so compare within a table only)"
HEAD = ["answer", "bytes", "server", "processor µs/request", "× nginx", "requests/s", "p99 ms", "own memory MB", "resident MB"]


def markdown(rows):
    widths = [max(len(row[i]) for row in [HEAD, *rows]) for i in range(len(HEAD))]

    def line(cells):
        return "| " + " | ".join(cell.ljust(width) if i in (0, 2) else cell.rjust(width)
                                 for i, (cell, width) in enumerate(zip(cells, widths))) + " |"

    rule = "|" + "|".join("-" * (width + 2) if i in (0, 2) else "-" * (width + 1) + ":" for i, width in enumerate(widths)) + "|"
    return "\n".join([line(HEAD), rule, *map(line, rows)])


def first_line(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip().partition("\n")[0]


def machine():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*: (.*)$", text, re.M)
    memory = int(re.search(r"MemTotal:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text()).group(1)) / 1024 / 1024
    return (f"{os.cpu_count()} cores ({model.group(1) if model else platform.machine()}), {memory:.0f} GB, "
            f"Linux {platform.release()}")


def report(bench, rows, load):
    options = bench.options
    wrk = first_line("wrk", "-v").partition(" Copyright")[0]
    return f"""# `make bench`

Written by `test/load/bench.py`, which says what is measured and how; the last run, on {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC.

- machine: {machine()}; load before the run: {load:.2f}{BUSY if load > BUSY_LOAD else ""}
- {first_line(bench_binary(), "--version")}; {first_line(Nginx._find(), "-v")}; {wrk}
- {options.keys:,} authors with {data.VIDEOS_AN_AUTHOR} videos each and {options.keys:,} keys; rows with a limit: {options.limited_keys:,} keys
- {options.connections} connections; medians of {options.rounds} rounds of {options.seconds} s; server on one processor, wrk (and Redis) on another

{markdown(rows)}

"× nginx": processor time per request relative to the better of the two nginx rows (below 1 is better than nginx). "own memory" leaves out what is mapped
from files, such as the database. nginx is one worker, its memory that of the worker.
"""


def bench_binary():
    return os.environ.get("VIEWTALLY_BIN", str(ROOT / "build/release/viewtally"))


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=1, help="of one run of wrk (1)")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--keys", type=int, default=1000, help="authors, and keys of the rows without a limit (1000)")
    parser.add_argument("--limited-keys", type=int, default=20000, help="keys of the rows with a limit of 60 (20000)")
    parser.add_argument("--results", default=str(HERE / "RESULTS.md"), help="where the table is written; empty: nowhere")
    return parser.parse_args()


def main():
    options = parse_options()
    for program in ("wrk", "taskset", "nginx"):
        if not shutil.which(program, path=os.environ["PATH"] + ":/usr/sbin:/sbin"):
            raise SystemExit(f"bench: {program} is not installed")
    os.environ["VIEWTALLY_BIN"] = bench_binary()
    load = os.getloadavg()[0]
    if load > BUSY_LOAD:
        say(f"bench: the load of this machine is {load:.2f}: the numbers will be worse than they could be")
    build = ROOT / "build"
    build.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="bench-", dir=build) as directory:
        bench = Bench(options, directory)
        try:
            bench.prepare()
            bench.run()
        finally:
            bench.stop()
        rows = list(bench.rows())
    text = report(bench, rows, load)
    print(text)
    if options.results:
        pathlib.Path(options.results).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
