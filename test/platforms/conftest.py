"""Fixtures: stand-ins for the five platforms, and an installation whose posts they have."""
import pytest

from platformworld import Standins, World


@pytest.fixture(scope="session")
def standin_processes():
    made = Standins()
    yield made
    made.close()


@pytest.fixture
def standins(standin_processes, clock):
    """All five stand-ins, with the clock of the tested program. Asserts at the end that they recorded no undocumented request."""
    standin_processes.begin(clock)
    yield standin_processes
    assert standin_processes.violations() == []


@pytest.fixture
def world(viewtally, standins):
    """An installation with `source = platforms` and no authors yet."""
    made = World(viewtally, standins)
    made.configure()
    yield made
    viewtally.stop()
    made.expect_no_secret()
