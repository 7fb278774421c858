"""Passwords: changes while a request waits, forms that are sent twice, and too little memory to verify a password."""
import contextlib
import pathlib
import resource
import urllib.parse

import pytest

from lib.accounts import PASSWORD, start_with_author
from lib.client import connect, receive_all
from lib.pages import Browser, invite, sign_in
from lib.viewtally import sanitized


@pytest.fixture
def world(viewtally):
    return start_with_author(viewtally)


@contextlib.contextmanager
def too_little_memory_for_passwords(world):
    size = int(pathlib.Path(f"/proc/{world.pid}/statm").read_text().split()[0]) * resource.getpagesize()
    resource.prlimit(world.pid, resource.RLIMIT_AS, (size + (32 << 20), resource.RLIM_INFINITY))
    yield
    resource.prlimit(world.pid, resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def password_forms(world):
    """(browser, page with the form, action, values) for each form that verifies a password."""
    return [(Browser(world.client()), "/sign-in", "/sign-in", {"login": "ann", "password": PASSWORD}),
            (world.browser, "/account", "/account/export", {"export-current": PASSWORD}),
            (world.browser, "/account", "/account/password", {"current": PASSWORD, "password": PASSWORD, "again": PASSWORD})]


@pytest.mark.skipif(sanitized(), reason="a sanitizer needs an unlimited address space")
def test_lack_of_memory_is_not_reported_as_a_wrong_password(world):
    with too_little_memory_for_passwords(world):
        for browser, page, action, values in password_forms(world):
            response = browser.send(browser.get(page), action, values)
            assert response.status == 503 and "too busy to handle a password" in response.text, response
    for browser, page, action, values in password_forms(world):
        assert browser.send(browser.get(page), action, values, follow=False).status in (200, 303)


@pytest.mark.skipif(sanitized(), reason="a sanitizer needs an unlimited address space")
def test_attempt_that_could_not_be_verified_does_not_count_as_a_failure(world):
    with too_little_memory_for_passwords(world):
        for browser, page, action, values in password_forms(world):
            for _ in range(11):                             # the limits are 5 and 10
                assert browser.send(browser.get(page), action, values).status == 503
    sign_in(world, "ann", PASSWORD, Browser(world.client()))


def send_form(sock, browser, path, fields):
    """Sends a form without waiting for the response."""
    body = urllib.parse.urlencode(fields).encode()
    cookie = "; ".join(f"{name}={value}" for name, value in browser.cookies.items())
    sock.sendall(b"POST %s HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Type: application/x-www-form-urlencoded\r\n"
                 b"Cookie: %s\r\nContent-Length: %d\r\n\r\n%s" % (path.encode(), cookie.encode(), len(body), body))


def test_sign_in_fails_if_the_password_changes_during_the_sign_in(world):
    """The sign-in verifies the old password, but stores its session after the new password was set."""
    late = Browser(world.client())
    fields = {**late.get("/sign-in").form("/sign-in").fields, "login": "ann", "password": PASSWORD}
    with connect(world.address) as sock:
        with world.write_transaction() as execute:
            execute("UPDATE logins SET password = replace(password, 'p=1$', 'p=1$A')")
            send_form(sock, late, "/sign-in", fields)
            Browser(world.client()).get("/sign-in")         # once this is answered, the server has read the request above
        response = receive_all(sock)
    assert response.startswith(b"HTTP/1.1 422 ") and b"viewtally-session" not in response


def send_form_twice(world, browser, path, fields):
    """Sends a form twice, like a double click. Returns both responses, the successful one first."""
    with connect(world.address) as first, connect(world.address) as second:
        with world.write_transaction():
            for sock in (first, second):
                send_form(sock, browser, path, fields)
            Browser(world.client()).get("/sign-in")         # once this is answered, the server has read the requests above
        return sorted((receive_all(first), receive_all(second)), key=lambda response: response[:12])


def test_second_click_on_the_password_form_says_that_the_password_has_changed(world):
    """The browser shows only the response to the second click."""
    fields = {**world.browser.get("/account").form("/account/password").fields, "current": PASSWORD,
              "password": "another password", "again": "another password"}
    changed, repeated = send_form_twice(world, world.browser, "/account/password", fields)
    assert changed.startswith(b"HTTP/1.1 303 ") and repeated.startswith(b"HTTP/1.1 422 ")
    assert b"has just been changed" in repeated and b"not your current password" not in repeated
    sign_in(world, "ann", "another password")


def test_second_click_on_the_invitation_form_tells_the_author_to_sign_in(world):
    """The browser shows only the response to the second click."""
    browser, path = Browser(world.client()), invite(world, world.author)
    fields = {**browser.get(path).form(path).fields, "password": "another password", "again": "another password"}
    accepted, repeated = send_form_twice(world, browser, path, fields)
    assert accepted.startswith(b"HTTP/1.1 303 ") and repeated.startswith(b"HTTP/1.1 410 ")
    assert b"If you have already chosen a password, sign in on the start page" in repeated
    sign_in(world, "ann", "another password")
