"""The clients of the soak. Each kind is a thread that runs until `over` is set; `Tally` counts the responses."""
import collections
import http.client
import random
import socket
import threading
import time

from lib import oauth
from lib.client import Client, connect
from lib.pages import Browser, sign_in

RESPONSE_SECONDS = 60


class Tally:
    """Counts responses by (kind, status) and collects failures."""

    def __init__(self):
        self.counts = collections.Counter()
        self.wrong = []
        self._lock = threading.Lock()

    def add(self, kind, status):
        with self._lock:
            self.counts[kind, status] += 1

    def fail(self, kind, reason):
        with self._lock:
            self.wrong.append(f"{time.strftime('%H:%M:%S')} {kind}: {reason}")
        print(self.wrong[-1], flush=True)

    def expect(self, kind, response, *statuses):
        self.add(kind, response.status)
        if response.status not in statuses:
            self.fail(kind, f"{response!r}")
        return response


class Elsewhere(Client):
    """A client with its own loopback address, because failed sign-ins are counted by address."""

    def __init__(self, address, rng):
        super().__init__(address, base="", timeout=RESPONSE_SECONDS)
        self.source = "127." + ".".join(str(rng.randrange(1, 255)) for _ in range(3))

    def _open(self):
        host, _, port = self.address.rpartition(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=self.timeout, source_address=(self.source, 0))
        connection.connect()
        return connection


class Worker(threading.Thread):
    """Calls step() every 0.5 to 1.5 times `pause` seconds."""

    kind = "?"

    def __init__(self, soak, seed, pause):
        super().__init__(daemon=True)
        self.soak = soak
        self.rng = random.Random(f"{self.kind} {seed}")
        self.pause = pause

    def run(self):
        while not self.soak.over.wait(self.pause * self.rng.uniform(0.5, 1.5)):
            try:
                self.step()
            except (OSError, AssertionError, http.client.HTTPException, KeyError) as failure:
                self.soak.tally.fail(self.kind, f"{type(failure).__name__}: {str(failure)[:400]}")
        self.finish()

    def finish(self):
        pass


class Reader(Worker):
    """A dashboard: random endpoints and parameters, half of the requests conditional."""

    kind = "read"

    def __init__(self, soak, seed, pause):
        super().__init__(soak, seed, pause)
        self.client = Client(soak.address, timeout=RESPONSE_SECONDS)
        self.tags = {}

    def finish(self):
        self.client.close()

    def target(self):
        rng = self.rng
        return rng.choice([
            ("/account", {}), ("/books", {}), ("/videos", {"limit": rng.choice([1, 10, 50, 100])}),
            ("/videos", {"viral": rng.choice(["true", "false"])}), ("/stats", {}), ("/stats", {"group_by": "book"}),
            ("/stats", {"start_date": time.strftime("%Y-%m-%d", time.gmtime(time.time() - 86400 * rng.randrange(1, 60)))}),
            ("/stats", {"format": "csv"}), ("/events", {"limit": rng.choice([1, 50, 100])}), ("/events", {"order": "desc"})])

    def step(self):
        key = self.rng.choice(self.soak.keys)
        path, params = self.target()
        name = (key, path, tuple(params.items()))
        headers = {"If-None-Match": self.tags[name]} if name in self.tags and self.rng.random() < 0.5 else {}
        response = self.client.get(path, params, headers, key=key)
        self.soak.tally.expect(self.kind, response, 200, *([304] if headers else []))
        if response.status == 200 and response.headers["ETag"]:
            if len(self.tags) > 500:
                self.tags.clear()
            self.tags[name] = response.headers["ETag"]


class Greedy(Worker):
    """A client that exceeds the limit of its key."""

    kind = "greedy"

    def step(self):
        with Client(self.soak.address, self.soak.greedy_key, timeout=RESPONSE_SECONDS) as client:
            for _ in range(20):
                self.soak.tally.expect(self.kind, client.get("/account"), 200, 429)


class Stranger(Worker):
    """Sends wrong keys, wrong paths and wrong parameters."""

    kind = "wrong"

    def step(self):
        with Client(self.soak.address, timeout=RESPONSE_SECONDS) as client:
            wrong_key = "service_live_" + "".join(self.rng.choices("abcdefghijABCDEFGHIJ0123456789", k=49))
            self.soak.tally.expect(self.kind, client.get("/account", key=wrong_key), 401)
            self.soak.tally.expect(self.kind, client.get("/videos", {"limit": "1000"}, key=self.rng.choice(self.soak.keys)), 400)
            self.soak.tally.expect(self.kind, client.get("/nothing", key=self.rng.choice(self.soak.keys)), 404)


