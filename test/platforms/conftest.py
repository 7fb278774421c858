"""Stand-ins for the five platforms, and a world whose posts are there."""
import pytest

from platformworld import Standins, World


@pytest.fixture
def standins(clock):
    """All five, with the clock of the program under test; at the end none may have seen a request that is not as documented."""
    made = Standins(clock)
    yield made
    try:
        assert made.violations() == []
    finally:
        made.close()


@pytest.fixture
def world(viewtally, standins):
    """An installation whose source is the platforms; no authors yet."""
    made = World(viewtally, standins)
    made.configure()
    yield made
    viewtally.stop()
    made.expect_no_secret()
