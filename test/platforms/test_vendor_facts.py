"""Compares our requests and the fields that we read with the vendors' descriptions (test/vendors; see scripts/vendor-facts)."""
import json
import os
import pathlib
import re
import subprocess
import tomllib
import urllib.parse

import pytest

from lib.viewtally import binary

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
VENDORS = ROOT / "test/vendors"
EXCEPTIONS_MOST = 10
METHOD_OF = {("read", 0): "videos.batchGetStats", ("read", 1): "videos.list", ("link", 1): "channels.list"}
# The JSON types that an accessor of jsonr.h accepts; a count may be a string.
ACCEPTED_TYPES = {"text": {"string"}, "id": {"string", "integer", "number"}, "integer": {"integer"}, "count": {"integer", "number", "int64 string"}}


def facts_file(name):
    return tomllib.loads((VENDORS / name).read_text(encoding="utf-8"))


class Fact:
    def __init__(self, line):
        self.kind, self.platform, self.function, tier, self.rest = line.rstrip("\n").split(" ", 4)
        self.context = self.function, int(tier)
        if self.kind == "request":
            method, address, self.body = self.rest.split(" ", 2)
            url = urllib.parse.urlsplit(address)
            self.request = f"{method} {url.path}"
            self.query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True, strict_parsing=bool(url.query)))
            self.operations = [urllib.parse.urlsplit(op["relative_url"]) for op in json.loads(urllib.parse.parse_qs(self.body)["batch"][0])] if "batch=" in self.body else [url]
        else:
            self.path, self.accessor = self.rest.rsplit(" ", 1)


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    """The facts recorded by the unit test: every form of a request, and every field that is read from a sample."""
    path = tmp_path_factory.mktemp("facts") / "facts"
    program = pathlib.Path(binary(seams=True)).parent / "test/test_platform_facts"
    subprocess.run([program], cwd=ROOT, env={**os.environ, "PLATFORM_FACTS": str(path)}, check=True, capture_output=True)
    return [Fact(line) for line in path.read_text(encoding="utf-8").splitlines()]


def exceptions(platform):
    return {entry["what"] for entry in facts_file("exceptions.toml")["exception"] if entry["platform"] == platform}


def test_exceptions_have_a_reason():
    """Every exception has a reason and a source. The tests below fail if one is no longer needed."""
    listed = facts_file("exceptions.toml")["exception"]
    assert 0 < len(listed) <= EXCEPTIONS_MOST
    assert all(set(entry) == {"platform", "what", "why", "source"} and all(entry.values()) for entry in listed)


def wrong_fields(facts, platform, described, name_of):
    """Returns {"field NAME PATH"} of fields that the description lacks or has with another type."""
    wrong = set()
    for fact in facts:
        name = name_of(fact) if (fact.kind, fact.platform) == ("field", platform) else None
        if name and described(name, fact.path) not in ACCEPTED_TYPES[fact.accessor]:
            wrong.add(f"field {name} {fact.path}")
    return wrong


def wrong_parameters(query, parameters, required):
    wrong = {f"parameter {name}" for name in query if name not in parameters} | {f"missing {name}" for name in required if name not in query}
    for name, value in query.items():
        kind = parameters.get(name)
        if isinstance(kind, list):
            wrong |= {f"{name}={item}" for item in value.split(",") if item not in kind}
        elif kind == "date" and not re.fullmatch(r"\d{4}-\d\d-\d\d", value):
            wrong.add(f"{name}={value}")
        elif kind in ("integer", "boolean") and not re.fullmatch(r"\d+" if kind == "integer" else "true|false", value):
            wrong.add(f"{name}={value}")
    return wrong


