"""Imports random data into a PostgreSQL and compares every response of the server with the model, as test/property/test_model.py does
with a database file. VIEWTALLY_SEED and VIEWTALLY_WORLDS have the same meaning.
"""
import os

import pytest

from lib.viewtally import sanitized
from property import test_model

WORLDS = int(os.environ.get("VIEWTALLY_WORLDS") or (2 if sanitized() else 12))


@pytest.mark.parametrize("seed, only", test_model.chosen_worlds()[:WORLDS])
def test_server_on_postgresql_matches_the_model(seed, only, cluster, tmp_path):
    test_model.check_world(seed, only, tmp_path, cluster.url(cluster.database("template0")))
