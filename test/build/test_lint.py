"""scripts/lint reports each violation of a rule, and nothing in a correct file."""
import os
import pathlib
import subprocess

import pytest

LINT = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts/lint"
HEAD = "/* Describes the file. */\n"


def lint(tmp_path, path, text):
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    for header in ("base/str.h", "config/config.h", "store/read.h", "store/sqlite/db.h", "store/pg/pg_sql.h", "http/request.h", "api/api.h", "limit/limiter.h"):
        existing = tmp_path / "src" / header
        existing.parent.mkdir(parents=True, exist_ok=True)
        if not existing.exists():
            existing.write_text(HEAD)
    done = subprocess.run(["/usr/bin/python3", str(LINT), str(tmp_path)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout


def function(lines):
    return HEAD + "void f(void)\n{\n" + "    g();\n" * (lines - 2) + "}\n"


BAD = {
    "upward include": ("src/store/x.c", HEAD + '#include "http/request.h"\n', "store must not include"),
    "include of a neighbour": ("src/store/x.c", HEAD + '#include "limit/limiter.h"\n', "store must not include"),
    "include of a storage engine": ("src/api/x.c", HEAD + '#include "store/sqlite/db.h"\n', "is private to the storage engine"),
    "include of an engine in the store": ("src/store/x.c", HEAD + '#include "store/sqlite/db.h"\n', "is private to the storage engine"),
    "include of another engine": ("src/store/sqlite/x.c", HEAD + '#include "store/pg/pg_sql.h"\n', "is private to the storage engine"),
    "sqlite outside the engine": ("src/store/x.c", HEAD + "int x = sqlite3_changes(db);\n", "stays inside src/store/sqlite"),
    "upward from base": ("src/base/x.h", HEAD + '#include "store/read.h"\n', "base must not include"),
    "include beside itself": ("src/store/x.c", HEAD + '#include "read.h"\n', "is not a path below src"),
    "unknown layer": ("src/misc/x.c", HEAD + '#include "base/str.h"\n', "not in the table"),
    "sqlite3.h": ("src/store/x.c", HEAD + "#include <sqlite3.h>\n", "may only be included in src/store/sqlite/db.c"),
    "llhttp.h": ("src/http/x.c", HEAD + "#include <llhttp.h>\n", "may only be included in src/http/parse.c"),
    "hiredis.h": ("src/redis/x.c", HEAD + "#include <hiredis/async.h>\n", "may only be included in src/redis/redis_(connection|poll|memory|reply).c"),
    "sqlite outside the store": ("src/api/x.c", HEAD + "int x = sqlite3_changes(db);\n", "stays inside src/store/sqlite"),
    "SQL outside the store": ("src/api/x.c", HEAD + 'const char *q = "SELECT 1";\n', "SQL stays inside src/store"),
    "lenient parser": ("src/http/parse.c", HEAD + "int x = llhttp_set_lenient_headers(p, 1);\n", "stays strict"),
    "banned call": ("src/base/x.c", HEAD + "int x = sprintf(b, s);\n", "sprintf() is banned"),
    "struct typedef": ("src/base/x.h", HEAD + "typedef struct x x;\n", "no typedef"),
    "plural after a number": ("src/base/x.c", HEAD + 'void f(int n)\n{\n    g("%d old files deleted", n);\n}\n', "use plural()"),
    "plural after a long": ("src/base/x.c", HEAD + 'void f(int n)\n{\n    g("%" PRId64 " videos", n);\n}\n', "use plural()"),
    "long function": ("src/base/x.c", function(71), "a function of 71 lines"),
    "long file": ("src/base/x.c", HEAD + "extern int x;\n" * 600, "601 lines"),
    "no head comment": ("src/base/x.c", "extern int x;\n", "must begin with a comment"),
    "forbidden phrase": ("src/base/x.c", HEAD + "/* Whoever reads this. */\n", '"Whoever" is on the list'),
    "mark": ("src/base/x.c", HEAD + "/* TODO: more */\n", "TODO: resolve it or file an issue"),
    "sleeping test in C": ("test/unit/test_x.c", HEAD + "int x = usleep(1);\n", "tests do not sleep"),
    "sleeping test in Python": ("test/flow/test_x.py", "import time\ntime.sleep(1)\n", "tests do not sleep"),
    "base name used twice": ("src/http/str.c", HEAD, "file base name str is already used by base/str"),
    "unquoted variable": ("scripts/x", "#!/bin/sh\nrm $1/*\ncd $1\n", "scripts/x:3:"),
    "broken shell": ("scripts/x", "#!/bin/sh\nif true\n", "scripts/x:"),
}

GOOD = {
    "downward include": ("src/http/x.c", HEAD + '#include "config/config.h"\n#include "base/str.h"\n'),
    "the driver itself": ("src/store/sqlite/db.c", HEAD + "#include <sqlite3.h>\n"),
    "plural after a limit": ("src/base/x.c", HEAD + 'void f(void)\n{\n    g("at most %d files", FILES_MAX);\n}\n'),
    "number with its noun": ("src/base/x.c", HEAD + 'void f(int n)\n{\n    g("%d file%s deleted", n, plural(n, "", "s"));\n}\n'),
    "function at the limit": ("src/base/x.c", function(70)),
    "file at the limit": ("src/base/x.c", HEAD + "extern int x;\n" * 599),
    "words in comments and strings": ("src/base/x.c", HEAD + '/* sprintf(x) and system() */\nconst char *x = "gets(x)";\n'),
    "members and longer names": ("src/base/x.c", HEAD + "int x = a.system(1) + b->gets(2) + my_strcpy(3);\n"),
    "main may include all": ("src/main.c", HEAD + '#include "api/api.h"\n#include "base/str.h"\n'),
}


@pytest.mark.parametrize("name", BAD)
def test_violation_of_each_rule_is_reported(tmp_path, name):
    path, text, reason = BAD[name]
    status, out = lint(tmp_path, path, text)
    assert status == 1 and path in out and reason in out, out


@pytest.mark.parametrize("name", GOOD)
def test_correct_file_has_no_findings(tmp_path, name):
    status, out = lint(tmp_path, *GOOD[name])
    assert status == 0, out


def test_wrong_format_is_reported(tmp_path):
    version = subprocess.run(["clang-format", "--version"], capture_output=True, text=True, check=False).stdout
    if "version 14." not in version:
        pytest.skip("clang-format 14, which defines the format, is not installed")
    (tmp_path / ".clang-format").write_text((LINT.parent.parent / ".clang-format").read_text())
    status, out = lint(tmp_path, "src/base/x.c", HEAD + "int  x ;\n")
    assert status == 1 and "src/base/x.c:2: not formatted" in out


def test_mistake_in_the_configuration_of_the_format_is_reported(tmp_path):
    version = subprocess.run(["clang-format", "--version"], capture_output=True, text=True, check=False).stdout
    if "version 14." not in version:
        pytest.skip("clang-format 14, which defines the format, is not installed")
    (tmp_path / ".clang-format").write_text("IndentWidht: 4\n")
    status, out = lint(tmp_path, "src/base/x.c", HEAD + "int x;\n")
    assert status == 1 and "clang-format failed: " in out and "IndentWidht" in out


def test_failure_of_shellcheck_is_reported(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/shellcheck").write_text("#!/bin/sh\necho no memory >&2\nexit 2\n")
    (tmp_path / "bin/shellcheck").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    status, out = lint(tmp_path, "scripts/x", "#!/bin/sh\n")
    assert status == 1 and "shellcheck failed: no memory" in out


def test_tag_used_twice_is_reported(tmp_path):
    lint(tmp_path, "src/base/x.h", HEAD + "struct one {\n    int x;\n};\n")
    status, out = lint(tmp_path, "src/http/y.c", HEAD + "struct one {\n    int x;\n};\nenum one { A };\n")
    assert status == 1 and "src/http/y.c:2: tag struct one is already used by src/base/x.h" in out and "enum" not in out
