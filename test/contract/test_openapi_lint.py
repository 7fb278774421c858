"""Redocly's linter on src/api/openapi.json with its recommended-strict rules: no error, no warning.

The linter is pinned in test/openapi and installed into build/openapi by npm, once.
"""
import json

import pytest

from lib import npm
from lib.viewtally import ROOT

DOCUMENT = ROOT / "src/api/openapi.json"
PINNED = ROOT / "test/openapi"
LINT_SECONDS = 120


@pytest.fixture(scope="module")
def lint():
    """lint(path) returns exit status and output."""
    directory = npm.install("openapi")
    linter = directory / "node_modules/.bin/redocly"
    return lambda path: npm.run([str(linter), "lint", "--config", str(PINNED / "redocly.yaml"), str(path)], directory, LINT_SECONDS)


def test_document_passes_the_linter(lint):
    status, output = lint(DOCUMENT)
    assert status == 0 and "warning" not in output, output


def test_linter_fails_on_warnings(lint, tmp_path):
    """A document without a license, which is only a warning by default, fails."""
    document = json.loads(DOCUMENT.read_text(encoding="utf-8"))
    del document["info"]["license"]
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(document), encoding="utf-8")
    status, output = lint(path)
    assert status != 0 and "info-license" in output, output
