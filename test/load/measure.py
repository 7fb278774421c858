"""Runs wrk against a process and reads the processor time of that process from /proc."""
import json
import os
import pathlib
import re
import subprocess
import time

SCRIPT = pathlib.Path(__file__).with_name("requests.lua")


def pin(pid, cpu):
    """Binds all threads of a process, and those that they start, to one processor. Does nothing if `cpu` is None,
    because the machine has only one."""
    if cpu is not None:
        for task in os.listdir(f"/proc/{pid}/task"):
            os.sched_setaffinity(int(task), {cpu})


def children(pid):
    text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return [int(child) for child in text.split()]


def processor_seconds(pids):
    """Processor time of all threads, user and system: nanoseconds of the scheduler if available, else ticks."""
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
    """(own, all): resident memory without and with mapped files (the database, libraries)."""
    own = everything = 0
    for pid in pids:
        text = pathlib.Path(f"/proc/{pid}/status").read_text()
        everything += int(re.search(r"VmRSS:\s+(\d+)", text).group(1))
        own += int(re.search(r"RssAnon:\s+(\d+)", text).group(1))
    return own / 1024, everything / 1024


def wrk(url, environment, pids, seconds, connections, cpu=None):
    """One run of requests.lua: its RESULT, with `rate` (requests per second), `p99_ms` and `us` (processor time of `pids` per
    request in microseconds)."""
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


class Budget:
    """Requests that a set of keys may still make, so that a bench never reaches the rate limit whose cost it measures. A tenth
    is reserved, because wrk does not distribute the keys exactly."""

    def __init__(self, a_minute, clock=time.monotonic):
        self.a_minute = a_minute * 0.9
        self.clock = clock
        self.spent = []             # (time, requests)
        # Number of requests since the start. The next run begins at the line with this number of the request file, so that the
        # runs use all keys evenly.
        self.total = 0

    def seconds_until(self, requests):
        """How long to wait until this many requests are possible."""
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
    """One for the server, one for everything else; (None, None) if there is only one."""
    cpus = sorted(os.sched_getaffinity(0))
    return (cpus[0], cpus[-1]) if len(cpus) > 1 else (None, None)
