"""Builds of other releases: the next one, with one more migration, and version 0.1.0 from the history of the repository."""
import os
import pathlib
import shutil
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
BUILDS = ROOT / "build/upgrade"
RELEASE_0_1_0 = "dc73080d4a8ae54b7ad6a34e327ad49c510387c5"


def make(directory, *arguments):
    # The variables of the calling make, such as its MODE, must not reach this one.
    env = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKEOVERRIDES", "MODE")}
    cores = f"-j{os.cpu_count()}"
    done = subprocess.run(["make", "-C", str(directory), cores, *arguments, "all"], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def with_migration(name, statements, additive):
    """Builds this release with one more migration and returns the path of the program."""
    schema = BUILDS / f"{name}-schema"
    shutil.rmtree(schema, ignore_errors=True)
    shutil.copytree(ROOT / "schema", schema)
    number = len(list(schema.glob("*.sql"))) + 1
    (schema / f"{number:03}_{name}.sql").write_text(
        f"-- A migration of the next release.\n-- additive: {'yes' if additive else 'no'}\n-- cost: constant\n"
        f"PRAGMA user_version = {number};\n{statements}\n")
    build = BUILDS / name
    make(ROOT, f"B={build.relative_to(ROOT)}", f"SCHEMA={schema.relative_to(ROOT)}")
    return build / "viewtally"


def from_history(commit):
    """Builds a commit in a directory of its own and returns the path of the program."""
    source = BUILDS / commit[:12]
    program = source / "build/release/viewtally"
    if not program.exists():
        source.mkdir(parents=True, exist_ok=True)
        archive = subprocess.run(["git", "-C", str(ROOT), "archive", commit], capture_output=True, check=True).stdout
        subprocess.run(["tar", "x", "-C", str(source)], input=archive, check=True)
        cache = os.environ.get("VENDOR_CACHE") or ROOT / "vendor/cache"
        make(source, f"VENDOR_CACHE={pathlib.Path(cache).resolve()}", "BOOTSTRAP=0",
             *([f"VENDOR_DIR={os.environ['VENDOR_DIR']}"] if os.environ.get("VENDOR_DIR") else []))
    return program
