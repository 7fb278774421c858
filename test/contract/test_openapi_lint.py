"""Redocly's linter on src/api/openapi.json with its recommended-strict rules: no error, no warning.

The linter is pinned in test/openapi and installed into build/openapi by npm, once.
"""
import fcntl
import json
import os
import re
import shutil
import subprocess

import pytest

from lib.viewtally import ROOT

DOCUMENT = ROOT / "src/api/openapi.json"
PINNED = ROOT / "test/openapi"
INSTALLED = ROOT / "build/openapi"
NO_NETWORK = re.compile(r"ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ECONNRESET|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|ERR_SOCKET_TIMEOUT|E50[234]|"
                        r"network|ENOTCACHED", re.I)
NODE_MINIMUM = (18, 17)
INSTALL_SECONDS = 300
LINT_SECONDS = 120


def run(command, seconds):
    environment = {**os.environ, "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true", "NO_COLOR": "1",
                   "npm_config_update_notifier": "false"}
    done = subprocess.run(command, cwd=INSTALLED, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, timeout=seconds, check=False)
    return done.returncode, done.stdout.decode("utf-8", "replace")


def needed_tools():
    for tool in ("node", "npm"):
        if not shutil.which(tool):
            pytest.skip(f"{tool} is not installed: the OpenAPI document was not linted")
    version = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True).stdout
    if tuple(map(int, re.findall(r"\d+", version)[:2])) < NODE_MINIMUM:
        pytest.skip(f"the linter needs Node.js 18.17, this is {version.strip()}: the OpenAPI document was not linted")


def install():
    """Installs the pinned linter unless that version is there; several test runs may want it at once."""
    linter = INSTALLED / "node_modules/.bin/redocly"
    stamp = INSTALLED / "installed-lock.json"
    wanted = (PINNED / "package-lock.json").read_bytes()
    if linter.exists() and stamp.exists() and stamp.read_bytes() == wanted:
        return linter
    for name in ("package.json", "package-lock.json"):
        shutil.copy(PINNED / name, INSTALLED / name)
    status, output = run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--fetch-retries=1",
                          "--fetch-timeout=30000"], INSTALL_SECONDS)
    if status != 0 and NO_NETWORK.search(output):
        pytest.skip("the npm registry cannot be reached: the OpenAPI document was not linted")
    assert status == 0, output
    stamp.write_bytes(wanted)
    return linter


@pytest.fixture(scope="module")
def lint():
    """lint(path) gives exit status and output."""
    needed_tools()
    INSTALLED.mkdir(parents=True, exist_ok=True)
    with open(INSTALLED / "lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        linter = install()
    return lambda path: run([str(linter), "lint", "--config", str(PINNED / "redocly.yaml"), str(path)], LINT_SECONDS)


def test_lint_finds_nothing(lint):
    status, output = lint(DOCUMENT)
    assert status == 0 and "warning" not in output, output


def test_lint_is_strict(lint, tmp_path):
    """What is only a warning otherwise fails here: a document without a license."""
    document = json.loads(DOCUMENT.read_text(encoding="utf-8"))
    del document["info"]["license"]
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    status, output = lint(path)
    assert status != 0 and "info-license" in output, output
