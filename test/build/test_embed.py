"""scripts/gen-embed: the compiled text equals the file byte by byte, and gaps in the migrations are rejected."""
import pathlib
import subprocess

import pytest

EMBED = pathlib.Path(__file__).resolve().parent.parent.parent / "scripts/gen-embed"
AWKWARD = 'a "quoted" \\n text \\\\ with ??= and ??/ and %d\n\n\ttabs, ünïcödé\n-- end\n'


def embed(*arguments):
    return subprocess.run([str(EMBED), *map(str, arguments)], capture_output=True, text=True, check=False)


def test_compiled_text_equals_the_file(tmp_path):
    (tmp_path / "text").write_text(AWKWARD)
    source = tmp_path / "text.c"
    source.write_text(embed("text", "sample", tmp_path / "text").stdout + "#include <stdio.h>\n"
                      "int main(void) { return fwrite(sample, 1, sample_len, stdout) != sample_len; }\n")
    subprocess.run(["gcc", "-std=c17", "-trigraphs", "-o", tmp_path / "text.bin", source], check=True)
    assert subprocess.run([tmp_path / "text.bin"], capture_output=True, check=True).stdout.decode() == AWKWARD


HEADER = "-- additive: yes\n-- cost: constant\n"


def migrations(tmp_path, *names, header=HEADER):
    for name in names:
        (tmp_path / name).write_text(f"-- {name}\n{header}SELECT 1;\n")
    return embed("schema", *(tmp_path / name for name in names))


def test_migrations_are_numbered(tmp_path):
    done = migrations(tmp_path, "001_initial.sql", "002_more.sql")
    assert done.returncode == 0
    assert '{1, "initial", true,0, 0,' in done.stdout and '{2, "more", true,0, 0,' in done.stdout and "schema_migration_count = 2" in done.stdout


def test_gap_in_migrations_is_rejected(tmp_path):
    done = migrations(tmp_path, "001_initial.sql", "003_more.sql")
    assert done.returncode == 1 and "expected migration 2" in done.stderr


def test_duplicate_migration_is_rejected(tmp_path):
    done = migrations(tmp_path, "001_initial.sql", "001_more.sql")
    assert done.returncode == 1 and "expected migration 2" in done.stderr


def test_declared_cost_is_embedded(tmp_path):
    done = migrations(tmp_path, "001_initial.sql", header="-- additive: no\n-- cost: 1500 ms and 90 MB per million videos\n")
    assert done.returncode == 0 and '{1, "initial", false,1500, 90,' in done.stdout


@pytest.mark.parametrize("header", [
    "", "-- additive: yes\n", "-- cost: constant\n", "-- additive: maybe\n-- cost: constant\n", "-- additive: yes\n-- cost: low\n",
    "-- cost: constant\n-- additive: yes\n", "-- additive: yes\n\n-- cost: constant\n", "-- additive: yes\n-- additive: no\n-- cost: constant\n"])
def test_migration_without_its_declarations_is_rejected(tmp_path, header):
    done = migrations(tmp_path, "001_initial.sql", header=header)
    assert done.returncode == 1 and "additive: yes|no" in done.stderr and "001_initial.sql" in done.stderr
