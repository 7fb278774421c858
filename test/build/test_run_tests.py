"""scripts/run-tests counts tests; with STRICT=1 a skipped test is a failure unless it is listed."""
import importlib.machinery
import importlib.util
import pathlib

import pytest

SCRIPT = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts/run-tests"
TAP = "1..2\nok 1 - works\nok 2 # SKIP needs_a_device\n"
PYTEST = "import pytest\n\n\n@pytest.mark.skip(reason='no device')\ndef test_skipped():\n    pass\n\n\ndef test_works():\n    pass\n"


@pytest.fixture
def script(tmp_path, monkeypatch):
    loader = importlib.machinery.SourceFileLoader("run_tests", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", loader))
    loader.exec_module(module)
    monkeypatch.setattr(module, "LOGS", tmp_path)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    (tmp_path / "test").mkdir()
    return module


def allow(root, part, test):
    text = f'[[skip]]\npart = "{part}"\ntest = "{test}"\nreason = "r"\n' if test else "skip = []\n"
    (root / "test/allowed-skips.toml").write_text(text)


def unit_program(directory):
    path = directory / "test_x"
    path.write_text("#!/bin/sh\ncat <<'END'\n" + TAP + "END\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("strict, allowed, failed, skipped", [
    (False, None, 0, 1), (True, None, 1, 0), (True, "needs_a_device", 0, 1), (True, "something_else", 1, 0)])
def test_strict_run_fails_on_unlisted_skips_of_unit_tests(script, tmp_path, monkeypatch, strict, allowed, failed, skipped):
    monkeypatch.setattr(script, "STRICT", strict)
    allow(tmp_path, "unit debug test_x", allowed)
    part = script.run_unit("debug", unit_program(tmp_path))
    assert (part.passed, part.failed, part.skipped) == (1, failed, skipped), part.output


@pytest.mark.parametrize("strict, allowed, failed, skipped", [
    (False, None, 0, 1), (True, None, 1, 0), (True, "test_some.test_skipped", 0, 1)])
def test_strict_run_fails_on_unlisted_skips_of_python_tests(script, tmp_path, monkeypatch, strict, allowed, failed, skipped):
    monkeypatch.setattr(script, "STRICT", strict)
    allow(tmp_path, "python plain", allowed)
    (tmp_path / "test_some.py").write_text(PYTEST)
    part = script.run_python("plain", ["test_some.py"])
    assert (part.passed, part.failed, part.skipped) == (1, failed, skipped), part.output
