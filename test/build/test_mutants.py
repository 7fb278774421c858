"""scripts/mutants rejects an invalid list, and the list of this tree is valid and current."""
import ast
import functools
import importlib.machinery
import importlib.util
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "scripts/mutants"
GOOD = """[[mutant]]
name = "a"
file = "x.c"
old = "limit = 1;"
new = "limit = 2;"
tests = ["unit:test_x"]
"""


def load_script():
    loader = importlib.machinery.SourceFileLoader("mutants", str(SCRIPT))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("mutants", loader))
    loader.exec_module(module)
    return module


MUTANTS = load_script()


def tree(directory, listed, source="limit = 1;\n"):
    (directory / "test/mutants").mkdir(parents=True)
    (directory / "test/mutants/x.toml").write_text(listed)
    (directory / "x.c").write_text(source)
    return directory


@pytest.mark.parametrize("listed, reason", [
    (GOOD + GOOD, "used twice"),
    (GOOD.replace('["unit:test_x"]', "[]"), "names no test"),
    (GOOD.replace("limit = 2;", "limit = 1;"), "changes nothing"),
    (GOOD.replace("file =", "path ="), "exactly the keys"),
], ids=["name used twice", "no test", "no change", "unknown key"])
def test_invalid_lists_are_rejected(tmp_path, listed, reason):
    with pytest.raises(MUTANTS.ListError, match=reason):
        MUTANTS.load(tree(tmp_path, listed), "")


@pytest.mark.parametrize("source, reason", [
    ("limit = 3;\n", "occurs 0 times"),
    ("limit = 1;\nlimit = 1;\n", "occurs 2 times"),
    ("limit = 1;\n", None),
])
def test_old_text_must_occur_once(tmp_path, source, reason):
    root = tree(tmp_path, GOOD, source)
    [mutant] = MUTANTS.load(root, "")
    found = MUTANTS.stale_reason(root, mutant)
    assert found is None if reason is None else reason in found


def test_pattern_selects_by_file_and_name(tmp_path):
    root = tree(tmp_path, GOOD + GOOD.replace('"a"', '"b"'))
    assert [mutant.label for mutant in MUTANTS.load(root, r"^x\.toml:b$")] == ["x.toml:b"]


def test_hanging_test_is_stopped(tmp_path):
    done = MUTANTS.programs.run(["/bin/sh", "-c", "trap '' INT; while :; do read line </dev/zero; done"], tmp_path, 0.2)
    assert done.status is None


def test_mutant_is_killed_by_a_unit_program(tmp_path, monkeypatch, capsys):
    root = tree(tmp_path / "tree", GOOD)
    (root / "Makefile").write_text("build/debug/test/test_x: x.c\n\tmkdir -p $(@D)\n\tprintf '#!/bin/sh\\ngrep \"limit = 1\" x.c\\n' >$@\n\tchmod +x $@\n")
    subprocess.run(["git", "init", "-q", root], check=True)
    monkeypatch.setattr(MUTANTS, "ROOT", root)
    monkeypatch.setattr(MUTANTS, "COPIES", tmp_path / "copies")
    assert MUTANTS.run(MUTANTS.load(root, ""), 1) == 0
    assert "1 mutants: 1 killed" in capsys.readouterr().out


@functools.cache
def functions(path):
    return {node.name for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.FunctionDef)}


def exists(root, test):
    """Returns True if the unit program or the function of the Python test exists. Ignores the id of a parametrized case."""
    if test.startswith("unit:"):
        return (root / f"test/unit/{test.removeprefix('unit:')}.c").is_file()
    file, _, name = test.partition("::")
    return (root / file).is_file() and (not name or name.partition("[")[0].rpartition("::")[2] in functions(root / file))


def test_tests_of_this_tree_exist():
    missing = {(mutant.label, test) for mutant in MUTANTS.load(ROOT, "") for test in mutant.tests if not exists(ROOT, test)}
    assert not missing


@pytest.mark.parametrize("test, found", [
    ("unit:test_x", True), ("unit:test_y", False), ("test/test_p.py", True), ("test/test_q.py::test_a", False),
    ("test/test_p.py::test_a", True), ("test/test_p.py::test_a[1-x::y]", True), ("test/test_p.py::test_b", False),
])
def test_missing_test_is_found(tmp_path, test, found):
    (tmp_path / "test/unit").mkdir(parents=True)
    (tmp_path / "test/unit/test_x.c").touch()
    (tmp_path / "test/test_p.py").write_text("def test_a():\n    pass\n")
    assert exists(tmp_path, test) == found


def test_list_of_this_tree_is_current():
    done = subprocess.run([SCRIPT, "--list"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