def test_youtube_matches_the_discovery_document(facts):
    table, common = facts_file("youtube.toml"), facts_file("google.toml")
    wrong, seen = set(), set()
    for fact in facts:
        method = METHOD_OF.get(fact.context) if (fact.kind, fact.platform) == ("request", "youtube") else None
        if not method:
            continue
        seen.add(method)
        wrong |= {f"request {method} {fact.request}"} if fact.request != table[method]["request"] else set()
        wrong |= {f"{method} {what}" for what in wrong_parameters(fact.query, table[method]["parameters"], table[method]["required"])}
        parts = {path.split("[].")[1].split(".")[0] for path in table[method]["fields"] if "[]." in path}
        wrong |= {f"{method} part={part}" for part in fact.query["part"].split(",") if part not in parts}
        assert "https://www.googleapis.com/auth/youtube.readonly" in table[method]["scopes"]
    wrong |= wrong_fields(facts, "youtube", lambda method, path: table[method]["fields"].get(path) or common.get(path, {}).get("type"),
                          lambda fact: METHOD_OF.get(fact.context))
    assert seen == set(METHOD_OF.values())
    assert wrong == exceptions("youtube")


def pinterest_request(context):
    if context[0] != "read":
        return "GET /v5/user_account" if context == ("link", 1) else "POST /v5/oauth/token"
    return "GET /v5/pins/analytics" if context[1] == 0 else "GET /v5/pins/{pin_id}/analytics"


def test_pinterest_matches_its_description(facts):
    table = facts_file("pinterest.toml")
    assert table["source"] and table["date"] and all(entry["source"] for entry in table.values() if isinstance(entry, dict))
    wrong, seen = set(), set()
    for fact in facts:
        if (fact.kind, fact.platform) != ("request", "pinterest"):
            continue
        name = pinterest_request(fact.context)
        seen.add(name)
        wrong |= {f"request {fact.request}"} if not re.fullmatch(re.escape(name).replace(r"\{pin_id\}", "[0-9_]+"), fact.request) else set()
        wrong |= {f"{name} {what}" for what in wrong_parameters(fact.query, table[name]["parameters"], table[name]["required"])}
    wrong |= wrong_fields(facts, "pinterest", lambda name, path: table[name]["fields"].get(path), lambda fact: pinterest_request(fact.context))
    assert seen == {name for name, entry in table.items() if isinstance(entry, dict)}
    assert wrong == exceptions("pinterest")


def metrics_of(facts, platform):
    """Returns {(last part of the path, name)} of the requested metrics."""
    requested = set()
    for fact in facts:
        if (fact.kind, fact.platform) == ("request", platform) and fact.function == "read":
            for url in fact.operations:
                query = dict(urllib.parse.parse_qsl(url.query))
                for name in query.get("metric", "").split(",") if "metric" in query else []:
                    requested.add((url.path.rsplit("/", 1)[1], name))
    return requested


@pytest.mark.parametrize("platform", ["instagram", "instagram-facebook"])
def test_instagram_metrics_match_metas_package(facts, platform):
    requested = metrics_of(facts, platform)
    assert {name for _, name in requested} >= {"views", "likes", "comments", "shares", "saved"}
    wrong = {f"metric {name}" for _, name in requested if name not in facts_file("instagram.toml")["metrics"]}
    assert wrong == exceptions(platform)


def test_metrics_of_facebook_have_a_source(facts):
    """No package lists the metrics, so we maintain a table. Each metric must be requested only for the kinds of objects that document it."""
    table, requested = facts_file("facebook.toml"), metrics_of(facts, "facebook")
    assert all(set(entry) == {"kind", "source", "date"} and entry["source"] and re.fullmatch(r"\d{4}-\d\d-\d\d", entry["date"]) for entry in table.values())
    wrong = {f"metric {edge} {name}" for edge, name in requested
             if not set(table.get(name, {}).get("kind", [])) & ({"post"} if edge == "insights" else {"reel", "video"})}
    fields = set()
    for fact in facts:
        if (fact.kind, fact.platform) == ("request", "facebook") and fact.function == "read":
            for url in fact.operations:
                text = dict(urllib.parse.parse_qsl(url.query)).get("fields", "")
                fields |= {field.split(".")[0] for field in re.split(r",(?![^(]*\))", text) if field}
    wrong |= {f"field {name}" for name in fields if "node" not in table.get(name, {}).get("kind", [])}
    assert {name for _, name in requested} | fields == set(table), "the table must list exactly the requested names"
    assert wrong == exceptions("facebook")
