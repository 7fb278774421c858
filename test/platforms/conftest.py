"""Stand-ins for the five platforms, and a world whose posts are there."""
import pytest

from platformworld import Standins, World


@pytest.fixture(scope="session")
def standin_processes():
    made = Standins()
    yield made
    made.close()


@pytest.fixture
def standins(standin_processes, clock):
    """All five, with the clock of the program under test; at the end none may have seen a request that is not as documented."""
    standin_processes.begin(clock)
    yield standin_processes
    assert standin_processes.violations() == []


@pytest.fixture
def world(viewtally, standins):
    """An installation whose source is the platforms; no authors yet."""
    made = World(viewtally, standins)
    made.configure()
    yield made
    viewtally.stop()
    made.expect_no_secret()
