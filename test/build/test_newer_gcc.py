"""Differences of newer compilers, simulated with the compiler of this system."""
import subprocess

from lib.viewtally import ROOT


def gcc(*options, text=""):
    return subprocess.run(["gcc", *options], input=text, cwd=ROOT, capture_output=True, text=True, check=False)


def test_address_sanitizer_is_recognized_where_gcc_has_has_feature():
    """gcc 14 (Debian 13) predefines __has_feature, and __SANITIZE_ADDRESS__ as gcc 12 does."""
    is_predefined = "yes" in gcc("-E", "-P", "-", text="#ifdef __has_feature\nyes\n#endif\n").stdout
    simulated = [] if is_predefined else ["-D__has_feature(x)=1"]
    done = gcc("-std=gnu17", "-D_GNU_SOURCE", "-Isrc", "-fsanitize=address", *simulated, "-Wall", "-Werror", "-fsyntax-only", "src/base/arena.c")
    assert done.returncode == 0, done.stderr
