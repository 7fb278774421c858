"""scripts/build-deb with fake tools: the copy of the source is complete, or no package is built."""
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Checkout:
    """A small source tree with scripts/build-deb, and fake tools first in PATH."""

    def __init__(self, directory):
        self.directory, self.tools = directory / "source", directory / "tools"
        self.tools.mkdir()
        self.file("LICENSE", "license\n")
        self.file("THIRD-PARTY-NOTICES", "notices\n")
        self.file("packaging/debian/changelog", "viewtally (@VERSION@) @SUITE@\n")
        self.file("packaging/debian/control", "Maintainer: @MAINTAINER@\n")
        self.file("vendor/fetch", "#!/bin/sh\n").chmod(0o755)
        self.file("scripts/build-deb", "")
        shutil.copy(ROOT / "scripts/build-deb", self.directory / "scripts")
        self.tool("dpkg-buildpackage", f"touch {self.directory}/was-built")

    def file(self, name, text):
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def tool(self, name, script):
        (self.tools / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        (self.tools / name).chmod(0o755)

    def track(self):
        """Adds all files to a new git repository."""
        for command in (["init", "-q"], ["add", "."]):
            subprocess.run(["git", *command], cwd=self.directory, check=True)

    def build(self):
        environment = {**os.environ, "PATH": f"{self.tools}:{os.environ['PATH']}", "SOURCE_DATE_EPOCH": "1000000000", "LINTIAN": "0",
                       "VENDOR_CACHE": str(self.directory / "build/cache"), "GIT_CEILING_DIRECTORIES": str(self.directory.parent)}
        environment.pop("DEB_ARCH", None)
        return subprocess.run(["scripts/build-deb", "1.0"], cwd=self.directory, env=environment, capture_output=True, text=True, check=False)

    def was_built(self):
        return (self.directory / "was-built").exists()


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


@pytest.mark.parametrize("is_repository", [True, False])
def test_source_is_copied_without_built_files(checkout, is_repository):
    checkout.file("build/debug/viewtally", "")
    checkout.file(".gitignore", "/build/\n")
    if is_repository:
        checkout.track()
    done = checkout.build()
    assert done.returncode == 0 and checkout.was_built(), done.stderr
    copy = checkout.directory / "build/deb/viewtally-1.0"
    assert sorted(path.name for path in copy.iterdir()) == [".gitignore", "LICENSE", "THIRD-PARTY-NOTICES", "debian", "packaging", "scripts", "vendor"]
    assert "1.0-1" in (copy / "debian/changelog").read_text(encoding="utf-8")


def test_missing_file_is_reported_before_the_build(checkout):
    deleted = checkout.file("src/main.c", "")
    checkout.track()
    deleted.unlink()
    done = checkout.build()
    assert done.returncode == 1 and not checkout.was_built()
    assert "src/main.c" in done.stderr and "build-deb: the source cannot be copied" in done.stderr


def test_failure_of_listing_the_files_is_not_hidden(checkout):
    checkout.tool("find", '/usr/bin/find "$@"; exit 1')
    assert checkout.build().returncode != 0 and not checkout.was_built()
