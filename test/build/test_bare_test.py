"""scripts/bare-test with a fake debootstrap: two runs never use one directory at the same time."""
import os
import pathlib
import subprocess

import pytest

from lib import wait

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "scripts/bare-test"


@pytest.fixture
def start(tmp_path):
    """start() starts the script. Its debootstrap creates `started`, waits for `go` and fails."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name, script in (("id", "echo 0"), ("apt-get", ":"), (
            "debootstrap", f"echo >>{tmp_path}/started; until [ -e {tmp_path}/go ]; do sleep 0.05; done; exit 1")):
        (tools / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (tools / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tools}:{os.environ['PATH']}", "BARE_DIR": str(tmp_path / "bare")}
    yield lambda: subprocess.Popen([SCRIPT, "bookworm"], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    (tmp_path / "go").touch()


def test_second_run_in_the_same_directory_is_refused(start, tmp_path):
    first = start()
    wait.until((tmp_path / "started").exists, "debootstrap")
    second = start()
    _, errors = second.communicate(timeout=60)
    assert second.returncode == 2 and f"another bare-test is running in {tmp_path}/bare" in errors and "BARE_DIR" in errors
    (tmp_path / "go").touch()
    assert first.wait(60) == 1
    third = start()
    _, errors = third.communicate(timeout=60)
    assert third.returncode == 1 and "another" not in errors
    assert (tmp_path / "started").read_text(encoding="utf-8") == "\n\n"
