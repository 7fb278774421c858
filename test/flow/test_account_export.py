"""The button "Download my data" of the account page: the exported file, the checks before it, and its limits."""
import concurrent.futures
import resource
import socket
import sqlite3

import pytest

from lib.lines import author, book, reading, uid, video
from lib.pages import Browser, sign_up
from lib.viewtally import Viewtally

PASSWORD = "correct horse battery"


def data_of(name):
    return [author(name), book(f"{name} book", name), video(f"{name} one", name, "2026-07-01T00:00:00Z", book_id=uid(f"{name} book")),
            reading(f"{name} one", "2026-07-02T00:00:00Z", 20000)]


@pytest.fixture
def world(viewtally):
    viewtally.import_lines(data_of("Ann") + data_of("Bob"))
    viewtally.start()
    viewtally.browser = sign_up(viewtally, uid("Ann"), "ann", PASSWORD)
    return viewtally


def download(browser, password=PASSWORD):
    return browser.send(browser.get("/account"), "/account/export", {"export-current": password}, follow=False)


def audit(instance):
    return [entry["action"] for entry in instance.run("audit", "--author", uid("Ann"), "--json").json()]


def test_downloaded_file_equals_the_output_of_author_export(world, tmp_path):
    page = download(world.browser)
    assert page.status == 200 and page.headers["Content-Type"] == "application/x-ndjson"
    assert page.headers["Content-Disposition"] == 'attachment; filename="viewtally-export.ndjson"'
    assert page.headers["Cache-Control"] == "no-store" and int(page.headers["Content-Length"]) == len(page.body.encode())
    assert page.body == world.run("author", "export", uid("Ann"), "-").out and uid("Bob") not in page.body
    assert "author.exported" in audit(world) and "Data exported" in world.browser.get("/account").text
    other = Viewtally(tmp_path / "other", clock=world.clock)
    other.run("import", "--create", "-", stdin=page.body)
    assert other.run("author", "export", uid("Ann"), "-").out == page.body


def test_download_needs_the_current_password(world):
    wrong = download(world.browser, "another password")
    assert wrong.status == 422 and "not your current password" in wrong.text and "author.exported" not in audit(world)
    assert wrong.form("/account/export")
    assert world.browser.post("/account/export", world.browser.get("/account").form("/account/password").fields).status == 400
    fields = {"export-current": PASSWORD}
    assert world.browser.post("/account/export", fields).status == 403          # no form token
    assert world.browser.request("GET", "/account/export").status == 404 or world.browser.request("GET", "/account/export").status == 405
    assert Browser(world.client()).post("/account/export", fields).headers["Location"].startswith("/sign-in")


def test_wrong_passwords_are_limited(world):
    statuses = [download(world.browser, f"wrong password {number}").status for number in range(12)]
    assert statuses[0] == 422 and statuses[-1] == 429
    assert download(world.browser).status == 429


def test_author_signed_in_by_a_proxy_needs_no_password(make_viewtally, clock):
    viewtally = make_viewtally({"server": {"trusted_proxies": "127.0.0.1"}, "account": {"auth_header": "X-Remote-User"}}, clock=clock)
    viewtally.import_lines(data_of("Ann"))
    viewtally.run("author", "set-login", uid("Ann"), "ann")
    viewtally.start()
    browser = Browser(viewtally.client(), headers={"X-Remote-User": "ann"})
    page = browser.get("/account")
    assert "export-current" not in page.form("/account/export").fields
    assert browser.send(page, "/account/export", follow=False).body == viewtally.run("author", "export", uid("Ann"), "-").out


