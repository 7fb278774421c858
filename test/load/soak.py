#!/usr/bin/python3
"""Mixed traffic for a long time, then checks for leaks, errors and wrong data. Usage: [SOAK_MINUTES=30] test/load/soak.py

A real nginx (packaging/nginx/viewtally.conf) over two processes of the release build with one database and one real Redis. Readers,
pollers, authors in browsers, OAuth exchanges, wrong requests, stalled and slow clients; at the same time a refresh every
two minutes, Redis restarts, backups, SIGHUPs. At the end: no 5xx and no unexpected response, resident memory flat within 5 %
after the first third, the same open files, no connection left, every event seen once by its poller, and all data equal to
the independent model in test/model. Exit status 1 if any of that does not hold.
"""
import collections
import os
import pathlib
import random
import re
import shutil
import signal
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
import uuid

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[1] / name) for name in ("", "property")]
sys.dont_write_bytecode = True

from bench_data import insert_keys, make_key         # noqa: E402
from property.compare import Comparison                      # noqa: E402
from lib import oauth, wait                         # noqa: E402
from lib.client import Client                       # noqa: E402
from lib.metrics import scrape                      # noqa: E402
from lib.pages import Browser, sign_up                       # noqa: E402
from lib.processes import open_files                # noqa: E402
from lib.services import Nginx, Redis               # noqa: E402
from lib.shipped import nginx_conf                  # noqa: E402
from lib.viewtally import ROOT, Viewtally           # noqa: E402
from model import Responses                           # noqa: E402
from soak_traffic import Greedy, Poller, Reader, Slow, Stalled, Stranger, Tally, Visitor      # noqa: E402
from soak_world import SoakWorld, now_ms            # noqa: E402

SAMPLE_SECONDS = 5
REFRESH_SECONDS, REDIS_SECONDS, BACKUP_SECONDS, SIGHUP_SECONDS = 120, 150, 170, 45
REDIS_AWAY_SECONDS = 3
# During the warm-up (the first third), every action is so many times as frequent, so that each process executes all of
# them.
WARM_UP_FACTOR = 5
MEMORY_FLAT = 1.05
LIMIT = 6000            # requests per minute and key: the readers stay below it, the greedy client exceeds it
WARM_KEYS = 12_000      # enough to touch nearly every page of the key cache, which has a fixed size
DRAIN_SECONDS = 90      # nginx keeps connections to viewtally open for 60 s


def resident_kib(pid):
    text = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+) kB", text)[1])


def files_and_sockets(pid):
    """Open files by name, and the number of sockets."""
    names = open_files(pid)
    return (collections.Counter(re.sub(r"\[\d+\]", "", name) for name in names if not name.startswith("socket:")),
            sum(name.startswith("socket:") for name in names))


