"""Preloads the libraries of test/lib/*.c into a process of a test."""
import os

import pytest

from .services import preload
from .viewtally import statically_linked


def preloaded(name, directory):
    """Returns the environment of a process into which test/lib/NAME.c is preloaded. Skips the test if the program is a static binary."""
    if statically_linked():
        pytest.skip("LD_PRELOAD has no effect on a static binary")
    options = os.environ.get("ASAN_OPTIONS", "detect_leaks=1") + ":verify_asan_link_order=0"
    return {"LD_PRELOAD": preload(name, directory), "ASAN_OPTIONS": options}
