"""Imports random data into a PostgreSQL and compares every response of the server with the model, as test/property/test_model.py does
with a database file. VIEWTALLY_SEED and VIEWTALLY_WORLDS have the same meaning. A world consists of the independent histories of twelve
authors, so `make test` compares more than 200 histories, and `make test-long` 12,000.
"""
import os

import pytest

from lib.viewtally import sanitized
from property import test_model

WORLDS = int(os.environ.get("VIEWTALLY_WORLDS") or (2 if sanitized() else 17))


@pytest.mark.parametrize("seed, only", test_model.chosen_worlds()[:WORLDS])
def test_server_on_postgresql_matches_the_model(seed, only, cluster, tmp_path):
    test_model.check_world(seed, only, tmp_path, cluster.url(cluster.database("template0")))
