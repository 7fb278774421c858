"""Ruff finds nothing in the Python files of the project. It is pinned in test/ruff and installed into build/ruff by npm, once."""
import pytest

from lib import npm
from lib.viewtally import ROOT

CHECKER = ROOT / "test/ruff/check.mjs"
CHECK_SECONDS = 60


@pytest.fixture(scope="module")
def check():
    """check(paths) returns exit status and output."""
    directory = npm.install("ruff")
    return lambda paths: npm.run(["node", str(CHECKER), str(directory), *map(str, paths)], directory, CHECK_SECONDS)


def python_files():
    scripts = [path for path in (ROOT / "scripts").iterdir() if path.read_bytes().startswith(b"#!/usr/bin/python3")]
    return sorted([*(ROOT / "test").rglob("*.py"), *scripts])


def test_ruff_finds_nothing(check):
    status, output = check(python_files())
    assert status == 0, output


def test_ruff_reports_an_unused_import(check, tmp_path):
    path = tmp_path / "unused.py"
    path.write_text("import os\n", encoding="utf-8")
    status, output = check([path])
    assert status == 1 and "F401" in output
