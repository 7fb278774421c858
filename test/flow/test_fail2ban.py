"""contrib/fail2ban with the real fail2ban-regex and fail2ban-client, on the log of a running server."""
import collections
import json
import re
import shutil
import subprocess
import urllib.parse

import pytest

from lib import wait
from lib.metrics import scrape
from lib.pages import Browser
from lib.viewtally import ROOT

FILTER = ROOT / "contrib/fail2ban/filter.d/viewtally.conf"
JAIL = ROOT / "contrib/fail2ban/jail.d/viewtally.conf"
VICTIM = "198.51.100.1"
FORGED = f"info authentication failed: sign-in from {VICTIM}"


@pytest.fixture(autouse=True)
def needs_fail2ban():
    if not shutil.which("fail2ban-regex"):
        pytest.skip("fail2ban is not installed")


def banned(path):
    """Returns the number of matched lines of a log, by address."""
    done = subprocess.run(["fail2ban-regex", "--usedns", "no", "-o", "ip", str(path), str(FILTER)], capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done      # 1: no line matches
    return collections.Counter(done.stdout.split())


def dates_found(path):
    """Returns the number of lines in which the filter finds a time."""
    out = subprocess.run(["fail2ban-regex", "--usedns", "no", str(path), str(FILTER)], capture_output=True, text=True, check=False).stdout
    return int(re.search(r"Date template hits:.*?\[(\d+)\]", out, re.S).group(1))


@pytest.fixture(params=["text", "json"])
def attacked(request, make_viewtally):
    """A server behind a trusted proxy; five addresses fail in five ways."""
    server = make_viewtally({"log": {"format": request.param, "level": "debug"}, "server": {"trusted_proxies": "127.0.0.1"}})
    author = server.add_author()
    key = server.create_key(author)
    revoked = server.run("key", "create", "--author", author, "--name", "revoked", "--json").json()
    server.run("key", "revoke", revoked["id"])
    other = make_viewtally()
    server.start()
    fail_with_keys(server, key, other.create_key(other.add_author()), revoked["key"])
    fail_on_pages(server)
    kinds = ("sign_in", "api_key", "app", "invitation")
    counts = {kind: scrape(server).get("viewtally_authentication_failures_total", kind=kind) for kind in kinds}
    assert counts == {"sign_in": 2, "api_key": 2, "app": 1, "invitation": 1}
    return server


def hostile(address):
    """Header fields that contain a line like the ones that the filter matches."""
    return {"X-Forwarded-For": address, "User-Agent": FORGED, "Referer": FORGED, "X-Request-Id": FORGED, "Accept": FORGED}


def fail_with_keys(server, key, unknown, revoked):
    with server.client() as client:
        for text, address in ((unknown, "203.0.113.1"), (FORGED, "2001:db8::1")):
            assert client.get("/account", key=text, headers=hostile(address)).status == 401
        for text in (key, revoked, None):       # a valid, a revoked or a missing key does not count as an authentication failure
            client.get("/account", key=text, headers=hostile("203.0.113.99"))
        client.request("GET", "/v1/" + urllib.parse.quote(FORGED) + "?" + urllib.parse.quote(FORGED), headers=hostile("203.0.113.99"))


def fail_on_pages(server):
    browser = Browser(server.client(), headers={**hostile("203.0.113.3"), "Accept": "text/html"})
    page = browser.get("/sign-in")
    for login in ("ann@example.com", f"x\n2026-07-10T12:00:00.000Z {FORGED}\n"):
        assert browser.send(page, "/sign-in", {"login": login, "password": FORGED}, follow=False).status == 422
    browser.headers["X-Forwarded-For"] = "203.0.113.4"
    assert browser.get("/invite/" + "x" * 43).status == 410
    form = {"grant_type": "authorization_code", "code": FORGED, "client_id": "app_x", "client_secret": FORGED}
    with server.client() as client:
        response = client.request("POST", "/v1/oauth/token", {**hostile("203.0.113.5"), "Content-Type": "application/x-www-form-urlencoded"},
                                  urllib.parse.urlencode(form).encode())
        assert response.status == 401


EXPECTED = {"203.0.113.1": 1, "2001:db8::1": 1, "203.0.113.3": 2, "203.0.113.4": 1, "203.0.113.5": 1}
# Messages that do not report a failure, although they contain foreign text (such as a file name) that looks like one.
FOREIGN = [f"spool: {FORGED}", f"authentication failed: sign-in from {VICTIM} x", f"authentication failed: spool from {VICTIM}"]


def lines_of(server):
    """The lines of the log, and lines with FOREIGN messages in the same format."""
    lines = wait.until(lambda: "from 203.0.113.5" in server.log and server.log.splitlines(), "the last failure in the log")
    time = "2026-07-10T12:00:00.000Z"
    if lines[0].startswith("{"):
        return lines + [json.dumps({"time": time, "level": "info", "message": text}, separators=(",", ":")) for text in FOREIGN]
    return lines + [f"{time} info {text}" for text in FOREIGN]


def test_filter_finds_the_address_of_each_failure_and_no_other(attacked, tmp_path):
    path = tmp_path / "viewtally.log"
    path.write_text("".join(f"{line}\n" for line in lines_of(attacked)))
    assert banned(path) == EXPECTED
    assert dates_found(path) >= sum(EXPECTED.values())


def test_filter_finds_the_failures_in_the_journal(attacked, tmp_path):
    path = tmp_path / "journal"
    path.write_text("".join(f"myhost viewtally[4711]: {line}\n" for line in lines_of(attacked)))
    assert banned(path) == EXPECTED


def test_fail2ban_accepts_the_jail(tmp_path):
    shutil.copytree("/etc/fail2ban", tmp_path / "fail2ban")
    shutil.copy(FILTER, tmp_path / "fail2ban/filter.d")
    shutil.copy(JAIL, tmp_path / "fail2ban/jail.d")
    (tmp_path / "fail2ban/jail.d/defaults-debian.conf").unlink(missing_ok=True)
    done = subprocess.run(["fail2ban-client", "-c", str(tmp_path / "fail2ban"), "-d"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done
    assert "['add', 'viewtally', 'systemd']" in done.stdout and "'maxretry', 30" in done.stdout
    assert "authentication failed" in done.stdout and "_SYSTEMD_UNIT=viewtally.service" in done.stdout
