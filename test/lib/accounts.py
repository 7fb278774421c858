"""An author who has signed up, and what tests of the account pages do with it."""
import os
import re
import uuid

from lib.pages import sign_up

PASSWORD = "correct horse battery"
DAY_MS = 24 * 3600 * 1000
KEY = re.compile(r"service_live_[0-9A-Za-z]{49}")


def start_with_author(viewtally):
    """Starts the server with one author who has signed up: .author, .browser."""
    viewtally.author = viewtally.add_author("Ann Author")
    viewtally.start()
    viewtally.browser = sign_up(viewtally, viewtally.author, "ann", PASSWORD)
    return viewtally


def rows(viewtally, sql, *values):
    return viewtally.sql(sql, *values)


def is_signed_in(browser):
    return browser.get("/account", follow=False).status == 200


def make_key(browser, name="Spreadsheet"):
    page = browser.send(browser.get("/keys"), "/keys", {"name": name}, follow=False)
    assert page.status == 200, page
    return KEY.search(page.body).group()


def accept(browser, path, **values):
    return browser.send(browser.get(path), path, {"password": PASSWORD, "again": PASSWORD, **values}, follow=False)


def connect_app(viewtally, name="Night Owl", home="https://owl.example.com/"):
    """Inserts an app and its key, as if the author had allowed it. Returns the id of the key."""
    [(app,)] = viewtally.sql("INSERT INTO apps (client_id, name, home_url, created_at) VALUES (?, ?, ?, 1) RETURNING id",
                             os.urandom(8).hex(), name, home)
    key = uuid.uuid4()
    viewtally.sql("INSERT INTO api_keys (uuid, author_id, hash, name, suffix, created_at, app_id) VALUES (?, 1, ?, ?, 'abcd', 1, ?)",
                  key, os.urandom(32), name, app)
    return str(key)
