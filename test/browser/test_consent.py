"""The consent page in a real browser: accessibility, and the whole flow to the app and back."""
import contextlib
import http.server
import ssl
import threading
import urllib.parse

import pytest

import stage_scene as scene
from lib import oauth
from lib.certificates import Authority
from lib.pages import sign_up
from lib.viewtally import sanitized

VERIFIER = "v" * 43


class Landing(http.server.BaseHTTPRequestHandler):
    """Shows a page, or redirects to the URL in the attribute `next_url` of the server."""

    def do_GET(self):
        next_url = getattr(self.server, "next_url", None)
        self.send_response(302 if next_url else 200)
        if next_url:
            self.send_header("Location", next_url)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>app</title>The app received the response.")

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def serving(server):
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def landing():
    """Runs an app on the author's computer that waits for the redirect; returns its URL."""
    with serving(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Landing)) as server:
        yield f"http://127.0.0.1:{server.server_port}/connected"


@pytest.fixture
def home_page(tmp_path):
    """Runs the web site of the app at https://localhost; returns its URL."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*Authority(tmp_path).issue("home", "DNS:localhost"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Landing)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    with serving(server):
        yield f"https://localhost:{server.server_port}/welcome"


@pytest.fixture(scope="module")
def app(stage):
    return oauth.add_app(stage.instance, "http://127.0.0.1/connected", name="Post Planner", home="https://planner.example")


def path_of(app, redirect, **changes):
    return f"/v1{oauth.AUTHORIZE}?{urllib.parse.urlencode(oauth.authorize_params(app, VERIFIER, redirect, **changes))}"


# The sanitized build is slow, so it runs one case of each test.
NAMES = [("lively", "Post Planner"), ("hostile", scene.SCRIPT), ("empty", "Verylongwordwithoutanyspace" * 7)][:1 if sanitized() else 3]
INPUTS = [False] if sanitized() else [False, True]


@pytest.mark.parametrize("who, name", NAMES)
def test_consent_page_is_accessible(browser, stage, landing, who, name):
    app = oauth.add_app(stage.instance, landing, "com.example.app:/x", name=name, home="https://planner.example/" + "long" * 40)
    sides = [{"dark": False, "phone": False}, {"dark": True, "phone": True}][:1 if sanitized() else 2]
    redirect = "com.example.app:/x" if who == "empty" else landing
    assert browser.walk("look", name=f"consent-{who}", sides=sides, **stage.arguments(who, path=path_of(app, redirect))) == []


def test_rejected_authorization_page_is_accessible(browser, stage):
    arguments = stage.arguments("lively", path=f"/v1{oauth.AUTHORIZE}?client_id=app_nobody", status=400)
    assert browser.walk("look", name="consent-refused", sides=[{"dark": False, "phone": True}], **arguments) == []


@pytest.mark.parametrize("keyboard", INPUTS, ids=["mouse", "keyboard"][:len(INPUTS)])
def test_allowing_consent_connects_the_app(browser, stage, app, landing, keyboard):
    """The content security policy lets the form redirect to the app, and the code gives access to the account."""
    url = browser.walk("connect", redirect=landing, button="Allow", keyboard=keyboard, **stage.arguments("lively", path=path_of(app, landing)))
    answer = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
    assert set(answer) == {"code", "state", "iss"}
    with stage.instance.client() as client:
        token = oauth.post(client, "token", {"grant_type": "authorization_code", "code": answer["code"], "redirect_uri": landing,
                                            "client_id": app["client_id"], "code_verifier": VERIFIER}).json()
        account = client.get("/account", key=token["access_token"]).json()["data"]
    assert account["id"] == stage.authors["lively"] == token["account"]["id"]
    (page,) = browser.walk("readPlain", **stage.arguments("lively", paths=["/apps"]))
    assert "Post Planner" in page["text"]
    (page,) = browser.walk("readPlain", **stage.arguments("hostile", paths=["/apps"]))
    assert "Post Planner" not in page["text"]


def test_app_may_open_the_authorization_in_a_popup_window(browser, stage, app, landing):
    """Browser libraries pass the code from the popup to the window that has opened it."""
    account = {"login": "popup@example.org", "password": "lighthouse winter bread"}
    sign_up(stage.instance, stage.instance.add_author(), **account)
    url = browser.walk("connectInPopup", appPage=landing, path=path_of(app, landing), **account, **stage.arguments())
    assert url.startswith(landing) and "code=" in url


def test_app_may_redirect_to_another_host_after_consent(browser, stage, app, home_page):
    """Chromium applies the content security policy of the consent page to this redirect too."""
    with serving(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Landing)) as server:
        server.next_url = home_page
        path = path_of(app, f"http://127.0.0.1:{server.server_port}/connected")
        assert browser.walk("connect", redirect=home_page, button="Allow", **stage.arguments("lively", path=path)) == home_page


def test_list_of_apps_is_accessible(browser, stage):
    for name in ("Calendar", scene.SCRIPT, "Verylongwordwithoutanyspace" * 7):
        app = oauth.add_app(stage.instance, "https://planner.example/connected", name=name, home="https://planner.example")
        grant = oauth.Grant(stage.instance, app, stage.authors["hostile"], "https://planner.example/connected",
                            at_ms=stage.instance.clock.wall_ms)
        with stage.instance.client() as client:
            assert grant.exchange(client).status == 200
    sides = [{"dark": False, "phone": False}, {"dark": True, "phone": True}][:1 if sanitized() else 2]
    assert browser.walk("look", name="apps", sides=sides, **stage.arguments("hostile", path="/apps")) == []


def test_denying_consent_returns_an_error_to_the_app(browser, stage, app, landing):
    url = browser.walk("connect", redirect=landing, button="Deny", **stage.arguments("lively", path=path_of(app, landing)))
    answer = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(url).query))
    assert answer["error"] == "access_denied" and "code" not in answer


def test_consent_page_works_with_the_keyboard(browser, stage, app, landing):
    stops = browser.walk("keyboard", **stage.arguments("lively", path=path_of(app, landing)))
    assert [stop["text"] for stop in stops[-2:]] == ["Allow", "Deny"]
