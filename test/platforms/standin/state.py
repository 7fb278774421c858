"""The state of one stand-in: posts, accounts, tokens, codes, rate limits, faults to inject, and recorded requests."""
import base64
import collections
import fnmatch
import hashlib
import mmap
import os
import random
import struct
import time

from .wire import Response, BODY_FAULTS, WIRE_FAULTS, corrupt

COUNTS = ("views", "likes", "comments", "shares", "saves")
DAY = 86_400_000
MARK = "LeAkMaRk"             # part of every token, code and client secret, so that leaks can be found
LOG_MAX = 300_000


class Clock:
    """The fake clock of the program under test (test/lib/clock.py), or the real one; advance() moves both forward."""

    def __init__(self, path=None):
        self._offset, self._map = 0, None
        if path:
            descriptor = os.open(path, os.O_RDONLY)
            self._map = mmap.mmap(descriptor, 16, prot=mmap.PROT_READ)
            os.close(descriptor)

    @property
    def wall_ms(self):
        fake_ms = struct.unpack_from("<q", self._map, 0)[0] if self._map else 0
        return (fake_ms or time.time_ns() // 1_000_000) + self._offset

    @property
    def mono_ms(self):
        fake_ms = struct.unpack_from("<q", self._map, 8)[0] if self._map else 0
        return (fake_ms or time.monotonic_ns() // 1_000_000) + self._offset

    def advance(self, ms):
        self._offset += ms


class Account:
    __slots__ = ("id", "name", "login", "scopes", "refresh", "generation", "page_token", "usage_percent", "bulk", "kind", "declined")

    def __init__(self, id, name, login, scopes):
        self.id, self.name, self.login, self.scopes = id, name, login, set(scopes)
        self.refresh = self.page_token = None
        self.generation = 0
        self.usage_percent = None
        self.bulk = None
        self.kind = "BUSINESS"                      # or PINNER: a personal account at Pinterest
        self.declined = None                        # permissions that the person declined; None: the consent page was never shown


class Post:
    """`state`: public, unlisted, private, deleted, processing (known, no counts yet), early (older than the business account).
    `hidden`: counts that are omitted from responses. `kind`: reel, video, …, if the platform distinguishes kinds."""
    __slots__ = ("id", "account", "kind", "state", "hidden", "posted_at", "counts", "publish_id", "refuses", "post_id")

    def __init__(self, id, account, kind, posted_at, counts):
        self.id, self.account, self.kind, self.posted_at, self.counts = id, account, kind, posted_at, counts
        self.state, self.hidden, self.publish_id, self.refuses, self.post_id = "public", set(), None, set(), None


class Token:
    __slots__ = ("text", "account", "expires_at", "scopes", "obtained_at", "kind")

    def __init__(self, text, account, expires_at, scopes, obtained_at, kind):
        self.text, self.account, self.expires_at, self.scopes = text, account, expires_at, scopes
        self.obtained_at, self.kind = obtained_at, kind


class Rejected(Exception):
    """Ends the handling of a request with this response."""

    def __init__(self, response):
        super().__init__()
        self.response = response


class Bucket:
    """A limit per sliding window, like those of the platforms."""

    def __init__(self, most, window_ms):
        self.most, self.window_ms, self._at = most, window_ms, collections.deque()

    def acquire(self, now):
        while self._at and self._at[0] <= now - self.window_ms:
            self._at.popleft()
        if self.most and len(self._at) >= self.most:
            return False
        if self.most:
            self._at.append(now)
        return True

    def left(self):
        return max(0, self.most - len(self._at))


class Standin:
    """Base class of the stand-ins. A subclass has NAME, HOSTS, SCOPES, `respond(host, request)` and `error(name)`."""

    NAME = ""
    HOSTS = ()
    SCOPES = ()
    ACCESS_SECONDS, REFRESH_SECONDS = 3600, None
    ONE_CALL_PER_ACCOUNT = True

    generation = 0              # incremented by each reset

    def __init__(self, clock):
        self.generation += 1
        self.clock = clock
        self.posts, self.accounts, self.tokens, self.refreshes, self.codes, self.spent = {}, {}, {}, {}, {}, set()
        self.client_id = f"client-of-{self.NAME}"
        self.client_secret = f"{MARK}-{self.NAME}-client-secret"
        self.api_key = f"{MARK}-{self.NAME}-api-key"
        self.access_seconds, self.refresh_seconds = self.ACCESS_SECONDS, self.REFRESH_SECONDS
        self.redirect_uris = None                   # None: any address
        self.consented = None                       # the account of the last consent
        self.consent = "granted"                    # or an error code, or the id of the account to consent for
        self.declines = set()                       # permissions that the person declines whenever the consent page is shown
        self.faults = []
        self.random = random.Random(1)
        self.calls = collections.Counter()          # by route
        self.statuses = collections.Counter()       # by (route, status)
        self.hits = collections.Counter()           # faults, by name
        self.log = collections.deque(maxlen=LOG_MAX)
        self.logging = True
        self.violations = []
        self.served = {}                            # post id -> {count: value} of its last complete response
        self.failed = {}                            # post id -> fault, if its last request failed
        self.in_flight = collections.Counter()
        self.busy = collections.Counter()           # the requests in flight that the client cannot have given up
        self.in_flight_max = 0
        self.connections = self.connections_max = 0
        self._serial = 0

    # -- requests --------------------------------------------------------------------------------------------------

    def handle(self, host, request):
        record = {"of": self.generation, "host": host, "method": request.method, "path": request.path, "route": "?", "account": None, "ids": [], "at": self.clock.wall_ms,
                  "fault": None, "began": time.monotonic()}
        self.record = record
        self.credentials = request.header("authorization").rpartition(" ")[2] or request.target
        try:
            if request.broken:
                self.violation(f"malformed query string: {request.target}")
            for name in request.repeated:
                self.violation(f"{name} is repeated in {request.target}")
            if "host" not in request.headers:
                self.violation("no Host")
            response = self.respond(host, request)
        except Rejected as rejected:
            response = rejected.response
        except Exception as reason:                             # an error of the stand-in: report it to the test
            self.violation(f"{type(reason).__name__}: {reason} for {request.method} {request.path}")
            response = Response(500, {})
        self.finish(response, record)
        self.calls[record["route"]] += 1
        self.statuses[record["route"], response.status] += 1
        record["status"] = response.status
        account = record["account"]
        self.in_flight[account] += 1
        self.in_flight_max = max(self.in_flight_max, sum(self.in_flight.values()))
        # A disconnect may be detected after the client's next request, so calls with a fault that the client may give up are not counted.
        record["counts"] = not response.fault or response.fault["kind"] == "slow"
        self.busy[account] += record["counts"]
        if self.ONE_CALL_PER_ACCOUNT and account and record["counts"] and self.busy[account] > 1:
            self.violation(f"{self.busy[account]} calls in flight for {account}")
        if self.logging:
            self.log.append(record)
        response.record = record
        return response

    def on_end(self, response, delivered):
        if response.record["of"] != self.generation:
            return
        account = response.record["account"]
        self.in_flight[account] -= 1
        self.busy[account] -= response.record["counts"]
        if not self.in_flight[account]:
            del self.in_flight[account], self.busy[account]
        response.record["ended"] = time.monotonic()
        fault = response.fault and response.fault.get("kind")
        if not delivered or fault in ("oversized", "gzip_bomb"):
            response.record["undelivered"] = True
            self.record_failure(response.record["ids"], fault or "not delivered")
            return
        for id, counts in (response.served or {}).items():
            self.served.setdefault(id, {}).update(counts)
            self.failed.pop(id, None)
        if response.served is None:
            self.record_failure(response.record["ids"], response.record["fault"] or str(response.status))

    def record_failure(self, ids, why):
        for id in ids:
            self.failed[id] = why

    def count_connection(self, change):
        self.connections += change
        self.connections_max = max(self.connections_max, self.connections)

    def route(self, name, account=None, ids=()):
        """Records the route of the request; a matching fault replaces the response."""
        record = self.record
        record["route"], record["account"], record["ids"] = name, account, list(ids)
        fault = self.next_fault(name, account, record["ids"])
        if fault:
            record["fault"] = fault.get("name") or fault["kind"]
            record["pending"] = fault
            if not fault.get("after") and fault["kind"] in ("error", "raw", "silent", "reset", "not_http", "redirect", "garbage"):
                record["pending"] = None
                response = self.error(fault["name"]) if fault["kind"] == "error" else Response(200, {})
                if fault["kind"] == "error":
                    response.headers += list(fault.get("headers", {}).items())
                self.apply(response, fault)
                raise Rejected(response)

    def finish(self, response, record):
        fault = record.pop("pending", None)
        if fault:
            self.apply(response, fault)

    def apply(self, response, fault):
        if fault["kind"] == "echo":                             # the response repeats the credentials of the request
            response.status, response.served = fault.get("status", 400), None
            response.body = f"<html>{self.credentials} is invalid</html>".encode()
        elif fault["kind"] in BODY_FAULTS:
            corrupt(response, fault)
        elif fault["kind"] in WIRE_FAULTS:
            response.fault = fault
        elif fault["kind"] == "error" and fault.get("after"):
            replaced = self.error(fault["name"])
            response.status, response.body, response.served = replaced.status, replaced.body, None
        if fault.get("latency_ms"):
            response.fault = fault

    def next_fault(self, route, account, ids):
        for fault in self.faults:
            if not fnmatch.fnmatchcase(route, fault.get("route", "*")):
                continue
            if fault.get("account") not in (None, account) or (fault.get("id") and fault["id"] not in ids):
                continue
            if "only_first" in fault and self.record.get("op", 0) >= fault["only_first"]:
                continue
            if fault.get("skip", 0) > 0:
                fault["skip"] -= 1
                continue
            if self.random.random() >= fault.get("probability", 1):
                continue
            if "times" in fault:
                fault["times"] -= 1
                if fault["times"] <= 0:
                    self.faults.remove(fault)
            self.hits[f"{route} {fault.get('name') or fault['kind']}"] += 1
            return dict(fault)
        return None

    def violation(self, text):
        if len(self.violations) < 1000:
            self.violations.append(f"{self.NAME}: {text}")

    def reject(self, text, error):
        """Records an undocumented request and responds as the platform does to invalid parameters."""
        self.violation(text)
        raise Rejected(self.error(error))

    def error(self, name):
        raise NotImplementedError

    # -- tokens ----------------------------------------------------------------------------------------------------

    PREFIX = ("access.", "refresh.")

    def new_text(self, prefix):
        self._serial += 1
        unique = hashlib.sha256(f"{self.NAME} {self._serial}".encode()).digest()
        return f"{prefix}{MARK}{base64.urlsafe_b64encode(unique).decode().rstrip('=')}"

    def issue(self, account, scopes=None, seconds=..., kind="user", prefix=None):
        now = self.clock.wall_ms
        seconds = self.access_seconds if seconds is ... else seconds
        text = self.new_text(prefix or self.PREFIX[0])
        self.tokens[text] = Token(text, account, None if seconds is None else now + seconds * 1000,
                                  set(account.scopes if scopes is None else scopes), now, kind)
        return text

    def issue_refresh(self, account):
        """Issues a new refresh token and invalidates the previous one."""
        if account.refresh:
            self.refreshes.pop(account.refresh, None)
            self.spent.add(account.refresh)
        account.refresh = self.new_text(self.PREFIX[1])
        expires = None if self.refresh_seconds is None else self.clock.wall_ms + self.refresh_seconds * 1000
        self.refreshes[account.refresh] = (account, expires)
        account.generation += 1
        return account.refresh

    def refresh_owner(self, text):
        """Returns the account of a valid refresh token, else None."""
        account, expires = self.refreshes.get(text, (None, None))
        return account if account and (expires is None or expires > self.clock.wall_ms) else None

    def find_token(self, text):
        token = self.tokens.get(text)
        if not token or (token.expires_at is not None and token.expires_at <= self.clock.wall_ms):
            return None
        return token

    def bearer(self, request):
        """Returns the token of the Authorization header; None if it is missing or malformed."""
        kind, _, text = request.header("authorization").partition(" ")
        return text if kind == "Bearer" and text and " " not in text else None

    # -- sign-in ---------------------------------------------------------------------------------------------------

    def authorize(self, request, query_id="client_id", required=("response_type", "redirect_uri", "state", "scope"), separator=None, tail=""):
        """Responds like the consent page after the person has consented (or declined): with a redirect to the app."""
        self.route(f"{self.NAME}.authorize")
        query = request.query
        if request.method != "GET":
            self.violation(f"{request.method} for the authorize page")
        for name in (query_id, *required):
            if not query.get(name):
                self.violation(f"the authorize page lacks {name}")
                return Response(400, b"missing " + name.encode())
        if query[query_id] != self.client_id:
            self.violation(f"{query_id} is {query[query_id]}")
        if query["response_type"] != "code":
            self.violation(f"response_type is {query['response_type']}")
        if self.redirect_uris is not None and query["redirect_uri"] not in self.redirect_uris:
            self.violation(f"redirect_uri {query['redirect_uri']} is not registered")
        if separator and len(query["scope"].split(separator)) == 1 and len(self.SCOPES) > 1:
            self.violation(f"scopes must be separated by {separator!r}: {query['scope']}")
        from urllib.parse import urlencode
        if self.consent not in ("granted",) and self.consent not in self.accounts:
            back = {"error": self.consent, "error_description": "The person declined.", "state": query["state"]}
        else:
            account = self.accounts.get(self.consent) or next(iter(self.accounts.values()))
            if self.consented and not self.shows_consent(query):
                account = self.consented
            code = self.new_text("code.")
            requested = self.requested_scopes(query)
            if account.declined is None or self.shows_consent(query):
                account.declined = self.declines & requested
            self.consented = account
            scopes = requested - account.declined
            self.codes[code] = (account, query["redirect_uri"], scopes, query)
            back = {"code": code, "state": query["state"]}
        uri = query["redirect_uri"]
        return Response(302, b"", [("Location", f"{uri}{'&' if '?' in uri else '?'}{urlencode(back)}{tail}")])

    def shows_consent(self, query):
        """Returns True if the consent page appears although the person has consented before. There they can change account and permissions."""
        return True

    def requested_scopes(self, query):
        return set(query["scope"].replace(",", " ").split())

    def redeem_code(self, code, redirect_uri, verifier=None):
        """Redeems a code. Returns (account, scopes), or None if the code is unknown or was used, or if redirect_uri or verifier does not match."""
        account, expected, scopes, query = self.codes.pop(code, (None, None, None, {}))
        if not account or expected != redirect_uri:
            return None
        challenge = query.get("code_challenge")
        if challenge:
            result = base64.urlsafe_b64encode(hashlib.sha256((verifier or "").encode()).digest()).decode().rstrip("=")
            hexed = hashlib.sha256((verifier or "").encode()).hexdigest()
            if challenge not in (result, hexed):
                self.violation("code_verifier does not match the code_challenge")
                return None
        return account, scopes

    def connect(self, account, login=None):
        """Returns tokens in the format of the token endpoint, which is the input of `platform connect`."""
        account = self.accounts[account]
        result = {"access_token": self.issue(account), "expires_in": self.access_seconds, "scope": self.scope_text(account)}
        if self.PREFIX[1]:
            result["refresh_token"] = self.issue_refresh(account)
            if self.refresh_seconds:
                result["refresh_expires_in"] = self.refresh_seconds
        return {name: value for name, value in result.items() if value is not None}

    def scope_text(self, account):
        return ",".join(sorted(account.scopes))

    # -- current counts -------------------------------------------------------------------------------------------------

    def readable_counts(self, post):
        """Returns {count: value} that the owner of the post can read now; may be empty."""
        raise NotImplementedError
