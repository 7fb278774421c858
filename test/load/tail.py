"""Slow answers, for `make bench`: at half the capacity beside nginx, and beside an author who asks for very much."""
import datetime
import json
import random
import re
import socket
import statistics
import struct
import subprocess
import threading
import time

import bench_data as data
import measure
import report
from lib.services import preload
from servers import Contender, POLL
from undisturbed import WORDS, undisturbed

CONNECTIONS, POLLERS = 8, 1000
QUESTIONS = ["/account", "/videos?limit=50"]
TAIL_GOAL, DELAY_GOAL_MS = 1.3, 2.0
MORE_ROUNDS = 2             # times as many as of the table: what the machine itself holds up comes in a few of them
STALL_SECONDS = 5


def paced(address, requests, connections, rate, seconds, cpu, start=0):
    """One run of paced.c: its RESULT."""
    pinned = ["taskset", "-c", str(cpu)] if cpu is not None else []
    port = address.rpartition(":")[2]
    command = [*pinned, report.bench_program("paced"), port, str(requests), str(connections), str(rate), str(seconds), str(start)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds + 60)
    match = re.search(r"^RESULT (.*)$", done.stdout, re.M)
    if done.returncode != 0 or not match:
        raise SystemExit(f"bench: paced failed for {address}:\n{done.stdout}{done.stderr}")
    return json.loads(match.group(1))


def wait_for_budget(contender, rate, seconds):
    """Until the limit of its keys, if they have one, allows such a run."""
    budget = contender.budget
    if budget:
        threading.Event().wait(budget.seconds_until(min((rate or 60_000) * seconds, budget.a_minute)))


def ask(contender, question, connections, rate, seconds, cpu):
    """The same within the limit of the contender's keys; no answer may be a refusal."""
    wait_for_budget(contender, rate, seconds)
    budget = contender.budget
    result = paced(contender.address, contender.requests[question], connections, rate, seconds, cpu, budget.total if budget else 0)
    if budget:
        budget.spend(result["asked"])
    if result["refused"]:
        raise SystemExit(f"bench: {contender.name}, {question}: {result['refused']} of {result['requests']} requests were refused")
    return result


def stalls(cpu):
    """A sentence of what the machine itself does to whoever runs on it."""
    done = subprocess.run([report.bench_program("stalls"), str(STALL_SECONDS), str(-1 if cpu is None else cpu)], capture_output=True, text=True, check=True)
    result = json.loads(done.stdout.partition("RESULT ")[2])
    return (f"processor {cpu}: longest {result['longest_ms']:.1f} ms, {result['count'] / STALL_SECONDS:.1f} a second above 1 ms, "
            f"{result['sum_ms'] / STALL_SECONDS / 9:.1f} % of the time")


# -- at half the capacity ----------------------------------------------------------------------------------------------

def at_rate(contender, question, rate, seconds, cpu):
    """One try, with the processor time that a request took: all servers have the same number of them to answer, and rest in between."""
    before = measure.processor_seconds(contender.pids)
    result = ask(contender, question, CONNECTIONS, rate, seconds, cpu)
    result["us"] = (measure.processor_seconds(contender.pids) - before) / result["requests"] * 1e6
    return result


def half_capacity(servers, options, cpu):
    """Rows: target, rate, server, p50, p99, p99.9, p99 times nginx, its goal, processor time, × nginx."""
    for question in QUESTIONS:
        contenders = [servers.limited, servers.beside, servers.off, *servers.nginx, *servers.floors[1:]]
        rate = ask(servers.limited, question, CONNECTIONS, 0, options.seconds, cpu)
        rate = int(rate["requests"] / rate["seconds"] / 2)
        results = {contender.name: [] for contender in contenders}
        for _ in range(MORE_ROUNDS * options.rounds):
            for c in random.sample(contenders, len(contenders)):
                results[c.name].append(undisturbed(lambda: at_rate(c, question, rate, options.seconds, cpu), options.seconds,  # noqa: B023
                                                   lambda: wait_for_budget(c, rate, options.seconds)))  # noqa: B023
        median = {(name, what): statistics.median(r[what] for r in rounds) for name, rounds in results.items() for what in rounds[0]}
        nginx, nginx_us = (min(median[contender.name, what] for contender in servers.nginx) for what in ("p99_us", "us"))
        for contender in contenders:
            times = median[contender.name, "p99_us"] / nginx
            goal = ""
            if contender in (servers.limited, servers.beside):
                goal = report.verdict(times <= TAIL_GOAL, f"≤ {TAIL_GOAL}")
            yield [question, f"{rate:,}", contender.name, *(f"{median[contender.name, what] / 1000:.3f}" for what in ("p50_us", "p99_us", "p999_us")),
                   f"{times:.2f}", goal, f"{median[contender.name, 'us']:.1f}", f"{nginx_us / median[contender.name, 'us']:.2f}"]


