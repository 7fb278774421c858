"""An installation whose authors have webhooks, and the receiver of their messages."""
import itertools
import os
import re
import uuid

from . import pages, wait
from .lines import author, reading, uid, video

PASSWORD = "correct horse battery"
POSTED = "2026-07-09T00:00:00Z"


def sql(instance, statement, *values):
    return instance.sql(statement, *values)


def connect_authors(instance, receiver, count, path="/hook", name="A"):
    """Creates `count` authors who have connected an app with a webhook, and three events of each. Returns the ids of the endpoints.

    Writes the connections into the database, because the consent of thousands of authors would take minutes.
    """
    key_file = instance.directory / "secrets.key"
    if not key_file.exists():
        instance.run("secrets", "init", str(key_file))
        instance.configure({"secrets": {"key_file": str(key_file)}, "webhooks": receiver.config()})
    names = [f"{name}{i}" for i in range(count)]
    instance.import_lines([line for n in names for line in (author(n), video(n, n, POSTED), reading(n, POSTED, 1))])
    app = instance.run("app", "add", "--name", name, "--redirect-uri", "https://a.example/", "--webhook-url", receiver.url(path), "--json").json()
    rows = instance.sql("SELECT a.id, p.id, p.webhook_url FROM authors a, apps p WHERE p.client_id = ? AND substr(a.name, 1, ?) = ?",
                        app["client_id"], len(name), name)
    keys = [(uuid.uuid4(), author_row, os.urandom(32), app_row) for author_row, app_row, _ in rows]
    instance.sql("INSERT INTO api_keys (uuid, author_id, hash, name, suffix, created_at, app_id) VALUES "
                 + ", ".join(["(?, ?, ?, 'k', 'wxyz', 1, ?)"] * len(keys)), *itertools.chain(*keys))
    endpoints = [(uuid.uuid4(), author_row, app_row, url) for author_row, app_row, url in rows]
    instance.sql("INSERT INTO webhook_endpoints (uuid, author_id, app_id, url, types, created_at, state_at, position) VALUES "
                 + ", ".join(["(?, ?, ?, ?, 0, 1, 1, 0)"] * len(endpoints)), *itertools.chain(*endpoints))
    idents = [str(uuid.UUID(bytes=found)) for found, in instance.sql("SELECT uuid FROM webhook_endpoints WHERE app_id = ?", rows[0][1])]
    instance.import_lines([reading(n, "2026-07-09T01:00:00Z", 10_000) for n in names])
    return idents


class World:
    """An installation with authors, each signed in with a browser."""

    def __init__(self, instance, receiver, clock):
        self.instance, self.receiver, self.clock = instance, receiver, clock
        self.browsers, self.secrets = {}, {}
        self.minutes = itertools.count()
        self.instance.run("secrets", "init", str(self.instance.directory / "secrets.key"))
        self.instance.configure({"secrets": {"key_file": str(self.instance.directory / "secrets.key")},
                                 "webhooks": {"timeout_ms": 20_000, **receiver.config()}})
        for name in ("Ada", "Bob"):
            self.instance.import_lines([author(name), video(name, name, POSTED), reading(name, POSTED, 1)])

    def browser(self, name="Ada"):
        if name not in self.browsers:
            self.browsers[name] = pages.sign_up(self.instance, uid(name), name, PASSWORD)
        return self.browsers[name]

    def create(self, path="/hook", name="Ada", types=("went_viral", "milestone_reached")):
        """Creates a webhook and returns its id."""
        browser = self.browser(name)
        form = browser.get("/webhooks").form("/webhooks").fields
        fields = {key: value for key, value in form.items() if key not in ("went_viral", "milestone_reached")}
        page = browser.post("/webhooks", {**fields, "url": self.receiver.url(path), **dict.fromkeys(types, "1")})
        assert page.status == 200, page
        ident = re.search(r'href="/webhooks/([0-9a-f-]{36})"', page.body)[1]
        self.secrets[ident] = re.search(r'value="(whsec_[^"]+)"', page.body)[1]
        return ident

    def read(self, views, name="Ada"):
        """Imports a reading, which creates an event for each new milestone up to `views`."""
        at = f"2026-07-09T01:{next(self.minutes):02d}:00Z"
        self.instance.import_lines([reading(name, at, views)])

    def do(self, ident, action, name="Ada", **fields):
        browser = self.browser(name)
        form = browser.get(f"/webhooks/{ident}").forms
        token = next(form.fields for form in form if form.action == f"/webhooks/{ident}")
        return browser.post(f"/webhooks/{ident}", {"token": token["token"], "action": action, **fields})

    def page(self, ident, name="Ada"):
        return self.browser(name).get(f"/webhooks/{ident}").text

    def row(self, ident, columns="state, position, failures, next_attempt_at"):
        return sql(self.instance, f"SELECT {columns} FROM webhook_endpoints WHERE uuid = ?", uuid.UUID(ident))[0]

    def wait_row(self, ident, columns, expected):
        wait.until(lambda: self.row(ident, columns) == expected, f"{columns} to be {expected}")

    def feed(self, name="Ada"):
        ids = sql(self.instance, "SELECT e.id FROM events e JOIN authors a ON a.id = e.author_id WHERE a.name = ? ORDER BY e.id", name)
        return [f"evt_{ident}" for ident, in ids]
