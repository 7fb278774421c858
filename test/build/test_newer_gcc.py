"""Differences of newer compilers, simulated with the compiler of this system."""
import subprocess

from lib.viewtally import ROOT


def gcc(*options, text=""):
    return subprocess.run(["gcc", *options], input=text, cwd=ROOT, capture_output=True, text=True, check=False)


def test_address_sanitizer_is_recognized_if_gcc_predefines_has_feature():
    """gcc 14 (Debian 13) predefines __has_feature. Like gcc 12, it also predefines __SANITIZE_ADDRESS__."""
    is_predefined = "yes" in gcc("-E", "-P", "-", text="#ifdef __has_feature\nyes\n#endif\n").stdout
    simulated = [] if is_predefined else ["-D__has_feature(x)=1"]
    done = gcc("-std=gnu17", "-D_GNU_SOURCE", "-Isrc", "-fsanitize=address", *simulated, "-Wall", "-Werror", "-fsyntax-only", "src/base/arena.c")
    assert done.returncode == 0, done.stderr
