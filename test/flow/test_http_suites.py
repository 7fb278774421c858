"""The shared HTTP test suites against a running server. Their drivers are in $VIEWTALLY_SHARED/http or in
../shared/http next to this tree; without them these tests are skipped."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from lib.viewtally import ROOT, sanitized

AUTHOR = "11111111-1111-4111-8111-111111111111"
DRIVERS = pathlib.Path(os.environ.get("VIEWTALLY_SHARED") or ROOT.parent / "shared") / "http"
SECONDS = 240

pytestmark = pytest.mark.skipif(not (DRIVERS / "conformance.py").exists(),
                                reason="the HTTP drivers are neither in $VIEWTALLY_SHARED/http nor in ../shared/http")


@pytest.fixture
def server(make_viewtally):
    instance = make_viewtally()
    instance.import_lines([{"type": "author", "id": AUTHOR, "name": "Suites"}])
    instance.key = instance.create_key(AUTHOR)
    with instance:
        yield instance


def drive(server, driver, *arguments, seconds=SECONDS):
    """Runs a driver against the server. It must report `N passed, 0 failed`, and the server must still run. Returns N."""
    host, _, port = server.address.rpartition(":")
    command = [sys.executable, str(DRIVERS / driver), host, port, "--key", server.key, "--path", "/v1/account", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False,
                          env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"})
    summary = re.search(r"^(\d+) passed, (\d+) failed$", done.stdout, re.M)
    assert summary and summary.group(2) == "0" and done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert server.running
    return int(summary.group(1))


def test_conformance_suite_passes(server):
    """1,251 malformed, edge and valid streams; a strict server passes 1,211 and gets warnings for the others. Bodies are
    sent to an endpoint that responds with 405, because a 400 of the endpoint would look like a 400 of the parser."""
    assert drive(server, "conformance.py", "--post-path", "/v1/account") >= 1211


def test_server_survives_mutated_streams(server):
    drive(server, "fuzz.py", "--n", "3000", "--seed", "20260710")


@pytest.mark.skipif(not (shutil.which("nginx") or os.path.exists("/usr/sbin/nginx")), reason="nginx is not installed")
@pytest.mark.parametrize("mode", [[], ["--stream", "--invalid-headers"]], ids=["buffered", "streamed"])
def test_server_resists_request_smuggling_through_nginx(server, mode):
    drive(server, "behind.py", "--groups", "own", *mode)


@pytest.mark.skipif(os.environ.get("STRICT") != "1" or sanitized(), reason="takes two minutes: runs with STRICT=1, in the plain build")
def test_server_resists_slow_clients(server):
    """Slow heads, slow bodies, clients that do not read, 5,000 idle connections, bursts. Memory and the time limits of the server
    are checked; the latency of ordinary requests is not, because other tests run at the same time."""
    no_latency_limit_ms = "1e9"
    drive(server, "slow.py", "--pid", str(server.pid), "--p99", no_latency_limit_ms, seconds=600)
