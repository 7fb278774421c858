"""A bench that receives a signal stops its servers and deletes its directory."""
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

import pytest

import measure
from lib import wait
from lib.viewtally import binary

HERE = pathlib.Path(__file__).resolve().parent


def descendants(pid):
    """{process id: command line} of all descendants of a process."""
    found = {}
    try:
        for child in measure.children(pid):
            found[child] = pathlib.Path(f"/proc/{child}/cmdline").read_text(encoding="utf-8", errors="replace").replace("\0", " ")
            found.update(descendants(child))
    except (FileNotFoundError, ProcessLookupError):     # the process has exited
        pass
    return found


@pytest.fixture
def made():
    """A directory for temporary files that PostgreSQL's user may enter. The path of a Unix socket must be short."""
    with tempfile.TemporaryDirectory(prefix="vt-") as directory:
        os.chmod(directory, 0o755)
        yield pathlib.Path(directory)


@pytest.mark.parametrize("bench, arguments, command", [
    ("bench_pg", ["--quick"], "postgres:"), ("bench_refresh", ["--posts", "200"], "sleep 3600"),
    ("bench_webhooks", ["--endpoints", "50"], "viewtally serve")],
    ids=["PostgreSQL", "wrk", "server"])
def test_interrupted_bench_stops_its_servers_and_deletes_its_directory(tmp_path, made, bench, arguments, command):
    wrk = tmp_path / "tools/wrk"
    wrk.parent.mkdir()
    wrk.write_text("#!/bin/sh\nexec sleep 3600\n", encoding="utf-8")
    wrk.chmod(0o755)
    environment = {**os.environ, "PATH": f"{wrk.parent}:{os.environ['PATH']}", "TMPDIR": str(made), "VIEWTALLY_BIN": binary()}
    with open(tmp_path / "output", "w+", encoding="utf-8") as output:
        process = subprocess.Popen([sys.executable, HERE / f"{bench}.py", *arguments], env=environment, stdout=output, stderr=output, cwd=tmp_path)
        wait.until(lambda: process.poll() is not None or any(command in line for line in descendants(process.pid).values()), command)
        started = descendants(process.pid)
        directories = {os.readlink(f"/proc/{pid}/cwd") for pid, line in started.items() if line.startswith(binary())}
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)     # timeout(1) sends it twice
        status = process.wait(60)
        output.seek(0)
        text = output.read()
    try:
        assert status == 130, text
        wait.until(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in started), "the servers to end")
        assert not list(made.iterdir()) and not any(map(os.path.exists, directories))
    finally:
        for pid in started:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
