#!/usr/bin/python3
"""Checks the rate limit on real clocks: floods two servers with one Redis for some minutes and counts the admitted requests.

Usage: test/load/exact.py [SECONDS]     (default: 150; needs redis-server and a build of viewtally)

The tests prove the same on a fake clock (test/flow/test_exact.py); this program uses real clocks and runs longer.
Prints the counts, and exits with 1 if a rule was broken.
"""
import concurrent.futures
import pathlib
import random
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parents[number] / name) for number, name in ((1, ""), (2, "scripts"))]

import programs                                     # noqa: E402
from lib import wait                                # noqa: E402
from lib.services import Redis                      # noqa: E402
from lib.viewtally import Viewtally                 # noqa: E402

LIMIT = 60
WINDOW = 60.0
FLOODERS = 6


def pause(seconds):
    """Waits on the real clock, which tests never do."""
    end = time.monotonic() + seconds
    wait.until(lambda: time.monotonic() >= end, "the time to pass", seconds + 10)


def flood(servers, key, until, seed):
    """Sends bursts to both servers; returns (sent, received, status) per request."""
    rng, requests = random.Random(seed), []
    clients = [server.client(key) for server in servers]
    while time.monotonic() < until:
        client = rng.choice(clients)
        for _ in range(rng.randint(1, 30)):
            sent = time.monotonic()
            requests.append((sent, 0, client.get("/account").status))
            requests[-1] = (sent, time.monotonic(), requests[-1][2])
        pause(rng.choice([0.05, 0.2, 1, 3]))
    return requests


def check_retry_after(servers, key, until):
    """Exhausts the limit, then retries a second too early and at the stated time, repeatedly; returns violations."""
    violations, rounds = [], 0
    clients = [server.client(key) for server in servers]
    while time.monotonic() < until:
        responses = [clients[n % 2].get("/account") for n in range(LIMIT + 5)]
        last = next((a for a in responses if a.status == 429), None)
        if last is None:
            violations.append("more than the limit was admitted")
            break
        retry_after, at = int(last.headers["Retry-After"]), time.monotonic()
        # Retry-After is rounded up, so the slot may be freed up to a second earlier than it says.
        pause(max(0, retry_after - 1.1 - (time.monotonic() - at)))
        if retry_after > 2 and clients[0].get("/account").status != 429:
            violations.append("admitted a second before Retry-After")
        pause(max(0, retry_after + 0.05 - (time.monotonic() - at)))
        if clients[1].get("/account").status != 200:
            violations.append("rejected although Retry-After had passed")
        rounds += 1
    return violations, rounds


def fullest_window(admitted):
    """The largest number of requests that were certainly admitted within one window: sent after its start, answered before its end."""
    admitted = sorted(admitted)
    most = 0
    for i, (begin, _) in enumerate(admitted):
        inside = 0
        for sent, received in admitted[i:]:
            if sent - begin >= WINDOW:
                break
            inside += received - begin < WINDOW
        most = max(most, inside)
    return most


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 150.0
    with tempfile.TemporaryDirectory() as directory, Redis(directory + "/redis") as redis:
        config = {"limits": {"requests_per_minute": LIMIT}, "redis": {"url": redis.url}}
        first = Viewtally(directory + "/1", config)
        author = first.add_author()
        flooded, obeyed = first.create_key(author), first.create_key(author)
        second = Viewtally(directory + "/2", {**config, "store": first.settings["store"]})
        # The servers stop before the pool waits for its threads, so that an interrupt ends all requests.
        with concurrent.futures.ThreadPoolExecutor(FLOODERS + 1) as pool, first, second:
            for server in (first, second):
                wait.until(lambda s=server: "redis: up" in s.log, "Redis to be up")
            until = time.monotonic() + seconds
            obeying = pool.submit(check_retry_after, (first, second), obeyed, until)
            floods = [pool.submit(flood, (first, second), flooded, until, n) for n in range(FLOODERS)]
            requests = [one for each in floods for one in each.result()]
            violations, rounds = obeying.result()
            away = sum(server.log.count("redis: unavailable") for server in (first, second))
    admitted = [(sent, received) for sent, received, status in requests if status == 200]
    fullest = fullest_window(admitted)
    print(f"{len(requests)} requests in {seconds:g} s, {len(admitted)} admitted; the fullest {WINDOW:g} s hold {fullest}; "
          f"{rounds} rounds obeyed Retry-After; Redis was unavailable {away} times")
    if away:
        print("inconclusive: a Redis call took longer than 50 ms, so the processes limited on their own for a time; run it again on an idle machine")
        return 2
    if fullest > LIMIT:
        violations.append(f"{fullest} admitted within {WINDOW:g} s")
    if {status for _, _, status in requests} > {200, 429}:
        violations.append("a request failed")
    if len(admitted) < LIMIT * int(seconds // WINDOW):
        violations.append("fewer were admitted than fit")
    for violation in violations:
        print("BROKEN:", violation)
    return 1 if violations else 0


if __name__ == "__main__":
    programs.exit_on_signals(main)
