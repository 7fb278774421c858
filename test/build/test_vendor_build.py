"""vendor/build and vendor/build-static with a fake vendor/fetch: what an interrupted build leaves."""
import os
import pathlib
import shutil
import subprocess

import pytest

VENDOR = pathlib.Path(__file__).resolve().parents[2] / "vendor"


@pytest.mark.parametrize("script, manifest", [("build", "manifest"), ("build-static", "manifest-static")])
@pytest.mark.parametrize("fetch, has_stamp", [("exit 1", True), ("exit 0", False)], ids=["no source", "interrupted"])
def test_stamp_is_deleted_with_the_libraries_that_it_describes(tmp_path, script, manifest, fetch, has_stamp):
    """The stamp of another compiler made a later build with it accept the libraries of an interrupted build."""
    (tmp_path / "vendor").mkdir()
    shutil.copy(VENDOR / script, tmp_path / "vendor")
    (tmp_path / "vendor" / manifest).touch()
    (tmp_path / "vendor/fetch").write_text(f"#!/bin/sh\nmkdir -p $1\n{fetch}\n", encoding="utf-8")
    (tmp_path / "vendor/fetch").chmod(0o755)
    out = tmp_path / "out"
    (out / "lib").mkdir(parents=True)
    (out / "lib/libuv.a").touch()
    (out / "stamp").write_text("of another compiler\n", encoding="utf-8")
    # The manifest is empty, so the build fails when it unpacks the first library.
    done = subprocess.run([tmp_path / "vendor" / script, tmp_path / "cache", out], env={**os.environ, "CC": "gcc"}, capture_output=True,
                          text=True, check=False)
    assert done.returncode != 0
    assert (out / "lib/libuv.a").exists() == (out / "stamp").exists() == has_stamp, done.stderr
