"""Measures speed and memory of reading, parsing and applying posts, with all stand-ins on the same machine.

    make bench-platforms [BENCH="--posts 50000"]

Uses the release binary and TLS, as in production. Goal: 50,000 posts per minute, and memory that does not grow with the number of accounts.
"""
import argparse
import os
import pathlib
import sys
import tempfile
import time

sys.path[:0] = [str(pathlib.Path(__file__).resolve().parent), str(pathlib.Path(__file__).resolve().parent.parent)]

from lib import wait                                              # noqa: E402
from lib.certificates import Authority                              # noqa: E402
from lib.viewtally import ROOT, Viewtally                           # noqa: E402
from platformworld import PLATFORMS, Standins, World                # noqa: E402


def cpu_seconds(pid):
    """Returns the CPU seconds of a process."""
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_kib(pid):
    """Returns the peak memory of a process in KiB."""
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1])
    return 0            # the process has exited


def measure(directory, authors, videos, bulk):
    directory = pathlib.Path(directory)
    authority = Authority(directory / "ca")
    standins = Standins(apart=True, tls=authority.issue("standin", "IP:127.0.0.1"))
    try:
        os.environ.setdefault("VIEWTALLY_BIN", str(ROOT / "build/release/viewtally"))
        instance = Viewtally(directory / "viewtally")
        world = World(instance, standins)
        world.configure(platforms={"ca_file": authority.ca, "deadline_s": 600, "connect_timeout_ms": 20_000, "timeout_ms": 30_000}, **{name: {"in_flight": 32} for name in PLATFORMS})
        standins.command("pinterest", "set", bulk_granted=bulk)
        for name in standins.names():
            standins.command(name, "set", logging=False)
        posted = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 2 * 86_400))
        world.add(authors=authors, videos=videos, posted_at=posted, login=lambda number: "instagram" if number % 2 else "facebook")
        before = sum(map(cpu_seconds, standins.pids))
        begun = time.monotonic()
        process = instance.background("refresh")
        most = [0]

        def ended():
            most.append(peak_kib(process.pid))
            done = os.wait4(process.pid, os.WNOHANG)
            return done if done[0] else None

        # The peak is not taken from ru_maxrss: a child process inherits that value, so it would begin with the peak of
        # this program.
        _, status, usage = wait.until(ended, "the refresh to end", seconds=600)
        seconds = time.monotonic() - begun
        output = process.output.read_text()
        assert status == 0, output
        world.expect_truth()
        assert standins.violations() == []
        return {"posts": authors * videos * len(PLATFORMS), "accounts": authors * len(PLATFORMS), "seconds": seconds, "cpu": usage.ru_utime + usage.ru_stime,
                "kib": max(most), "standins": sum(map(cpu_seconds, standins.pids)) - before, "calls": sum(standins.calls().values())}
    finally:
        standins.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--posts", type=int, default=50_000)
    parser.add_argument("--authors", default="100,1000", help="numbers of authors to measure; each author has an account on all five platforms")
    parser.add_argument("--bulk", action="store_true", help="as if Pinterest had granted bulk calls")
    options = parser.parse_args()
    print("|  posts | accounts | calls | seconds | posts a minute | of our processor | of the stand-ins' | peak memory |")
    print("| --: | --: | --: | --: | --: | --: | --: | --: |")
    for authors in map(int, options.authors.split(",")):
        with tempfile.TemporaryDirectory() as directory:
            made = measure(directory, authors, options.posts // len(PLATFORMS) // authors, options.bulk)
        print(f"| {made['posts']:,} | {made['accounts']:,} | {made['calls']:,} | {made['seconds']:.1f} | {made['posts'] / made['seconds'] * 60:,.0f} | "
              f"{made['cpu']:.1f} s | {made['standins']:.1f} s | {made['kib'] / 1024:.1f} MiB |", flush=True)


if __name__ == "__main__":
    main()