# -- beside an author who asks for very much -----------------------------------------------------------------------------

def write_big_author(path, videos, name="big author"):
    """An author with so many videos, posted evenly over the last 90 days and read daily for 28 days each."""
    today = datetime.datetime.now(datetime.timezone.utc).replace(hour=0, minute=0, second=0, microsecond=0)
    author = data.name_uuid(name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(json.dumps({"type": "author", "id": author, "name": f"The {name}"}) + "\n")
        for n in range(videos):
            posted = today - 90 * data.DAY + datetime.timedelta(minutes=int(n * 90 * 1440 / videos))
            post = {"platform": "tiktok", "post_id": f"{name}-{n}", "posted_at": data.iso(posted), "url": f"https://tiktok.example/{videos}/{n}"}
            file.write(json.dumps({"type": "video", "id": data.name_uuid(f"{name} video {n}"), "author_id": author, "title": f"Video {n}", "posts": [post]}) + "\n")
        for day in range(90):
            when = data.iso(today - (90 - day) * data.DAY + datetime.timedelta(hours=23))
            first, last = max(0, (day - 28) * videos // 90), day * videos // 90
            for n in range(first, last):
                file.write(f'{{"type":"reading","platform":"tiktok","post_id":"{name}-{n}","observed_at":"{when}","views":{(day + 1) * (n % 97 + 3)}}}\n')


class Reader(threading.Thread):
    """Asks for one target over and over and reads as fast as it can; pinned beside the other clients."""

    def __init__(self, address, key, target, cpu):
        super().__init__(daemon=True)
        self.request = f"GET {target} HTTP/1.1\r\nHost: bench\r\nConnection: close\r\nAuthorization: Bearer {key}\r\n\r\n".encode()
        host, _, port = address.rpartition(":")
        self.address, self.cpu = (host, int(port)), cpu
        self.ended = threading.Event()
        self.answers = self.bytes = 0
        self.start()

    def run(self):
        if self.cpu is not None:
            measure.pin_thread(self.cpu)
        buffer = bytearray(1 << 20)
        while not self.ended.is_set():
            with socket.create_connection(self.address) as sock:
                sock.sendall(self.request)
                while (count := sock.recv_into(buffer)) and not self.ended.is_set():
                    self.bytes += count
                self.answers += not self.ended.is_set()

    def stop(self):
        self.ended.set()
        self.join()


class Turns:
    """What test/lib/turns.c tells of a server's loop."""

    def __init__(self, directory):
        self.path = directory / "turns"
        self.clear()
        self.environment = {"LD_PRELOAD": preload("turns", directory), "TURNS": str(self.path)}

    def clear(self):
        with open(self.path, "r+b" if self.path.exists() else "wb") as file:
            file.write(bytes(32))

    def read(self):
        """(longest in ms, how many above 1 ms, above 2 ms)."""
        _, longest, above_1, above_2 = struct.unpack("4Q", self.path.read_bytes())
        return longest / 1e6, above_1, above_2


def poll_beside(reader, contender, options, seconds, cpu, turns):
    """One try, with what the reader got and the loop did meanwhile. The turns are counted from a little after its beginning to a little
    before its end: there all pollers come and leave at once, which the loop learns in one turn, and which would be the longest
    whoever reads."""
    told = []
    looks = [threading.Timer(0.1 * seconds, turns.clear), threading.Timer(0.9 * seconds, lambda: told.extend(turns.read()))]
    for look in looks:
        look.start()
    begin, got = time.monotonic(), reader.bytes if reader else 0
    result = ask(contender, POLL, POLLERS, options.poll_rate, seconds, cpu)
    for look in looks:
        look.join()
    result["turn_ms"], result["above_1"], result["above_2"] = told
    if reader:
        result["mb"] = (reader.bytes - got) / 1e6 / (time.monotonic() - begin)
    return result


def beside_a_big_reader(servers, options, cpu):
    """Rows: what is read meanwhile, its MB/s, the pollers' times, the turns of the loop."""
    target = f"/v1/stats?{data.last_days(90)}"
    lines, turns = servers.directory / "big.ndjson", Turns(servers.directory)
    write_big_author(lines, options.big_videos)
    servers.off_server.run("import", "--create", str(lines), timeout=600)
    lines.unlink()
    key = data.add_key(servers.database, data.name_uuid("big author"))
    server, seconds = servers.start_viewtally("big", {}, turns.environment), max(2, options.seconds)
    contender = Contender("big", server.address, [server.pid], servers.own)
    rows = {}
    for _ in range(options.rounds):
        for name, suffix in (("nothing", None), ("90 days, JSON", ""), ("90 days, CSV", "&format=csv")):
            ask(contender, POLL, POLLERS, options.poll_rate, 0.5, cpu)          # new connections are not what is measured
            reader = Reader(server.address, key, target + suffix, cpu) if suffix is not None else None
            result = undisturbed(lambda: poll_beside(reader, contender, options, seconds, cpu, turns), seconds)  # noqa: B023
            if reader:
                reader.stop()
                if not result["mb"]:
                    raise SystemExit(f"bench: the big reader got nothing for {target}")
            rows.setdefault(name, []).append(result)
    median = {(name, what): statistics.median(r[what] for r in results) for name, results in rows.items() for what in results[0]}
    base_ms = max(r["turn_ms"] for r in rows["nothing"])
    for name, results in rows.items():
        is_base, longest = name == "nothing", max(r["turn_ms"] for r in results)
        delay = (median[name, "p99_us"] - median["nothing", "p99_us"]) / 1000
        yield [name, "" if is_base else f"{median[name, 'mb']:,.0f}", *(f"{median[name, what] / 1000:.2f}" for what in ("p50_us", "p99_us", "p999_us", "max_us")),
               "" if is_base else f"{delay:.2f}", f"{longest:.2f}", f"{median[name, 'above_1']:,.0f}, {median[name, 'above_2']:,.0f}",
               "" if is_base else report.verdict(longest - base_ms <= DELAY_GOAL_MS, f"≤ {DELAY_GOAL_MS:.0f} ms longer")]


def section(servers, options, cpu):
    stalled = "; ".join(stalls(each) for each in dict.fromkeys((servers.server_cpu, cpu)))
    half = list(half_capacity(servers, options, cpu))
    big = list(beside_a_big_reader(servers, options, cpu))
    half_head = ["<answer", "requests/s", "<server", "p50 ms", "p99 ms", "p99.9 ms", "p99, times nginx", "<goal", "processor µs/request", "× nginx"]
    big_head = ["<read meanwhile", "MB/s", "p50 ms", "p99 ms", "p99.9 ms", "longest ms", "p99 later by ms", "longest turn ms", "turns > 1 ms, > 2 ms", "<goal"]
    return f"""
## Slow answers

{CONNECTIONS} connections at a fixed rate, half of what viewtally with the limit answers to them at most; times from when a request was due (`paced.c`).
Medians of {MORE_ROUNDS * options.rounds} rounds in which the servers come in ever another order; {WORDS}. For how long this machine keeps waiting a program that nothing in it may interrupt (`stalls.c`, before the rounds):
{stalled}.

{report.table(half_head, half)}

"processor µs/request": here all servers have as many requests to answer and rest in between, which makes each of them dearer; in the first table each
has as many as it can answer, and the one that waits for a Redis beside wrk rests more than the others.

{POLLERS:,} connections that poll `/events` (nothing new), {options.poll_rate:,} requests a second in all, while one more reads 90 days of `/stats` of an author
with {options.big_videos:,} videos over and over:

{report.table(big_head, big)}

"turn": of the server's loop, between two waits, in processor time: what it does in a turn keeps all others waiting, and other work on the machine does not
lengthen it. The longest of all rounds, each without its beginning and end, when the {POLLERS:,} connections come and go.
"""
