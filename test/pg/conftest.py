"""Fixtures with a real PostgreSQL, which starts once for all tests."""
import pytest

from lib import postgres
from lib.pgdriver import TABLES


@pytest.fixture(scope="session")
def cluster():
    if not postgres.programs():
        pytest.skip("postgresql is not installed")
    # Statistics change only where a test says ANALYZE.
    with postgres.Postgres(("autovacuum = off",), tcp=True, schema=TABLES) as made:
        made.sql("CREATE ROLE secured LOGIN SUPERUSER PASSWORD 'open sesame'; CREATE ROLE weak LOGIN PASSWORD 'weak'", database="postgres")
        yield made


@pytest.fixture
def database(cluster):
    return cluster.database()


@pytest.fixture
def empty_database(cluster):
    """The name of a database without tables."""
    return cluster.database("template0")


@pytest.fixture
def url(cluster, empty_database):
    return cluster.url(empty_database)


@pytest.fixture
def sql(cluster, empty_database):
    """Runs SQL in the database of the test."""
    return lambda text: cluster.sql(text, empty_database)
