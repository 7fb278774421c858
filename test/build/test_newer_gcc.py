"""Differences of newer compilers, simulated with the compiler of this system."""
import subprocess

from lib.viewtally import ROOT


def test_address_sanitizer_is_recognized_where_gcc_has_has_feature():
    """gcc 14 (Debian 13) predefines __has_feature, and __SANITIZE_ADDRESS__ as gcc 12 does."""
    command = ["gcc", "-std=gnu17", "-D_GNU_SOURCE", "-Isrc", "-fsanitize=address", "-D__has_feature(x)=1", "-Wall", "-Werror", "-fsyntax-only"]
    done = subprocess.run([*command, "src/base/arena.c"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
