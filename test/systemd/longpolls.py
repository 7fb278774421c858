#!/usr/bin/python3
"""Runs in the machine: holds long polls until SIGINT, and prints how many succeeded and failed.

Usage: longpolls.py PORT KEY COUNT
"""
import http.client
import signal
import sys
import threading


def main():
    port, key, count = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    done, failures, lock, stop = [0], [], threading.Lock(), threading.Event()
    signal.signal(signal.SIGINT, lambda *_: stop.set())

    def poll():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        while not stop.is_set():
            try:
                connection.request("GET", "/v1/events?after=latest&wait=3", headers={"Authorization": f"Bearer {key}"})
                response = connection.getresponse()
                body = response.read()
                if response.status != 200:
                    raise ValueError(f"{response.status} {body[:200]!r}")
            except (OSError, ValueError, http.client.HTTPException) as error:
                with lock:
                    failures.append(repr(error))
                connection.close()
                continue
            with lock:
                done[0] += 1

    threads = [threading.Thread(target=poll) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(f"{done[0]} succeeded, {len(failures)} failed {failures[:3]}")


if __name__ == "__main__":
    main()
