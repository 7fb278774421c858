"""A browser without JavaScript: cookies, forms with their tokens, redirects."""
import base64
import hashlib
import html.parser
import http.cookies
import os
import re
import urllib.parse
import uuid


class Form:
    def __init__(self, action, method):
        self.action = action
        self.method = method
        self.fields = {}
        self.buttons = []
        self.labels = []                            # texts of the buttons


class _Forms(html.parser.HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.forms, self.texts, self._form, self._in_button = [], [], None, False
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "form":
            self._form = Form(attrs.get("action"), attrs.get("method", "get"))
            self.forms.append(self._form)
        elif tag == "input" and self._form is not None and "name" in attrs:
            self._form.fields[attrs["name"]] = attrs.get("value", "")
        elif tag == "button":
            self._in_button = True
            if self._form is not None and "name" in attrs:
                self._form.buttons.append((attrs["name"], attrs.get("value", "")))

    def handle_endtag(self, tag):
        if tag == "form":
            self._form = None
        elif tag == "button":
            self._in_button = False

    def handle_data(self, data):
        if self._in_button and self._form is not None:
            self._form.labels.append(data)
        self.texts.append(data)


class Page:
    """A response, parsed if it is HTML."""

    def __init__(self, url, response, base=""):
        self.url = url
        self.base = base
        self.status = response.status
        self.headers = response.headers
        self.body = response.body.decode("utf-8")
        parsed = _Forms(self.body) if "html" in (response.headers.get("Content-Type") or "") else None
        self.forms = parsed.forms if parsed else []
        self.text = re.sub(r"\s+", " ", " ".join(parsed.texts)) if parsed else ""

    def form(self, action):
        """Returns the only form with this action."""
        found = [form for form in self.forms if form.action == self.base + action]
        assert len(found) == 1, (action, [form.action for form in self.forms])
        return found[0]

    def __repr__(self):
        return f"<{self.status} {self.url} {self.text[:300]!r}>"


class Browser:
    """Stores cookies of one server and optionally follows redirects."""

    def __init__(self, client, base="", headers=None):
        self.client = client
        self.base = base
        self.cookies = {}
        self.attributes = {}        # name -> http.cookies.Morsel of the last Set-Cookie
        self.headers = headers or {}

    def request(self, method, target, body=None, headers=None):
        sent = {"Accept": "text/html,application/xhtml+xml", **self.headers}
        if self.cookies:
            sent["Cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        sent.update(headers or {})
        sent = {name: value for name, value in sent.items() if value is not None}
        response = self.client.request(method, target, headers=sent, body=body)
        for line in response.headers.get_all("Set-Cookie") or []:
            self._store_cookie(line)
        return Page(target, response, self.base)

    def _store_cookie(self, line):
        jar = http.cookies.SimpleCookie()
        jar.load(line)
        (name, morsel), = jar.items()
        self.attributes[name] = morsel
        if morsel["max-age"] == "0":
            self.cookies.pop(name, None)
        else:
            self.cookies[name] = morsel.value

    def get(self, path, follow=True, **options):
        return self._follow(self.request("GET", self.base + path, **options), follow)

    def post(self, path, fields, follow=False, headers=None):
        """Sends a form with the headers of a browser on this site."""
        all_headers = {"Content-Type": "application/x-www-form-urlencoded", "Origin": f"http://{self.client.address}",
                       "Sec-Fetch-Site": "same-origin"}
        all_headers.update(headers or {})
        page = self.request("POST", self.base + path, body=urllib.parse.urlencode(fields), headers=all_headers)
        return self._follow(page, follow)

    def send(self, page, action, values=None, follow=True, headers=None):
        """Fills in the page's form and sends it."""
        return self.post(action, {**page.form(action).fields, **(values or {})}, follow=follow, headers=headers)

    def _follow(self, page, follow):
        hops = 0
        while follow and page.status in (302, 303):
            hops += 1
            assert hops < 10, "too many redirects"
            page = self.request("GET", page.headers["Location"])
        return page


def invite(viewtally, author_id, *options):
    """Creates an invitation and returns the path of its link."""
    link = viewtally.run("author", "invite", author_id, *options).out.strip()
    return urllib.parse.urlsplit(link).path


def sign_up(viewtally, author_id, login, password, browser=None):
    """Follows a new invitation and returns the signed-in browser."""
    browser = browser or Browser(viewtally.client())
    path = invite(viewtally, author_id, "--login", login)[len(browser.base):]
    page = browser.send(browser.get(path), path, {"password": password, "again": password}, follow=False)
    assert page.status == 303, page
    return browser


def sign_in(viewtally, login, password, browser=None):
    """Signs in and returns the browser."""
    browser = browser or Browser(viewtally.client())
    page = browser.send(browser.get("/sign-in"), "/sign-in", {"login": login, "password": password}, follow=False)
    assert page.status == 303, page
    return browser


def session_cookie(instance, author_id):
    """Inserts a session into the database and returns the value of the cookie `viewtally-session`."""
    secret, author = os.urandom(32), uuid.UUID(author_id)
    [(row,)] = instance.sql("SELECT id FROM authors WHERE uuid = ?", author)
    at = instance.clock.wall_ms
    instance.sql("INSERT INTO sessions (hash, author_id, created_at, seen_at, expires_at) VALUES (?, ?, ?, ?, ?)",
                 hashlib.sha256(secret).digest(), row, at, at, at + 30 * 86400_000)
    return base64.urlsafe_b64encode(secret).decode().rstrip("=")
