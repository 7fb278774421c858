"""src/api/openapi.json for tests: references expanded, objects closed, operations found by method and path.

The published schemas leave objects and some enumerations open, because fields and values may be added within /v1. Here
they are closed: a field or value that the server sends and the document does not contain is a failure.
"""
import copy
import datetime
import functools
import json
import re

import jsonschema

from lib.viewtally import ROOT

PATH = ROOT / "src/api/openapi.json"
METHODS = ("get", "post", "put", "patch", "delete", "head", "options", "trace")


class DriftError(AssertionError):
    """The server and the document disagree."""


# -- values -------------------------------------------------------------------------------------------------------------

def _is_date(text):
    datetime.datetime.strptime(text, "%Y-%m-%d")
    return True


def _is_date_time(text):
    datetime.datetime.strptime(text[:19], "%Y-%m-%dT%H:%M:%S")
    return text.endswith("Z")


def _is_uri(text):
    return re.fullmatch(r"[a-z][a-z0-9+.-]*:[^\s]+", text) is not None


def _is_uuid(text):
    return re.fullmatch(r"[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", text) is not None


def _only_strings(check):
    return lambda value: not isinstance(value, str) or check(value)


FORMATS = jsonschema.FormatChecker()
FORMATS.checkers = {
    "date": (_only_strings(_is_date), ValueError),
    "date-time": (_only_strings(_is_date_time), ValueError),
    "uri-reference": (_only_strings(lambda text: re.fullmatch(r"[^\s]+", text) is not None), ValueError),
    "uri": (_only_strings(_is_uri), ValueError),
    "uuid": (_only_strings(_is_uuid), ValueError),
    "int64": (lambda value: not isinstance(value, int) or -2 ** 63 <= value < 2 ** 63, ValueError),
}


def parse_json(body):
    """Parses JSON strictly: UTF-8, no repeated names, only integers (the API sends no other numbers)."""
    def pairs(items):
        names = [name for name, _ in items]
        if len(names) != len(set(names)):
            raise DriftError(f"repeated name in an object: {names}")
        return dict(items)

    def no_float(text):
        raise DriftError(f"a number that is not an integer: {text}")

    try:
        return json.loads(body.decode("utf-8"), object_pairs_hook=pairs, parse_float=no_float, parse_constant=no_float)
    except ValueError as error:
        raise DriftError(f"not JSON in UTF-8: {error}: {body[:200]!r}") from None


class Schema:
    """A closed schema and its location in the document."""

    def __init__(self, node, location):
        self.node = node
        self.location = location
        self._validator = jsonschema.Draft202012Validator(node, format_checker=FORMATS)

    def errors(self, value):
        found = []
        for error in self._validator.iter_errors(value):
            worst = jsonschema.exceptions.best_match([error])
            at = "/".join(map(str, worst.absolute_path))
            found.append(f"{self.location} at /{at}: {worst.message[:400]}")
        return found

    def check(self, value):
        found = self.errors(value)
        if found:
            raise DriftError("; ".join(found[:8]))

    def read_text(self, text):
        """The value of a parameter or header according to its type; the text itself if it is not of that type."""
        if self.node.get("type") == "integer" and re.fullmatch("[0-9]+", text):
            return int(text)
        if self.node.get("type") == "boolean" and text in ("true", "false"):
            return text == "true"
        if self.node.get("type") == "array":
            return text.split(",")
        return text


# -- variants of values ------------------------------------------------------------------------------------

def variants(node, location):
    """Yields (location, variant) for each variant that a value of this schema can have: each field, each member of an
    enum, true and false, null and not null."""
    for choice in node.get("anyOf", []):
        yield from variants(choice, location)
    for choice in node.get("oneOf", []):
        yield from variants(choice, location)
        yield location, "null" if choice.get("type") == "null" else "a value"
    for member in node.get("enum", []):
        yield location, repr(member)
    if isinstance(node.get("type"), list):
        yield from ((location, "null"), (location, "a value"))
    if node.get("type") == "boolean" and "enum" not in node:
        yield from ((location, "True"), (location, "False"))
    for name, member in node.get("properties", {}).items():
        yield f"{location}.{name}", "present"
        yield from variants(member, f"{location}.{name}")
    if "items" in node:
        yield from variants(node["items"], f"{location}[]")


