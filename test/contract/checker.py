"""Checks pairs of request and response against the document, and records what was seen for the coverage tests.

`Checker.check()` raises DriftError if a pair does not agree with the document.
"""
import csv
import io
import re
import urllib.parse

from apidoc import Document, DriftError, parse_json, variants_of

# Fields of HTTP itself; all others must be in the document.
TRANSPORT = {"date", "content-type", "content-length", "transfer-encoding", "connection"}
LIMIT = {"ratelimit", "ratelimit-policy", "x-ratelimit-limit", "x-ratelimit-remaining", "x-ratelimit-reset"}
TYPES = {"application/json": "application/json; charset=utf-8", "text/csv": "text/csv; charset=utf-8"}
# CORS fields if [server] cors_origins is set (Fetch standard).
CORS = {"access-control-allow-origin", "access-control-expose-headers"}
# Statuses that the document covers with `default`, and their codes.
DEFAULT = {404: "not_found", 408: "invalid_parameter", 413: "invalid_parameter", 417: "invalid_parameter",
           501: "internal_error", 505: "invalid_parameter"}
# Statuses that are decided before the rate limit.
UNCOUNTED = {401, 405, 408, 413, 414, 417, 431, 501, 503, 505}


class Seen:
    """What the server has sent, as sets of tuples that begin with the name of the operation."""

    def __init__(self):
        self.parameters = set()     # (operation, location, name)
        self.statuses = set()       # (operation, status as in the document)
        self.default_statuses = set()
        self.codes = set()          # (operation, status, code)
        self.headers = set()        # (operation, status, header)
        self.types = set()          # (operation, status, media type)
        self.values = set()         # the variants of apidoc.variants()


def _check_csv(text):
    if not text.endswith("\r\n"):
        raise DriftError("the last line of the CSV has no line end")
    heading, *lines = csv.reader(io.StringIO(text, newline=""))
    for line in lines:
        if len(line) != len(heading):
            raise DriftError(f"a line of {len(line)} cells under {len(heading)} headings: {line}")