class Soak:
    password = "correct horse battery"

    def __init__(self, directory, minutes):
        self.directory = pathlib.Path(directory)
        self.seconds = minutes * 60
        self.over = threading.Event()
        self.tally = Tally()
        self.samples = {}           # pid -> [(seconds since the start, KiB, sockets)]
        self.done = collections.Counter()
        self.rng = random.Random("soak")

    # -- set-up -------------------------------------------------------------------------------------------------------

    def start(self):
        self.redis = Redis(self.directory / "redis").start()
        self.world = SoakWorld(self.directory)
        self.sockets = [f"unix:{self.directory}/{number}.sock" for number in (1, 2)]
        self.nginx = Nginx(self.directory / "nginx", nginx_conf(self.sockets))
        self.address = self.nginx.address
        self.servers = [self.make_server(number) for number in (1, 2)]
        self.fill()
        for server in self.servers:
            server.start()
            wait.until(lambda s=server: "redis: up" in s.log, "Redis to be up")
        self.warm_key_table()
        self.idle = {server.pid: files_and_sockets(server.pid) for server in self.servers}
        self.nginx.start()
        self.make_people()

    def make_server(self, number):
        server = Viewtally(self.directory / f"server-{number}", {
            "server": {"listen": f"unix:{self.directory}/{number}.sock", "base_url": f"http://{self.address}/v1", "trusted_proxies": "unix"},
            "store": {"path": self.directory / "viewtally.db"}, "redis": {"url": self.redis.url},
            "limits": {"requests_per_minute": LIMIT}, "cache": {"max_bytes": 1 << 20},
            "refresh": {"source": "spool", "spool_dir": self.world.spool.path}}, seams=False)
        server.binary = str(self.directory / "viewtally")   # a copy, so that a build during the test does not change the binary
        return server

    def fill(self):
        """Creates authors with videos and two keys each, and an app that authors connect."""
        first = self.servers[0]
        first.import_lines(self.world.lines())
        self.key_of = {author_id: first.create_key(author_id) for author_id in self.world.authors}
        self.keys = list(self.key_of.values())
        self.greedy_key = first.create_key(self.world.authors[0], "greedy")
        self.app = oauth.add_app(first)

    def warm_key_table(self):
        """The key cache uses memory page by page as new keys arrive, which would look like a leak. The warming keys belong to authors
        without pollers and visitors."""
        owners = self.world.authors[6:]
        keys = [(make_key(), uuid.UUID(owners[number % len(owners)]).bytes) for number in range(WARM_KEYS)]
        insert_keys(self.directory / "viewtally.db", keys)
        for server in self.servers:
            with server.client() as client:
                for key, _ in keys:
                    assert client.get("/account", key=key).status == 200

    def make_people(self):
        self.logins = []
        for number, author_id in enumerate(self.world.authors[:4]):
            login = f"author{number}@example.com"
            with Client(self.address, base="", timeout=30) as client:
                sign_up(self.servers[0], author_id, login, self.password, Browser(client))
            self.logins.append(login)

    def stop(self):
        self.over.set()
        for service in (*getattr(self, "servers", []), getattr(self, "nginx", None), getattr(self, "redis", None)):
            if service:
                service.stop()

    # -- disturbances --------------------------------------------------------------------------------------------------

    def workers(self):
        made = [Reader(self, number, 0.2) for number in range(8)]
        made += [Stalled(self, number, 2) for number in range(8)] + [Slow(self, number, 1) for number in range(3)]
        made += [Visitor(self, number, 4, login) for number, login in enumerate(self.logins)]
        made += [Greedy(self, 1, 0.1), Stranger(self, 1, 0.5)]
        self.pollers = [Poller(self, author_id, key) for author_id, key in list(self.key_of.items())[:6]]
        return made + self.pollers

    def schedule(self):
        """(interval in seconds, action) of every disturbance."""
        return [(REFRESH_SECONDS, self.refresh), (REDIS_SECONDS, self.restart_redis), (BACKUP_SECONDS, self.backup),
                (SIGHUP_SECONDS, self.sighup), (SAMPLE_SECONDS, self.sample)]

    def refresh(self):
        self.world.drop()

    def restart_redis(self):
        """Redis is unavailable for some seconds; every second time it is killed."""
        self.redis.stop(signal.SIGKILL if self.done["restart_redis"] % 2 else signal.SIGTERM)
        self.over.wait(REDIS_AWAY_SECONDS)
        self.redis.start()

    def backup(self):
        target = self.directory / "backup.db"
        target.unlink(missing_ok=True)
        self.rng.choice(self.servers).run("backup", target)
        with sqlite3.connect(target) as database:
            assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)

    def sighup(self):
        server = self.servers[self.done["sighup"] % 2]
        server.configure({"log": {"level": self.rng.choice(["info", "warn"])}})
        server.signal(signal.SIGHUP)

    def sample(self):
        for server in self.servers:
            files, sockets = files_and_sockets(server.pid)
            self.samples.setdefault(server.pid, []).append((time.monotonic() - self.began, resident_kib(server.pid), sockets))
            if time.monotonic() - self.began >= self.seconds / 3 and server.pid not in self.warm_files:
                self.warm_files[server.pid] = files

    def run(self):
        self.began = time.monotonic()
        self.warm_files = {}
        workers = self.workers()
        for worker in workers:
            worker.start()
        due = [[every, action, every / WARM_UP_FACTOR] for every, action in self.schedule()]
        while (elapsed := time.monotonic() - self.began) < self.seconds:
            for entry in due:
                if elapsed >= entry[2]:
                    entry[1]()
                    self.done[entry[1].__name__] += 1
                    entry[2] = elapsed + entry[0] / (WARM_UP_FACTOR if elapsed < self.seconds / 3 else 1)
            self.over.wait(0.2)
            if int(elapsed) % 60 == 0 and int(elapsed) // 60 != self.done["minutes"]:
                self.done["minutes"] = int(elapsed) // 60
                self.progress(elapsed)
        self.over.set()
        for worker in workers:
            worker.join(120)
            if worker.is_alive():
                self.tally.fail(worker.kind, "did not end")

    def progress(self, elapsed):
        memory = ", ".join(f"{entries[-1][1] / 1024:.1f} MiB" for entries in self.samples.values())
        print(f"{elapsed / 60:.0f} min: {sum(self.tally.counts.values())} responses, {memory}, {len(self.tally.wrong)} unexpected", flush=True)

    # -- checks --------------------------------------------------------------------------------------------------------

    def problems(self):
        found = list(self.tally.wrong)
        found += [f"{kind}: {count} responses with {status}" for (kind, status), count in self.tally.counts.items() if status >= 500]
        for check in (self.check_data, self.check_memory, self.check_files, self.check_sockets, self.check_logs):
            found += check()
        return found

    def check_data(self):
        """All responses equal the model, and each poller has received each event once."""
        wait.until(lambda: not self.world.spool.waiting, "the spool to be empty", 60)
        found = []
        for author_id, key in self.key_of.items():
            with Client(self.address, key) as client:
                # The server sets created_at from its clock at the first import, which the model cannot read.
                self.world.model.authors[author_id].created_at = None
                comparison = Comparison(client, Responses(self.world.model, author_id, now_ms()), random.Random(author_id))
                comparison.account = lambda: None
                try:
                    comparison.all(each_video=True)
                    comparison.ids = comparison.history()
                except AssertionError as difference:
                    found.append(f"data of {author_id}: {difference}")
                for poller in self.pollers:
                    if poller.author_id == author_id and poller.seen != comparison.ids:
                        found.append(f"a poller of {author_id} saw {len(poller.seen)} events, there are {len(comparison.ids or [])}")
        return found

    def windows(self, entries):
        """The samples of the first and of the last sixth after warm-up."""
        warm = [entry for entry in entries if entry[0] >= self.seconds / 3]
        part = max(1, len(warm) // 6)
        return warm[:part], warm[-part:]

    def check_memory(self):
        found = []
        for pid, entries in self.samples.items():
            # The lower quartile, because hashing a password uses 64 MiB for some 100 ms.
            first, last = (statistics.quantiles([entry[1] for entry in window] * 2, n=4)[0] for window in self.windows(entries))
            sockets = [statistics.median(entry[2] for entry in window) for window in self.windows(entries)]
            print(f"process {pid}: resident {first / 1024:.2f} MiB after warm-up, {last / 1024:.2f} MiB at the end ({100 * (last / first - 1):+.1f} %),"
                  f" largest {max(entry[1] for entry in entries) / 1024:.2f} MiB; sockets {sockets[0]:.0f} and {sockets[1]:.0f}")
            if last > first * MEMORY_FLAT:
                found.append(f"resident memory of {pid} grew from {first} to {last} KiB")
        return found

    def check_files(self):
        """The files that are open at the end must be those that were open after the warm-up."""
        found = []
        for server in self.servers:
            files, _ = files_and_sockets(server.pid)
            before = self.warm_files[server.pid]
            print(f"process {server.pid}: {sum(before.values())} files open after warm-up, {sum(files.values())} at the end")
            grown = files - before
            if grown:
                found.append(f"files opened by {server.pid} and not closed: {dict(grown)}")
        return found

    def check_sockets(self):
        """After nginx has stopped, the processes have as many sockets as after their start."""
        self.nginx.stop()
        found = []
        for server in self.servers:
            idle = self.idle[server.pid][1]
            try:
                wait.until(lambda s=server, n=idle: files_and_sockets(s.pid)[1] <= n, "connections to be closed", DRAIN_SECONDS, pause_most=0.5)
            except wait.TimedOut:
                found.append(f"{server.pid} has {files_and_sockets(server.pid)[1]} sockets without a client, {idle} at the start")
        return found

    def check_logs(self):
        """All errors and warnings in the log are about Redis."""
        found = []
        for server in self.servers:
            print(f"process {server.pid}: largest lag of the loop {scrape(server).get('viewtally_loop_lag_max_seconds'):.3f} s")
            for line in server.log.splitlines():
                if re.search(r"\b(error|warn)\b", line) and "redis" not in line:
                    found.append(f"log of {server.pid}: {line}")
        return found


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))       # so that started processes are stopped
    minutes = float(os.environ.get("SOAK_MINUTES") or 30)
    directory = tempfile.mkdtemp(prefix="soak-")
    shutil.copy2(ROOT / "build/release/viewtally", directory)
    soak = Soak(directory, minutes)
    try:
        soak.start()
        print(f"soak: {minutes:g} minutes in {directory}", flush=True)
        soak.run()
        problems = soak.problems()
    finally:
        soak.stop()
    for (kind, status), count in sorted(soak.tally.counts.items()):
        print(f"{kind}: {count} x {status or 'sent'}")
    print(", ".join(f"{count} x {name}" for name, count in sorted(soak.done.items())))
    for problem in problems[:50]:
        print(f"PROBLEM {problem}")
    print(f"soak: {len(problems)} problems")
    if not problems:
        shutil.rmtree(directory)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
