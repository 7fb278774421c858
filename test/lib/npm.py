"""Pinned npm packages for tests: test/<name>/package-lock.json, installed once into build/<name>."""
import fcntl
import os
import re
import shutil
import subprocess

import pytest

from .viewtally import ROOT

NO_NETWORK = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|E50[234]|"
                        r"network|ENOTCACHED", re.I)
NODE_MINIMUM = (18, 17)
INSTALL_SECONDS = 300


def run(command, directory, seconds):
    """Runs a command and returns (exit status, output)."""
    environment = {**os.environ, "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "NO_COLOR": "1",
                   "npm_config_update_notifier": "false"}
    done = subprocess.run(command, cwd=directory, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=seconds, check=False)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def needed_tools():
    for tool in ("node", "npm"):
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < NODE_MINIMUM:
        pytest.skip(f"Node.js 18.17 is needed, this is {version.strip()}")


def install(name):
    """Returns the directory with the node_modules of test/<name>. Concurrent test runs may call it."""
    needed_tools()
    pinned, installed = ROOT / "test" / name, ROOT / "build" / name
    installed.mkdir(parents=True, exist_ok=True)
    with open(installed / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        _install_locked(pinned, installed)
    return installed


def _install_locked(pinned, installed):
    stamp = installed / "installed-lock.json"
    wanted = (pinned / "package-lock.json").read_bytes()
    if (installed / "node_modules").exists() and stamp.exists() and stamp.read_bytes() == wanted:
        return
    for file in ("package.json", "package-lock.json"):
        shutil.copy(pinned / file, installed / file)
    status, output = run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1", "--fetch-timeout=30000"],
                         installed, INSTALL_SECONDS)
    if status != 0 and NO_NETWORK.search(output):
        pytest.skip(f"the npm registry cannot be reached, and build/{installed.name} lacks packages that the test needs")
    assert status == 0, output
    stamp.write_bytes(wanted)
