"""The server and the OpenAPI document agree in both directions: every pair of request and response of the tour (tour.py) is
valid, and the tour covers everything in the document."""
import re

import pytest

import tour
from apidoc import Document, variants
from checker import DEFAULT, Seen
from lib.viewtally import ROOT

MAIN = [tour.tour_successes, tour.tour_account, tour.tour_videos, tour.tour_stats, tour.tour_events, tour.tour_keys, tour.tour_oauth,
        tour.tour_unknown_paths_and_methods, tour.tour_protocol, tour.tour_parameters]

# Statuses that the document contains, although no request to a working server causes them.
NEVER_STATUSES = {"500"}


def visit(directory, seen, visits, config=None):
    """Runs the visits against one server; returns the failures."""
    directory.mkdir()
    installation = tour.Installation(directory, seen, config)
    failures = []
    try:
        for each in visits:
            try:
                each(installation)
            except AssertionError as error:
                failures.append(f"{each.__name__}: {error}")
    finally:
        installation.close()
    return failures


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """(what the servers have sent, failures)"""
    directory, seen = tmp_path_factory.mktemp("tour"), Seen()
    failures = visit(directory / "main", seen, MAIN)
    failures += visit(directory / "limit", seen, [tour.tour_limit], {"limits": {"requests_per_minute": 1}})
    failures += visit(directory / "slow", seen, [tour.tour_slow_head], {"server": {"header_timeout_ms": 200}})
    failures += visit(directory / "quiet", seen, [tour.tour_successes], {"limits": {"headers": "off"}})
    failures += visit(directory / "browser", seen, [tour.tour_browser], {"server": {"cors_origins": tour.ORIGIN}})
    failures += visit(directory / "broken", seen, [tour.tour_broken_store])
    return seen, failures


def responses():
    for operation in Document.load().operations:
        for status, response in operation.responses.items():
            if status not in NEVER_STATUSES and not status.endswith("XX"):
                yield operation, status, response


def assert_none_missing(missing):
    assert not missing, "in the document, but not covered by the tour:\n" + "\n".join(map(str, sorted(missing)))


def test_every_request_and_response_agrees_with_the_document(shown):
    assert not shown[1], "\n".join(shown[1])


def test_every_documented_parameter_was_accepted(shown):
    documented = {(operation.name, *parameter) for operation in Document.load().operations for parameter in operation.parameters
                  if operation.method != "HEAD"}
    assert_none_missing(documented - shown[0].parameters)


def test_every_documented_status_was_sent(shown):
    documented = {(operation.name, status) for operation, status, _ in responses() if status != "default"}
    assert_none_missing(documented - shown[0].statuses)
    assert shown[0].default_statuses == set(DEFAULT)


def test_every_documented_error_code_was_sent(shown):
    documented = {(operation.name, status, code) for operation, status, response in responses() if status != "default"
                  for code in response.codes()}
    assert_none_missing(documented - shown[0].codes)


def test_every_documented_header_was_sent(shown):
    documented = {(operation.name, status, name) for operation, status, response in responses() if status != "default"
                  for name in response.headers}
    assert_none_missing(documented - shown[0].headers)


def test_every_documented_media_type_was_sent(shown):
    documented = {(operation.name, status, kind) for operation, status, response in responses() if status != "default"
                  for kind in response.contents}
    assert_none_missing(documented - shown[0].types)


def test_every_documented_field_and_value_was_sent(shown):
    """Each field, each member of an enum, true and false, null and not null, in the responses of each endpoint."""
    documented = {each for _, status, response in responses() if status != "default"
                  for schema in response.contents.values() for each in variants(schema.node, schema.location)}
    assert_none_missing(documented - shown[0].values)


def test_every_documented_value_of_a_header_was_sent(shown):
    documented = {each for _, status, response in responses() if status != "default"
                  for name, (schema, _) in response.headers.items() for each in variants(schema.node, f"header {name}")}
    assert_none_missing(documented - shown[0].values)


def routes_in_source():
    """{(method, path): query parameters} in the definitions of endpoints and routes in src/api and src/oauth."""
    found = {}
    for path in sorted([*(ROOT / "src/api").glob("*.c"), *(ROOT / "src/oauth").glob("*.c")]):
        for table in re.findall(r"const struct (?:route|endpoint) \w+ = \{(.*?)\n?\};", path.read_text(encoding="utf-8"), re.S):
            template = re.search(r'\.path = "([^"]*)"', table)[1]
            # The metadata are outside of the base path (RFC 8414) and of the document.
            if not template:
                continue
            names = re.search(r"\.params = \{([^}]*)\}", table)
            for method in re.findall(r"ROUTE_(GET|POST)", table):
                found[method, template] = set(re.findall(r'"([^"]+)"', names[1])) if names else set()
    return found


def test_every_route_and_parameter_is_in_the_document():
    documented = {(operation.method, operation.template): set(operation.query_names()) for operation in Document.load().operations
                  if operation.method != "HEAD"}
    assert routes_in_source() == documented


def test_head_operations_repeat_those_of_get():
    """Each GET has a HEAD with the same parameters, security and headers, which generated clients need."""
    paths = Document.load().raw["paths"]
    for path, item in paths.items():
        if "get" not in item:
            continue
        get, head = item["get"], item["head"]
        for name in ("parameters", "security", "tags"):
            assert head.get(name) == get.get(name), f"{name} of HEAD {path} differ from GET: copy them"
        for status in ("200", "304"):
            assert head["responses"][status].get("headers") == get["responses"][status].get("headers"), f"headers of HEAD {path} {status}"
            assert "content" not in head["responses"][status], path


def strings(node):
    if isinstance(node, dict):
        for name, value in node.items():
            if isinstance(value, str):
                yield name, value
            yield from strings(value)
    elif isinstance(node, list):
        for value in node:
            yield from strings(value)


def test_document_follows_the_rules_that_generators_need():
    """Each rule comes from a generator that failed or produced code that does not compile without it."""
    raw = Document.load().raw
    schemas = raw["components"]["schemas"]
    # These names would shadow globals of JavaScript.
    assert not {"Date", "Event", "Error", "Object", "String", "Number", "Map", "Set", "Request", "Response", "Promise"} & set(schemas)

    def walk(node):
        if isinstance(node, dict):
            if "const" in node:
                assert node.get("enum") == [node["const"]], f"write the enum beside the const: {node}"
                assert not isinstance(node["const"], bool), f"write only the enum of a boolean: {node}"
            for value in node.values():
                walk(value)
        elif isinstance(node, list):
            for value in node:
                walk(value)
    walk(raw)
    for name, text in strings(raw):
        if name != "description":
            assert text.isprintable(), f"control character in {name}: {text!r}"
        if name == "pattern":
            assert not re.search(r"\\[xurntfv0]", text), f"escaped control character: {text}"
    assert "discriminator" not in schemas["FeedEvent"]
    assert schemas["FeedEvent"]["anyOf"][-1] == {"$ref": "#/components/schemas/OtherEvent"}
