"""scripts/run-tests counts tests; with STRICT=1 a skipped test is a failure unless it is listed. Failed tests are repeated."""
import importlib.machinery
import importlib.util
import os
import pathlib
import signal
import subprocess
import sys

import pytest

from lib import wait

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


def unit_program(directory, output=TAP):
    path = directory / "test_x"
    path.write_text("#!/bin/sh\ncat <<'END'\n" + output + "END\n")
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


@pytest.mark.parametrize("output, passed, failed", [
    ("1..2\nok 1 - a\nok 2 - b\n", 2, 0), ("1..2\nok 1 - a\n", 1, 1), ("1..1\nok 1 - a\n1..2\nok 1 - b\nok 2 - c\n", 3, 0), ("1..0\n", 0, 1)])
def test_unit_program_that_exits_before_its_last_test_has_failed(script, tmp_path, output, passed, failed):
    part = script.run_unit("debug", unit_program(tmp_path, output))
    assert (part.passed, part.failed) == (passed, failed), part.output


def test_each_directory_runs_with_both_builds_unless_one_is_enough(script, tmp_path, monkeypatch):
    for directory in ("build", "flow", "generated", "oauth"):
        (tmp_path / "test" / directory).mkdir()
    for name in ("build/test_a.py", "flow/test_a.py", "flow/test_b.py", "generated/words.py", "oauth/test_a.py"):
        (tmp_path / "test" / name).write_text("")
    monkeypatch.setattr(script, "run_python", lambda mode, paths, name: (mode, paths, name))
    assert [job() for job in script.python_jobs(script.python_parts())] == [
        ("asan", ["test/flow/test_a.py"], "python asan test/flow 1"), ("plain", ["test/flow/test_a.py"], "python plain test/flow 1"),
        ("asan", ["test/flow/test_b.py"], "python asan test/flow 2"), ("plain", ["test/flow/test_b.py"], "python plain test/flow 2"),
        ("plain", ["test/build"], "python plain test/build"),
        ("asan", ["test/oauth"], "python asan test/oauth"), ("plain", ["test/oauth"], "python plain test/oauth")]


def test_each_test_file_either_runs_on_postgresql_or_has_a_reason_not_to(script):
    root = SCRIPT.parent.parent
    directories = script.STORE_NAMES.keys() - {"test/pg"}
    existing = {str(path.relative_to(root)) for directory in directories for path in (root / directory).glob("test_*.py")}
    run = [path for path in script.STORE_FILES if not path.startswith("test/pg/")]
    left_out = script.NOT_ON_POSTGRESQL
    assert len(run) == len(set(run)) and not set(run) & set(left_out)
    assert {*run, *left_out} == existing, "add the new file to STORE_NAMES or NOT_ON_POSTGRESQL in scripts/run-tests, or remove the deleted one"
    assert all(left_out.values())


def failing(*passing_runs):
    """The source of a test that passes only in the runs with these numbers, counted from 1."""
    return f"""import pathlib

def test_works():
    pass

def test_counts_its_runs():
    path = pathlib.Path(__file__).with_suffix(".runs")
    path.write_text((path.read_text() if path.exists() else "") + "x")
    assert len(path.read_text()) in {list(passing_runs)}
"""


@pytest.mark.parametrize("passing_runs, failed, flaky, runs", [
    ((2, 3, 4), 0, 1, 4), ((2, 3), 1, 0, 4), ((3, 4), 1, 0, 2), ((1,), 0, 0, 1)])
def test_failed_test_is_flaky_if_it_passes_each_time_when_repeated(script, tmp_path, monkeypatch, passing_runs, failed, flaky, runs):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "test_some.py").write_text(failing(*passing_runs))
    part = script.run_python("plain", ["test_some.py"])
    script.repeat_failed([part])
    assert (part.failed, part.flaky) == (failed, flaky), part.output
    assert len((tmp_path / "test_some.runs").read_text()) == runs


def test_failed_tests_are_not_repeated_if_there_are_many(script):
    parts = [script.Part("many", failed=script.FLAKY_MAX, repeat=lambda: script.Part("many", passed=9)),
             script.Part("one", failed=1, repeat=lambda: script.Part("one", passed=9))]
    script.repeat_failed(parts)
    assert [(part.failed, part.flaky) for part in parts] == [(script.FLAKY_MAX, 0), (1, 0)]


@pytest.mark.parametrize("output", ["ERROR: AddressSanitizer: heap-use-after-free", "x.c:1:2: runtime error: shift", "viewtally: check failed: p (x.c:1)",
                                    "(exit status -11)"])
def test_crash_or_sanitizer_error_is_never_counted_as_flaky(script, output):
    part = script.Part("one", failed=1, output=output, repeat=lambda: script.Part("one", passed=1))
    script.repeat_failed([part])
    assert (part.failed, part.flaky) == (1, 0)


def test_failure_that_cannot_be_repeated_stays_a_failure(script):
    parts = [script.Part("lint", failed=1), script.Part("one", failed=1, repeat=lambda: script.Part("one", passed=1))]
    script.repeat_failed(parts)
    assert [part.failed for part in parts] == [1, 1]


# A test that waits for a server, which like any child process belongs to the process group of pytest.
WAITING = """import pathlib
import subprocess

def test_waits():
    server = subprocess.Popen(["sleep", "600"])
    pathlib.Path(f"{server.pid}.server").touch()
    server.wait()
"""
MAIN = """import importlib.machinery, importlib.util, pathlib, sys
loader = importlib.machinery.SourceFileLoader("run_tests", sys.argv[1])
script = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_tests", loader))
loader.exec_module(script)
script.ROOT = script.LOGS = pathlib.Path.cwd()
sys.argv[1:] = ["--python", *sys.argv[2:]]
script.programs.exit_on_signals(script.main)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_interrupted_run_ends_its_programs_and_starts_no_other(tmp_path, number):
    threads = (os.cpu_count() or 1) + 1         # in run-tests
    for i in range(threads):
        (tmp_path / f"test_{i}.py").write_text(WAITING)
    (tmp_path / "test_later.py").write_text("import pathlib\n\ndef test_later():\n    pathlib.Path('later').touch()\n")
    run = subprocess.Popen([sys.executable, "-c", MAIN, SCRIPT, *(f"test_{i}.py" for i in range(threads)), "test_later.py"], cwd=tmp_path,
                           stdout=subprocess.PIPE, text=True)
    wait.until(lambda: len(list(tmp_path.glob("*.server"))) == threads, "all threads to run a test")
    run.send_signal(number)
    output, _ = run.communicate(timeout=60)
    assert run.returncode == 130 and output.endswith("interrupted\n"), output
    wait.until(lambda: not any(pathlib.Path("/proc", path.stem).exists() for path in tmp_path.glob("*.server")), "the servers to end")
    assert not (tmp_path / "later").exists()


MANY = """import concurrent.futures, os, signal, sys
sys.path.insert(0, sys.argv[1])
import programs

def main():
    with concurrent.futures.ThreadPoolExecutor(32) as pool:
        for _ in range(32):
            pool.submit(programs.run, ["sh", "-c", "echo >>started; exec sleep 60"], ".", 60)
        while not os.path.exists("started") or os.path.getsize("started") < 32:
            pass
        os.kill(os.getpid(), signal.SIGINT)

programs.exit_on_signals(main)
"""


def test_programs_that_exit_while_an_interrupt_ends_them_do_not_disturb_it(tmp_path):
    """The set of programs changed while the signal handler iterated over it."""
    done = subprocess.run([sys.executable, "-c", MANY, SCRIPT.parent], cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "interrupted\n", "")
