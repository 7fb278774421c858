"""scripts/bootstrap installs missing packages without starting their services, and removes what it needs for that."""
import os
import signal
import subprocess

import pytest

from lib import wait
from lib.viewtally import ROOT

MARK = "# of scripts/bootstrap\n"


@pytest.fixture
def start(tmp_path):
    """Starts a copy of the script in a tree of its own, which lacks one package. The policy is in `tmp_path`. apt-get records it and waits."""
    text = (ROOT / "scripts/bootstrap").read_text(encoding="utf-8")
    text = text.replace("policy=/usr/sbin/policy-rc.d", f"policy={tmp_path}/policy")
    text = text.replace("need_group() {", 'need_group() {\n    need no-such-program "$1-package"\n    return\n')
    programs = {"apt-get": f"cat {tmp_path}/policy >>{tmp_path}/seen 2>&1\necho $$ >>{tmp_path}/started\nwhile [ ! -e {tmp_path}/go ]; do sleep 0.01; done\n",
                "sudo": 'exec "$@"\n'}
    for name, lines in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{lines}", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "TMPDIR": str(tmp_path)}
    started = []

    def run(*arguments):
        script = tmp_path / f"clone-{len(started)}/scripts/bootstrap"
        script.parent.mkdir(parents=True)
        script.write_text(text, encoding="utf-8")
        started.append(subprocess.Popen(["sh", script, *arguments], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                        start_new_session=True))
        return started[-1]

    yield run
    for process in started:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def until_installing(path):
    wait.until((path / "started").exists, "apt-get")


@pytest.mark.parametrize("number", [None, signal.SIGHUP, signal.SIGINT, signal.SIGTERM])
def test_policy_against_services_ends_with_the_bootstrap(start, tmp_path, number):
    process = start("build")
    until_installing(tmp_path)
    assert MARK in (tmp_path / "policy").read_text()
    if number:
        os.killpg(process.pid, number)
    else:
        (tmp_path / "go").touch()
    process.communicate(timeout=60)
    assert process.returncode == (130 if number else 0)
    assert not (tmp_path / "policy").exists() and not list(tmp_path.glob("tmp.*"))


@pytest.mark.parametrize("policy, remains", [("#!/bin/sh\n" + MARK + "exit 101\n", False), ("#!/bin/sh\nexit 101\n", True)])
def test_policy_of_a_killed_bootstrap_is_removed_and_that_of_an_administrator_stays(start, tmp_path, policy, remains):
    (tmp_path / "policy").write_text(policy)
    (tmp_path / "go").touch()
    assert start("build").wait(60) == 0
    assert (tmp_path / "policy").exists() == remains


def test_bootstraps_of_two_clones_run_one_after_the_other(start, tmp_path):
    """Otherwise the first one would remove the policy while the second one still installs."""
    first = start("build")
    until_installing(tmp_path)
    second = start("build")
    wait.until(lambda: "flock" in subprocess.run(["ps", "-o", "args=", "-g", str(second.pid)], capture_output=True, text=True, check=False).stdout,
               "the second bootstrap to wait")
    assert len((tmp_path / "started").read_text().splitlines()) == 1
    (tmp_path / "go").touch()
    assert first.wait(60) == 0 and second.wait(60) == 0
    assert (tmp_path / "seen").read_text().count(MARK) == 4      # `apt-get update` and `apt-get install` of both


def test_check_names_a_command_that_installs_the_missing_packages(start):
    process = start("--check", "static", "run")
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 1 and "Missing packages: static-package run-package\n" in output
    assert "'scripts/bootstrap static run' (as root or with sudo)" in output
