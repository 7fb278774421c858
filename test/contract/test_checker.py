"""The tools of the contract tests: the checker rejects wrong responses, and the examples of the document are valid."""
import http.client
import json
import re

import jsonschema
import pytest

from apidoc import FORMATS, PATH, Document, DriftError, Schema
from checker import Checker
from lib.client import Response


def test_every_schema_is_valid():
    for name, schema in Document.load().whole["components"]["schemas"].items():
        try:
            jsonschema.Draft202012Validator.check_schema(schema)
        except jsonschema.SchemaError as error:
            raise AssertionError(f"{name}: {error.message}") from None


def test_every_format_of_the_document_is_checked():
    formats = set(re.findall(r'"format": "([^"]+)"', PATH.read_text(encoding="utf-8")))
    assert formats == set(FORMATS.checkers)


def examples(node, location="#"):
    """Yields (location, schema, example) of each media type, parameter, header and schema with examples."""
    if isinstance(node, list):
        for number, item in enumerate(node):
            yield from examples(item, f"{location}/{number}")
    if not isinstance(node, dict):
        return
    if "schema" in node:
        values = [node["example"]] if "example" in node else [each["value"] for each in node.get("examples", {}).values()]
        yield from ((location, node["schema"], value) for value in values)
    elif isinstance(node.get("examples"), list):
        yield from ((location, node, value) for value in node["examples"])
    for name, member in node.items():
        if name not in ("example", "examples", "value"):
            yield from examples(member, f"{location}/{name}")


def test_every_example_is_valid():
    """Schemas are closed and formats are checked, which is stricter than the linter."""
    found = list(examples(Document.load().whole))
    assert len(found) > 200
    for location, schema, value in found:
        Schema(schema, location).check(value)


def test_formats_reject_dates_and_times_that_do_not_exist():
    assert not Schema({"type": "string", "format": "date"}, "x").errors("2028-02-29")
    assert Schema({"type": "string", "format": "date"}, "x").errors("2026-02-29")
    assert Schema({"type": "string", "format": "date-time"}, "x").errors("2026-01-01T24:00:00Z")


def pair(body, **headers):
    """A response of /books; a header value of None leaves the header out."""
    message = http.client.HTTPMessage()
    for name, value in {"Content-Type": "application/json; charset=utf-8", "ETag": '"' + "0" * 32 + '"', "X-Request-Id": "a",
                        "Cache-Control": "private, no-cache", "Vary": "Authorization", "X-Content-Type-Options": "nosniff",
                        **{name.replace("_", "-"): value for name, value in headers.items()}}.items():
        if value is not None:
            message[name] = value
    return Response(200, message, body if isinstance(body, bytes) else json.dumps(body).encode())


BOOK = {"id": "8a1d0c1e-64a3-5a3f-8f0e-1f8e2c8f7b21", "title": "T", "subtitle": "", "author": "A", "videos_posted": 1,
        "created_at": "2026-05-02T08:20:00.000Z"}


@pytest.mark.parametrize("response", [
    pair({"success": True}), pair({"success": False, "data": []}), pair({"data": []}), pair({"success": True, "data": {}}),
    pair({"success": True, "data": [], "more": 1}), pair({"success": True, "data": [{**BOOK, "isbn": "x"}]}),
    pair({"success": True, "data": [{name: value for name, value in BOOK.items() if name != "subtitle"}]}),
    *(pair({"success": True, "data": [{**BOOK, **wrong}]}) for wrong in (
        {"id": BOOK["id"].upper()}, {"id": "x"}, {"title": ""}, {"title": None}, {"videos_posted": "1"}, {"videos_posted": -1},
        {"videos_posted": 1.0}, {"videos_posted": True}, {"created_at": "2026-05-02T08:20:00Z"}, {"created_at": "2026-02-30T08:20:00.000Z"},
        {"created_at": 1}, {"subtitle": None})),
    pair(b'{"success":true,"data":[],"data":[]}'), pair(b'{"success":true,"data":[]'), pair(b"\xff"), pair(b""),
    pair({"success": True, "data": []}, ETag=None), pair({"success": True, "data": []}, ETag='W/"' + "0" * 32 + '"'),
    pair({"success": True, "data": []}, X_Request_Id=None), pair({"success": True, "data": []}, Vary="*"),
    pair({"success": True, "data": []}, X_Powered_By="x"), pair({"success": True, "data": []}, Content_Type="application/json"),
    pair({"success": True, "data": []}, Content_Type="text/csv; charset=utf-8"), pair({"success": True, "data": []}, RateLimit='"key";r=1;t=1'),
], ids=lambda response: response.body.decode("latin-1")[:60])
def test_checker_rejects_wrong_responses(response):
    with pytest.raises(DriftError):
        Checker(limited=False).check("GET", "/v1/books", response)


def test_checker_accepts_right_responses():
    checker = Checker(limited=False)
    checker.check("GET", "/v1/books", pair({"success": True, "data": [BOOK]}))
    for method, target in (("GET", "/v1/nothing"), ("POST", "/v1/books"), ("GET", "/v2/books")):
        with pytest.raises(DriftError):
            checker.check(method, target, pair({"success": True, "data": [BOOK]}))
    with pytest.raises(DriftError):
        Checker(limited=True).check("GET", "/v1/books", pair({"success": True, "data": [BOOK]}))
