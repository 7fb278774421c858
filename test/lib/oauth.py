"""One-click connect for tests: PKCE pairs, the requests of an app and of an author. Tests of the token endpoint write codes
directly into the database instead of using the consent page."""
import base64
import hashlib
import json
import secrets
import time
import urllib.parse
import uuid
import zlib

BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
JSON = {"Content-Type": "application/json"}
REDIRECT = "https://app.example/connected"


def base62(number, length):
    digits = ""
    for _ in range(length):
        number, digit = divmod(number, 62)
        digits = BASE62[digit] + digits
    return digits


def make_code(prefix="vtcode_"):
    """Returns a code in the format of the server: 256 random bits and their CRC-32."""
    text = prefix + base62(secrets.randbits(256), 43)
    return text + base62(zlib.crc32(text.encode()), 6)


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def challenge_of(verifier):
    return base64url(hashlib.sha256(verifier.encode()).digest())


def make_verifier():
    return base64url(secrets.token_bytes(32))


def basic(client_id, secret):
    """A Basic Authorization header; both parts are form-encoded (RFC 6749, 2.3.1)."""
    pair = f"{urllib.parse.quote_plus(client_id)}:{urllib.parse.quote_plus(secret)}"
    return {"Authorization": "Basic " + base64.b64encode(pair.encode()).decode()}


def add_app(viewtally, *redirects, name="An App", confidential=False, home=None):
    """Registers an app and returns the output of `app add --json`."""
    viewtally.ensure_database()
    return viewtally.run("app", "add", "--name", name, *[word for uri in redirects or [REDIRECT] for word in ("--redirect-uri", uri)],
                         *(["--confidential"] if confidential else []), *(["--home-url", home] if home else []), "--json").json()


def rows(viewtally, sql, *values):
    return viewtally.sql(sql, *values)


def hash_of(text):
    return hashlib.sha256(text.encode()).digest()


class Grant:
    """A code in the database, as created by the author's consent, and its exchange for a key."""

    def __init__(self, viewtally, app, author, redirect=REDIRECT, verifier=None, at_ms=None):
        self.viewtally = viewtally
        self.app = app
        self.redirect = redirect
        self.verifier = verifier or make_verifier()
        self.code = make_code()
        at_ms = int(time.time() * 1000) if at_ms is None else at_ms
        rows(viewtally, "INSERT INTO oauth_codes (hash, app_id, author_id, redirect_uri, challenge, created_at) SELECT ?, "
             "(SELECT id FROM apps WHERE client_id = ?), id, ?, ?, ? FROM authors WHERE uuid = ?",
             hash_of(self.code), app["client_id"], redirect, challenge_of(self.verifier), at_ms,
             uuid.UUID(author))

    def fields(self, **changes):
        """The fields of the body; a value of None leaves the field out."""
        fields = {"grant_type": "authorization_code", "code": self.code, "redirect_uri": self.redirect,
                  "client_id": self.app["client_id"], "code_verifier": self.verifier}
        if self.app.get("client_secret"):
            fields["client_secret"] = self.app["client_secret"]
        fields.update(changes)
        return {name: value for name, value in fields.items() if value is not None}

    def exchange(self, client, headers=None, **changes):
        return post(client, "token", self.fields(**changes), headers)


def random_client_address():
    """Headers with a random client address, because failed attempts are counted per address. Needs trusted_proxies."""
    return {"X-Forwarded-For": ".".join(str(secrets.randbelow(250) + 1) for _ in range(4))}


def post(client, endpoint, fields, headers=None, base="/v1"):
    """Posts a form to an OAuth endpoint; `fields` is a dict, a list of pairs, or an encoded body."""
    body = fields if isinstance(fields, (str, bytes)) else urllib.parse.urlencode(fields)
    return client.request("POST", f"{base}/oauth/{endpoint}", headers={**FORM, **random_client_address(), **(headers or {})}, body=body)


def post_json(client, endpoint, fields, base="/v1"):
    body = fields if isinstance(fields, (str, bytes)) else json.dumps(fields)
    return client.request("POST", f"{base}/oauth/{endpoint}", headers={**JSON, **random_client_address()}, body=body)


def error_of(response, status=400):
    """Checks the format of an OAuth error response and returns its code."""
    assert response.status == status, response
    body = response.json()
    assert set(body) == {"error", "error_description", "error_uri"} and body["error_uri"].endswith(f"/docs/connect#{body['error']}"), body
    assert all(0x20 <= ord(c) <= 0x7E and c not in '"\\' for c in body["error"] + body["error_description"]), body
    assert response.headers["Cache-Control"] == "no-store"
    assert (response.headers["WWW-Authenticate"] is not None) == (status == 401)
    return body["error"]


# -- requests of the author -------------------------------------------------------------------------------------------------

AUTHORIZE = "/oauth/authorize"


def authorize_params(app, verifier, redirect=REDIRECT, **changes):
    """The parameters of an authorization request; a value of None leaves the parameter out."""
    params = {"response_type": "code", "client_id": app["client_id"], "redirect_uri": redirect, "scope": "read", "state": "st-1",
              "code_challenge": challenge_of(verifier), "code_challenge_method": "S256", **changes}
    return {name: value for name, value in params.items() if value is not None}


def open_consent_page(browser, params, follow=False):
    """Opens the consent page; `params` is a dict, a list of pairs or an encoded query."""
    query = params if isinstance(params, str) else urllib.parse.urlencode(params)
    return browser.get(f"/v1{AUTHORIZE}?{query}", follow=follow)


def consent_form(page):
    found = [form for form in page.forms if AUTHORIZE in form.action]
    assert len(found) == 1, page
    return found[0]


def submit_consent(browser, page, decision, headers=None, **changes):
    form = consent_form(page)
    assert form.method == "post" and ("decision", decision) in form.buttons
    return browser.post(form.action, {**form.fields, "decision": decision, **changes}, headers=headers)


def redirect_params(page, redirect=REDIRECT):
    """The parameters of the redirect to the app as a dict; fails if one occurs twice."""
    assert page.status == 303, page
    location = page.headers["Location"]
    head, _, query = location.partition("?")
    assert head == redirect.partition("?")[0], location
    pairs = urllib.parse.parse_qsl(query, keep_blank_values=True, strict_parsing=True, errors="surrogateescape")
    assert len(pairs) == len(dict(pairs)), location
    return dict(pairs)