def variants_of(node, value, location):
    """Yields the variants that this value has. The value must be valid."""
    for choice in node.get("anyOf", []):
        if jsonschema.Draft202012Validator(choice).is_valid(value):
            yield from variants_of(choice, value, location)
    for choice in node.get("oneOf", []):
        if jsonschema.Draft202012Validator(choice).is_valid(value):
            yield from variants_of(choice, value, location)
            yield location, "null" if value is None else "a value"
    if "enum" in node or node.get("type") == "boolean":
        yield location, repr(value)
    if isinstance(node.get("type"), list):
        yield location, "null" if value is None else "a value"
    for name, member in node.get("properties", {}).items():
        if name in value:
            yield f"{location}.{name}", "present"
            yield from variants_of(member, value[name], f"{location}.{name}")
    for item in value if "items" in node else []:
        yield from variants_of(node["items"], item, f"{location}[]")


# -- the document -------------------------------------------------------------------------------------------------------

class Response:
    def __init__(self, status, node, location):
        self.status = status
        self.headers = {name: (Schema(header["schema"], f"{location} header {name}"), header.get("required", False))
                        for name, header in node.get("headers", {}).items()}
        self.contents = {kind: Schema(content["schema"], f"{location} {kind}")
                         for kind, content in node.get("content", {}).items()}

    def codes(self):
        """The error codes that this response may contain."""
        node = self.contents["application/json"].node if "application/json" in self.contents else {}
        error = node.get("properties", {}).get("error", {})
        code = error.get("properties", {}).get("code", error)
        return code.get("enum") or ([code["const"]] if "const" in code else [])


class Operation:
    def __init__(self, method, template, node, default_security):
        self.method = method
        self.template = template
        self.name = f"{method} {template}"
        self.keyed = bool(node.get("security", default_security))
        self.parameters = {(parameter["in"], parameter["name"]): Schema(parameter["schema"], f"{self.name} {parameter['name']}")
                           for parameter in node.get("parameters", [])}
        self.responses = {status: Response(status, response, f"{self.name} {status}")
                          for status, response in node["responses"].items()}
        self.pattern = re.compile("".join("([^/]+)" if part.startswith("{") else re.escape(part)
                                          for part in re.split(r"(\{[^}]*\})", template)))

    def query_names(self):
        return [name for location, name in self.parameters if location == "query"]

    def response(self, status):
        return self.responses.get(str(status)) or self.responses.get(f"{status // 100}XX") or self.responses["default"]


class Document:
    def __init__(self, raw):
        self.raw = raw
        self.whole = self._expand(raw, ())
        self.operations = [Operation(method.upper(), template, node, raw["security"])
                           for template, item in self.whole["paths"].items()
                           for method, node in item.items() if method in METHODS]

    @staticmethod
    @functools.lru_cache(maxsize=1)
    def load():
        return Document(parse_json(PATH.read_bytes()))

    def _expand(self, node, within):
        """A deep copy in which references are replaced by their targets and objects are closed."""
        if isinstance(node, list):
            return [self._expand(item, within) for item in node]
        if not isinstance(node, dict):
            return copy.copy(node)
        if isinstance(node.get("$ref"), str):
            assert node["$ref"] not in within, f"{node['$ref']} contains itself"
            assert set(node) <= {"$ref", "description"}, f"only a description is allowed beside a reference: {node}"
            return self._expand(self._look_up(node["$ref"]), (*within, node["$ref"]))
        expanded = {name: self._expand(value, within) for name, value in node.items()}
        if "anyOf" in expanded:
            # The last alternative is for values that may be added later. This server must not send any.
            expanded["anyOf"].pop()
        if expanded.get("type") == "object" and "properties" in expanded:
            expanded.setdefault("additionalProperties", False)
        return expanded

    def _look_up(self, reference):
        assert reference.startswith("#/"), reference
        node = self.raw
        for part in reference[2:].split("/"):
            node = node[part.replace("~1", "/").replace("~0", "~")]
        return node

    def find(self, path):
        """The operations of a path below the base path; an exact template takes precedence over one with a parameter."""
        found = [operation for operation in self.operations if operation.pattern.fullmatch(path)]
        exact = [operation for operation in found if operation.template == path]
        return exact or found

    def operation(self, name):
        return next(operation for operation in self.operations if operation.name == name)
