"""Running wrk against a process and reading from /proc what that cost it."""
import json
import os
import pathlib
import re
import subprocess
import time

SCRIPT = pathlib.Path(__file__).with_name("requests.lua")


def pin(pid, cpu):
    """All threads of a process, and what they start later, on one processor. None: the machine has only one."""
    if cpu is not None:
        for task in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(task), {cpu})


def pin_thread(cpu):
    """The calling thread."""
    if cpu is not None:
        os.sched_setaffinity(0, {cpu})


def children(pid):
    text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


def processor_seconds(pids):
    """Time on a processor of all threads, user and system: by the scheduler in nanoseconds, else in ticks."""
    total = 0.0
    for pid in pids:
        try:
            tasks = [pathlib.Path(f"/proc/{pid}/task/{task}/schedstat").read_text() for task in os.listdir(f"/proc/{pid}/task")]
            total += sum(int(text.split()[0]) for text in tasks) / 1e9
        except FileNotFoundError:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def resident_mb(pids):
    """Resident memory, the part of files that are mapped (the database, libraries) left out: (own, all)."""
    own = everything = 0
    for pid in pids:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
        everything += int(re.search(r"VmRSS:\s+(\d+)", text).group(1))
        own += int(re.search(r"RssAnon:\s+(\d+)", text).group(1))
    return own / 1024, everything / 1024


def wrk(url, environment, pids, seconds, connections, cpu=None):
    """One run of requests.lua: its RESULT, with `rate` a second, `p99_ms`, and `us`, the processor time of `pids` per
    request in microseconds."""
    pinned = ["taskset", "-c", str(cpu)] if cpu is not None else []
    command = [*pinned, "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", str(SCRIPT), url]
    before = processor_seconds(pids)
    done = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, check=False,
                          timeout=seconds + 30)
    used = processor_seconds(pids) - before
    match = re.search(r"^RESULT (.*)$", done.stdout, re.M)
    if done.returncode != 0 or not match:
        raise SystemExit(f"bench: wrk failed for {url}:\n{done.stdout}{done.stderr}")
    result = json.loads(match.group(1))
    if result["broken"] or not result["requests"]:
        raise SystemExit(f"bench: {url}: {result['requests']} requests, {result['broken']} connections broke")
    return {**result, "rate": result["requests"] / result["seconds"], "p99_ms": result["p99_us"] / 1000, "us": used / result["requests"] * 1e6}


def redis_commands(redis):
    """{name: calls} of what a Redis has run so far; commands inside scripts count too."""
    found = re.findall(r"^cmdstat_([^:]+):calls=(\d+)", redis.call("INFO", "commandstats"), re.M)
    return {name: int(calls) for name, calls in found}


class Budget:
    """Requests that a set of keys may still make, so that a bench never runs into the limit that it measures the cost of. A
    tenth is kept back, as wrk does not deal the keys out to a request exactly."""

    def __init__(self, a_minute, clock=time.monotonic):
        self.a_minute = a_minute * 0.9
        self.clock = clock
        self.spent = []             # (when, how many)
        self.total = 0              # of all time: the line to begin with

    def seconds_until(self, requests):
        """How long to wait until so many may be made."""
        now = self.clock()
        self.spent = [(when, count) for when, count in self.spent if now - when < 61]
        room = self.a_minute - sum(count for _, count in self.spent)
        for when, count in self.spent:
            if room >= requests:
                break
            room += count
            now = when + 61
        return max(0.0, now - self.clock())

    def spend(self, requests):
        self.spent.append((self.clock(), requests))
        self.total += requests


def two_processors():
    """One for the server, one for all others; (None, None) when there is only one."""
    cpus = sorted(os.sched_getaffinity(0))
    return (cpus[0], cpus[-1]) if len(cpus) > 1 else (None, None)
