"""The head and the tables of a results file: machine, versions, Markdown."""
import datetime
import os
import pathlib
import platform
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Other work on the machine makes all times longer, above all the p99.
BUSY_LOAD = 0.5
BUSY = " (**not idle**: compare within the table only)"


def say(text):
    print(text, file=sys.stderr, flush=True)


def bench_binary():
    return os.environ.get("VIEWTALLY_BIN", str(ROOT / "build/release/viewtally"))


def first_line(*command):
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr).strip().partition("\n")[0]


def wrk_version():
    return first_line("wrk", "-v").partition(" Copyright")[0]


def machine():
    text = pathlib.Path("/proc/cpuinfo").read_text()
    model = re.search(r"^model name\s*: (.*)$", text, re.M)
    memory = int(re.search(r"MemTotal:\s+(\d+)", pathlib.Path("/proc/meminfo").read_text()).group(1)) / 1024 / 1024
    return (f"{os.cpu_count()} cores ({model.group(1) if model else platform.machine()}), {memory:.0f} GB, "
            f"Linux {platform.release()}")


def load_before():
    load = os.getloadavg()[0]
    if load > BUSY_LOAD:
        say(f"bench: the load of this machine is {load:.2f}; times will be longer than on an idle one")
    return load


def heading(name, script, load, versions):
    """The head of a results file: command, date and machine."""
    return f"""# `make {name}`

Written by `test/load/{script}`, whose head explains the measurement, on {datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d %H:%M} UTC.

- machine: {machine()}; load before the run: {load:.2f}{BUSY if load > BUSY_LOAD else ""}
- {"; ".join([first_line(bench_binary(), "--version"), *versions])}
"""


def table(head, rows):
    """A Markdown table; columns whose name begins with "<" are aligned left."""
    left = [name.startswith("<") for name in head]
    head = [name.lstrip("<") for name in head]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]

    def line(cells):
        return "| " + " | ".join(cell.ljust(width) if is_left else cell.rjust(width) for is_left, cell, width in zip(left, cells, widths)) + " |"

    rule = "|" + "|".join("-" * (width + 2) if is_left else "-" * (width + 1) + ":" for is_left, width in zip(left, widths)) + "|"
    return "\n".join([line(head), rule, *map(line, rows)])


def verdict(met, goal):
    return f"{goal}: {'met' if met else 'NOT met'}"


def write(path, text):
    print(text)
    if path:
        pathlib.Path(path).write_text(text, encoding="utf-8")