def test_simultaneous_downloads_are_complete_or_rejected_with_503(world):
    """One export runs at a time. Simultaneous requests get 503 with Retry-After and no audit entry. No temporary file remains."""
    world.import_lines([video(f"big {number}", "Ann", "2026-07-01T00:00:00Z", title="x" * 1500) for number in range(2000)])
    page = world.browser.get("/account")
    browsers = [Browser(world.client()) for _ in range(4)]
    for browser in browsers:
        browser.cookies = dict(world.browser.cookies)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        pages = list(pool.map(lambda browser: browser.send(page, "/account/export", {"export-current": PASSWORD}, follow=False), browsers))
    assert {found.status for found in pages} <= {200, 503} and 200 in {found.status for found in pages}
    whole = world.run("author", "export", uid("Ann"), "-").out
    for found in pages:
        if found.status == 200:
            assert found.body == whole
        else:
            assert found.headers["Retry-After"] == "5" and "Another download is being prepared" in found.text
    assert audit(world).count("author.exported") == [found.status for found in pages].count(200)
    assert not list(world.directory.glob(".viewtally-*"))


def test_client_disconnect_during_the_export_leaks_nothing(world):
    """A leak fails the test only with AddressSanitizer, which reports it when the server exits."""
    page = world.browser.get("/account")
    fields = {**page.form("/account/export").fields, "export-current": PASSWORD}
    for _ in range(3):
        body = "&".join(f"{name}={value.replace(' ', '+')}" for name, value in fields.items())
        cookie = "; ".join(f"{name}={value}" for name, value in world.browser.cookies.items())
        head = (f"POST /account/export HTTP/1.1\r\nHost: {world.address}\r\nContent-Type: application/x-www-form-urlencoded\r\n"
                f"Origin: http://{world.address}\r\nCookie: {cookie}\r\nContent-Length: {len(body)}\r\n\r\n")
        host, _, port = world.address.rpartition(":")
        with socket.create_connection((host, int(port)), timeout=30) as client:
            client.sendall((head + body).encode())
    assert download(world.browser).status in (200, 503)


def test_export_of_a_large_account_delays_no_other_request(world):
    """The body is larger than the socket's buffers and is sent while other requests are served."""
    lines = [video(f"big {number}", "Ann", "2026-07-01T00:00:00Z", title="x" * 1500) for number in range(2000)]
    world.import_lines(lines)
    key = world.create_key(uid("Bob"))
    with concurrent.futures.ThreadPoolExecutor(1) as pool, world.client(key) as other:
        wanted = pool.submit(download, world.browser)
        answered = 0
        while not wanted.done():
            assert other.get("/books").status == 200
            answered += 1
        page = wanted.result()
    assert answered and page.status == 200 and len(page.body) > 4_000_000
    assert page.body == world.run("author", "export", uid("Ann"), "-").out


def test_export_is_refused_while_the_audit_log_cannot_be_written(world):
    page = world.browser.get("/account")
    with world.write_transaction():
        found = world.browser.send(page, "/account/export", {"export-current": PASSWORD}, follow=False)
    assert found.status == 503 and "cannot reach its data" in found.text


def test_full_disk_is_not_reported_as_a_simultaneous_download(world):
    """The file size limit of the process acts like a full disk for the temporary file."""
    world.import_lines([video(f"big {number}", "Ann", "2026-07-01T00:00:00Z", title="x" * 1500) for number in range(2000)])
    page = world.browser.get("/account")
    with sqlite3.connect(world.database) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    resource.prlimit(world.pid, resource.RLIMIT_FSIZE, (1 << 20, resource.RLIM_INFINITY))
    found = world.browser.send(page, "/account/export", {"export-current": PASSWORD}, follow=False)
    resource.prlimit(world.pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    assert found.status == 503 and "cannot reach its data" in found.text and "Another download" not in found.text
    assert "author.exported" not in audit(world)
    assert download(world.browser).status == 200


def test_download_above_the_maximum_size_is_refused_and_names_the_command(viewtally):
    """The body of a response cannot exceed 2 GB; the test lowers the limit."""
    viewtally.import_lines(data_of("Ann"))
    viewtally.start(env={"VIEWTALLY_TEST_EXPORT_BYTES_MAX": "500"})
    found = download(sign_up(viewtally, uid("Ann"), "ann", PASSWORD))
    assert found.status == 422 and "viewtally author export" in found.text and "author.exported" not in audit(viewtally)
    assert not list(viewtally.directory.glob(".viewtally-*"))