class Checker:
    """`limited`: the rate limit and its header fields are on; `origin`: the origin that cors_origins allows."""

    def __init__(self, document=None, base="/v1", limited=True, seen=None, origin=None):
        self.document = document or Document.load()
        self.base = base
        self.limited = limited
        self.origin = origin
        self.seen = seen or Seen()

    # -- pairs of request and response ----------------------------------------------------------------------------------------------------

    def check(self, method, target, response, sent=(), malformed=False):
        """`sent`: the header fields of the request as a dict; `malformed`: the server rejects the request as malformed
        HTTP, before an endpoint is reached."""
        try:
            self._check(method, target, response, {name.lower(): value for name, value in dict(sent).items()}, malformed)
        except DriftError as error:
            raise DriftError(f"{method} {target[:300]}: {response}: {error}") from None
        return response

    def _check(self, method, target, response, sent, malformed):
        path, _, query = target.partition("?")
        operations = self.document.find(path[len(self.base):] or "/") if f"{path}/".startswith(self.base + "/") else []
        if not operations:
            self._check_unknown(response)
            return
        operation = next((each for each in operations if each.method == method), None)
        if operation is None and not malformed and response.status != 405:
            raise DriftError("the method is not in the document")
        operation = operation or operations[0]
        if operation.template == "/stats" and (response.headers.get("Content-Type") or "").startswith("text/csv"):
            # CSV because of `format` or Accept. The document describes CSV only for /stats.csv, which clients call if
            # they need its type.
            operation = self.document.operation(f"{operation.method} /stats.csv")
        documented = self._documented(operation, response.status)
        self._check_headers(operation, documented, response, malformed)
        self._check_cors(response, sent.get("origin"))
        body = self._check_body(operation, documented, response, method)
        if response.status < 400:
            self._check_request(operation, query, sent)
        if response.status == 400 and not malformed:
            self._check_names_parameter(operation, body)

    def _check_unknown(self, response):
        """The response of a path that is not in the document must be a 404 in the common format."""
        if response.status != 404:
            raise DriftError("the path is not in the document")
        operation = self.document.operations[0]
        documented = operation.responses["default"]
        self.seen.default_statuses.add(404)
        self._check_headers(operation, documented, response, True)
        self._check_body(operation, documented, response, "GET")

    def _documented(self, operation, status):
        if str(status) in operation.responses:
            documented = operation.responses[str(status)]
        elif status in DEFAULT and "default" in operation.responses:
            documented = operation.responses["default"]
            self.seen.default_statuses.add(status)
        elif f"{status // 100}XX" in operation.responses:
            documented = operation.responses[f"{status // 100}XX"]
        else:
            raise DriftError(f"status {status} is not in the document")
        self.seen.statuses.add((operation.name, documented.status))
        return documented

    # -- headers ---------------------------------------------------------------------------------------------------

    def _check_headers(self, operation, documented, response, malformed):
        names = [name.lower() for name in response.headers]
        known = {name.lower(): (name, *rest) for name, rest in documented.headers.items()}
        for name in names:
            if names.count(name) > 1:
                raise DriftError(f"header {name} occurs {names.count(name)} times")
            if name not in known and name not in TRANSPORT and not (self.origin and name in CORS):
                raise DriftError(f"header {name} is not in the document")
        for name, (written, schema, required) in known.items():
            text = response.headers.get(name)
            if text is None and required:
                raise DriftError(f"header {written} is missing")
            if text is not None:
                schema.check(schema.read_text(text))
                self.seen.headers.add((operation.name, documented.status, written))
                self.seen.values.update(variants_of(schema.node, schema.read_text(text), f"header {written}"))
        self._check_limit_headers(operation, names, response, malformed)

    def _check_cors(self, response, origin):
        """If an origin is allowed, all responses depend on it, including errors; other origins get no CORS fields."""
        allowed = response.headers.get("Access-Control-Allow-Origin")
        if allowed != (origin if origin == self.origin else None):
            raise DriftError(f"Access-Control-Allow-Origin {allowed!r} for Origin {origin!r}")
        if ("Origin" in response.headers["Vary"]) != (self.origin is not None):
            raise DriftError(f"Vary {response.headers['Vary']!r} with cors_origins {self.origin!r}")
        exposed = {name.strip().lower() for name in (response.headers.get("Access-Control-Expose-Headers") or "").split(",")}
        if allowed and not LIMIT | {"etag", "link", "content-disposition", "retry-after", "x-request-id", "x-unknown-parameters"} <= exposed:
            raise DriftError(f"not all headers are exposed to pages: {sorted(exposed)}")

    def _check_limit_headers(self, operation, names, response, malformed):
        """A response must have all headers of the rate limit or none, and all if the request was counted."""
        given = LIMIT & set(names)
        if given and given != LIMIT:
            raise DriftError(f"only some of the rate limit's headers: {sorted(given)}")
        expected = self.limited and operation.keyed and not malformed and response.status not in UNCOUNTED
        if expected and not given:
            raise DriftError("the rate limit's headers are missing")
        if given and not self.limited:
            raise DriftError("rate limit headers although the rate limit is off")
        if given:
            field = response.headers
            limit = f'"key";q={field["X-RateLimit-Limit"]};w=60'
            left = f'"key";r={field["X-RateLimit-Remaining"]};t={field["X-RateLimit-Reset"]}'
            if field["RateLimit-Policy"] != limit or field["RateLimit"] != left:
                raise DriftError(f"the two forms of the limit's headers disagree: {dict(field)}")

    # -- body ------------------------------------------------------------------------------------------------------

    def _check_body(self, operation, documented, response, method):
        kind = response.headers.get("Content-Type")
        if not documented.contents:
            if response.body or (kind and method != "HEAD"):
                raise DriftError("a body that is not in the document")
            return None
        media_type = next((name for name in documented.contents if TYPES[name] == kind), None)
        if media_type is None:
            raise DriftError(f"Content-Type {kind!r} is not in the document")
        self.seen.types.add((operation.name, documented.status, media_type))
        if method == "HEAD":
            if response.body:
                raise DriftError("a response to HEAD with a body")
            return None
        schema = documented.contents[media_type]
        body = parse_json(response.body) if media_type == "application/json" else response.body.decode("utf-8")
        schema.check(body)
        if media_type == "text/csv":
            _check_csv(body)
        self.seen.values.update(variants_of(schema.node, body, schema.location))
        if response.status >= 400:
            self._check_error(operation, documented, response, body)
        return body

    def _check_error(self, operation, documented, response, body):
        if isinstance(body["error"], str):
            code = body["error"]
        else:
            code = body["error"]["code"]
            if body["error"]["request_id"] != response.headers["X-Request-Id"]:
                raise DriftError("error.request_id is not X-Request-Id")
            if not body["error"]["doc_url"].endswith(f"{self.base}/docs/errors#{code}"):
                raise DriftError(f"doc_url {body['error']['doc_url']} of {code}")
        expected = DEFAULT.get(response.status)
        if operation.template.startswith("/oauth/"):
            expected = "invalid_request"
        if documented.status == "default" and code != expected:
            raise DriftError(f"code {code} with status {response.status}")
        self.seen.codes.add((operation.name, documented.status, code))

    # -- the request -----------------------------------------------------------------------------------------------

    def _check_request(self, operation, query, sent):
        """Accepted parameters must be valid according to the document."""
        given = {}
        for pair in query.split("&"):
            name, _, raw = pair.partition("=")
            name = urllib.parse.unquote_plus(name, errors="replace")
            schema = operation.parameters.get(("query", name))
            if schema is None:
                continue
            if name in given:
                raise DriftError(f"{name} was accepted twice")
            given[name] = raw
            if re.search("%(?![0-9A-Fa-f]{2})", raw):
                raise DriftError(f"{name} was accepted with a broken escape")
            try:
                text = urllib.parse.unquote_plus(raw, errors="strict")
            except UnicodeDecodeError:
                raise DriftError(f"{name} was accepted though it is not UTF-8") from None
            schema.check(schema.read_text(text))
            self.seen.parameters.add((operation.name, "query", name))
        for location, name in operation.parameters:
            if location == "header" and name.lower() in sent:
                self.seen.parameters.add((operation.name, location, name))
            if location == "path":
                self.seen.parameters.add((operation.name, location, name))

    def _check_names_parameter(self, operation, body):
        if body is None or isinstance(body["error"], str):
            return
        message, param = body["error"]["message"], body["error"].get("param")
        if param not in operation.query_names():
            raise DriftError(f"param {param!r} is not a parameter of the document")
        if body["error"]["code"] == "range_too_long":
            return
        quoted = re.match(r'"([^"]+)" ', message)
        if not quoted or quoted[1] != param:
            raise DriftError(f"the message does not begin with the quoted name of {param}: {message!r}")