class Poller(Worker):
    """Follows the feed of one author with long polls; at the end it must have received every event once."""

    kind = "poll"

    def __init__(self, soak, author_id, key):
        super().__init__(soak, author_id, 0.01)
        self.author_id = author_id
        self.client = Client(soak.address, key, timeout=RESPONSE_SECONDS)
        self.cursor = None
        self.seen = []

    def step(self):
        self.poll(self.rng.choice([5, 10, 20]))

    def poll(self, seconds):
        response = self.client.get("/events", {"after": self.cursor, "limit": 20, "wait": seconds})
        self.soak.tally.expect(self.kind, response, 200)
        page = response.json()
        self.seen += [event["id"] for event in page["data"]]
        self.cursor = page["next_cursor"] or self.cursor
        return page["has_more"] or page["data"]

    def finish(self):
        while self.poll(None):
            pass
        self.client.close()


class Stalled(Worker):
    """Requests a long response on a new connection and does not read it: through nginx, or directly from a viewtally
    process."""

    kind = "stalled"

    def step(self):
        address = self.rng.choice([self.soak.address, *self.soak.sockets])
        with connect(address, RESPONSE_SECONDS) as sock:
            if not address.startswith("unix:"):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            request = (f"GET /v1/stats?start_date={time.strftime('%Y-%m-%d', time.gmtime(time.time() - 80 * 86400))} HTTP/1.1\r\n"
                       f"Host: x\r\nAuthorization: Bearer {self.rng.choice(self.soak.keys)}\r\n\r\n")
            sock.sendall(request.encode() * 8)
            self.soak.tally.add(self.kind, 0)
            self.soak.over.wait(self.rng.choice([5, 30, 75]))     # the write timeout is 60 s


class Slow(Worker):
    """Sends half a request, or one byte at a time, and disconnects."""

    kind = "slow"

    def step(self):
        with connect(self.rng.choice([self.soak.address, *self.soak.sockets]), RESPONSE_SECONDS) as sock:
            for byte in b"GET /v1/account HTTP/1.1\r\nHost: x\r\nAuth"[:self.rng.randrange(1, 40)]:
                sock.sendall(bytes([byte]))
                self.soak.over.wait(0.05)
            self.soak.tally.add(self.kind, 0)
            self.soak.over.wait(self.rng.choice([0, 1, 20]))


CONNECTS_MOST = 190     # an author can create 200 keys a day


class Visitor(Worker):
    """An author with a browser: signs in, opens pages, signs out; sometimes mistypes the password first."""

    kind = "page"

    def __init__(self, soak, seed, pause, login):
        super().__init__(soak, seed, pause)
        self.login = login
        self.connects = 0

    def step(self):
        with Elsewhere(self.soak.address, self.rng) as client:
            browser = Browser(client)
            if self.rng.random() < 0.1:
                page = browser.send(browser.get("/sign-in"), "/sign-in", {"login": self.login, "password": "not this one"}, follow=False)
                self.soak.tally.expect(self.kind, page, 422)
            sign_in(None, self.login, self.soak.password, browser)
            self.soak.tally.add(self.kind, 303)
            for path in ("/dashboard", "/videos", "/keys", "/apps", "/account"):
                page = self.soak.tally.expect(self.kind, browser.get(path), 200)
            if self.connects < CONNECTS_MOST:
                self.connects += 1
                self.connect_app(browser, client)
            self.soak.tally.expect(self.kind, browser.send(page, "/sign-out"), 200, 303)

    def connect_app(self, browser, client):
        """Connects an app by OAuth, uses the key once, and sometimes revokes it."""
        tally, verifier = self.soak.tally, oauth.make_verifier()
        page = oauth.open_consent_page(browser, oauth.authorize_params(self.soak.app, verifier))
        back = oauth.redirect_params(oauth.submit_consent(browser, page, "allow"))
        fields = {"grant_type": "authorization_code", "code": back["code"], "redirect_uri": oauth.REDIRECT,
                  "client_id": self.soak.app["client_id"], "code_verifier": verifier}
        response = tally.expect("oauth", oauth.post(client, "token", fields), 200)
        if response.status != 200:
            return
        key = response.json()["access_token"]
        tally.expect("oauth", client.get("/v1/account", key=key), 200)
        if self.rng.random() < 0.5:
            tally.expect("oauth", oauth.post(client, "revoke", {"token": key, "client_id": self.soak.app["client_id"]}), 200)
            tally.expect("oauth", client.get("/v1/account", key=key), 401)

