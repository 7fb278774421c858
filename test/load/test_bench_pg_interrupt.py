"""A bench that receives a signal stops its servers and deletes its directories."""
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
SECONDS = 300       # far more than the bench needs on a slow machine


def descendants(pid):
    """The process ids of all descendants of a process."""
    found = []
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):     # the process has exited
        for child in measure.children(pid):
            found += [child, *descendants(child)]
    return found


@pytest.fixture
def directory_of_bench():
    """A directory for temporary files that PostgreSQL's user may enter. The path of a Unix socket must be short."""
    with tempfile.TemporaryDirectory(prefix="vt-") as directory:
        os.chmod(directory, 0o755)
        yield pathlib.Path(directory)


def test_interrupted_bench_stops_its_servers_and_deletes_its_directories(tmp_path, directory_of_bench):
    environment = {**os.environ, "TMPDIR": str(directory_of_bench), "VIEWTALLY_BIN": binary()}
    output = tmp_path / "output"
    with open(output, "wb") as file:
        bench = subprocess.Popen([sys.executable, HERE / "bench_pg.py", "--quick"], env=environment, stdout=file, stderr=file, cwd=tmp_path)
    started = []
    try:
        wait.until(lambda: bench.poll() is not None or "bench: importing" in output.read_text(), "PostgreSQL to run", seconds=SECONDS)
        started = descendants(bench.pid)
        assert started, output.read_text()
        bench.send_signal(signal.SIGTERM)
        assert bench.wait(SECONDS) == 130, output.read_text()
        wait.until(lambda: not any(pathlib.Path(f"/proc/{pid}").exists() for pid in started), "the servers to end")
        assert not list(directory_of_bench.iterdir())
    except BaseException:
        for pid in [bench.pid, *started]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        raise
    finally:
        bench.wait()
