"""The documentation in the binary: complete, linked, without other hosts; each error body links to the section about its code."""
import datetime
import html.parser
import json
import os
import subprocess
import urllib.parse

import pytest

from lib import oauth
from lib.lines import author, reading, uid, video
from lib.pages import sign_up
from lib.services import free_port
from lib.viewtally import ROOT, Viewtally

GUIDES = ["polling", "charts", "connect", "webhooks", "limits", "errors", "versioning"]
VOID = {"meta", "link", "br"}


class Page(html.parser.HTMLParser):
    """Parses a page and asserts that its elements are closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.links, self.loads, self.text = [], [], [], [], ""
        self.feed(text)
        assert not self.open

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        assert not [name for name in named if name == "style" or name.startswith("on")], (tag, named)
        if "id" in named:
            self.ids.append(named["id"])
        if tag == "a":
            self.links.append(named["href"])
        elif "src" in named or "href" in named:
            self.loads.append(named.get("src") or named["href"])
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, (tag, self.getpos())

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def config():
    return {"server": {"base_url": "https://stats.example.com/api/v1", "direct_url": "https://10.0.0.7/direct/v1"}}


@pytest.fixture
def site(make_viewtally, clock, config):
    """site(path) requests a path of the server. Returns a Page if the response is HTML, else the response."""
    instance = make_viewtally({**config, "limits": {"requests_per_minute": 1}}, clock)
    instance.key = instance.create_key(instance.add_author())
    with instance, instance.client(base="") as client:
        def get(path):
            response = client.get(path)
            assert response.status == 200, (path, response.status)
            return Page(response.body.decode()) if response.headers["Content-Type"].startswith("text/html") else response
        get.client, get.instance = client, instance
        yield get


PREFIXES = ["/api", "/api/v1", "/direct/v1"]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_all_links_lead_to_a_page_and_its_section(site, prefix):
    pages = {f"{prefix}/docs{name}": site(f"{prefix}/docs{name}") for name in ("", *(f"/{guide}" for guide in GUIDES))}
    for path, page in pages.items():
        assert len(page.ids) == len(set(page.ids)), path
        for link in page.links:
            target = urllib.parse.urlsplit(urllib.parse.urljoin(f"https://stats.example.com{path}", link))
            if target.path == "/api/v1/openapi.json":
                continue
            if target.netloc == "www.standardwebhooks.com":
                continue
            assert target.netloc == "stats.example.com" and target.path in pages, (path, link)
            assert not target.fragment or target.fragment in pages[target.path].ids, (path, link)
        for link in page.loads:
            assert link == "data:," or site(urllib.parse.urljoin(path, link)).body, link


def test_reference_has_every_operation_parameter_and_schema(site):
    document = json.loads((ROOT / "src/api/openapi.json").read_text(encoding="utf-8"))
    page = site("/api/v1/docs")
    for path, item in document["paths"].items():
        for method, operation in item.items():
            assert (operation["operationId"] in page.ids) == (method != "head"), operation["operationId"]
            assert method == "head" or f"{method.upper()} {path}" in page.text
    assert {f"schema-{name}" for name in document["components"]["schemas"]} <= set(page.ids)
    for parameter in document["components"]["parameters"].values():
        assert parameter["name"] in page.text
    assert "https://stats.example.com/api/v1/account" in page.text and "127.0.0.1" not in page.text


def test_every_error_code_has_a_section(site):
    document = (ROOT / "src/api/envelope.c").read_text(encoding="utf-8")
    codes = {word for word in ("missing_api_key", "invalid_api_key", "api_key_revoked", "plan_inactive", "rate_limited", "invalid_parameter",
                               "range_too_long", "not_found", "internal_error") if f'"{word}"' in document}
    assert len(codes) == 9 and codes <= set(site("/api/v1/docs/errors").ids)


def test_doc_url_of_an_error_body_leads_to_its_section(site):
    key = {"Authorization": f"Bearer {site.instance.key}"}
    requests = [("/api/v1/account", {}), ("/api/v1/nothing", {}), ("/api/v1/videos?limit=0", key), ("/direct/v1/account", key)]
    for path, headers in requests:
        error = site.client.get(path, headers=headers).json()["error"]
        url = urllib.parse.urlsplit(error["doc_url"])
        assert f"{url.scheme}://{url.netloc}{url.path}" == "https://stats.example.com/api/v1/docs/errors"
        assert url.fragment == error["code"] in site(url.path).ids


def test_error_uri_of_oauth_leads_to_its_section(site):
    """The guide has a section for every error code in the sources of the authorization server."""
    sources = [*(ROOT / "src/oauth").glob("*.c"), ROOT / "src/web/consent_page.c"]
    known = {"invalid_request", "invalid_client", "invalid_grant", "unsupported_grant_type", "unsupported_response_type", "invalid_scope",
             "access_denied", "slow_down", "server_error"}
    found = {code for source in sources for code in known if f'"{code}"' in source.read_text(encoding="utf-8")}
    assert found == known <= set(site("/api/v1/docs/connect").ids)
    for method in ("POST", "GET"):
        error = site.client.request(method, "/api/v1/oauth/token", oauth.FORM, b"grant_type=x").json()
        url = urllib.parse.urlsplit(error["error_uri"])
        assert f"{url.scheme}://{url.netloc}{url.path}" == "https://stats.example.com/api/v1/docs/connect" and url.fragment == error["error"]


# --- the examples of the guides ---

class Code(html.parser.HTMLParser):
    """The texts of the blocks of code of a page."""

    def __init__(self, text):
        super().__init__()
        self.blocks, self.is_inside = [], False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        if tag == "pre":
            self.is_inside = True
            self.blocks.append("")

    def handle_endtag(self, tag):
        self.is_inside &= tag != "pre"

    def handle_data(self, data):
        if self.is_inside:
            self.blocks[-1] += data


@pytest.fixture(scope="module")
def documented(tmp_path_factory):
    """A server that is reached at its base_url, with an author whose video has reached milestones, and an app."""
    port = free_port()
    instance = Viewtally(tmp_path_factory.mktemp("documented"), {"server": {"listen": f"127.0.0.1:{port}", "base_url": f"http://127.0.0.1:{port}/v1"}})
    now = datetime.datetime.now(datetime.timezone.utc)
    posted, seen = ((now - datetime.timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ") for days in (2, 1))
    instance.import_lines([author("Ann"), video("v", "Ann", posted), reading("v", posted, 1)])
    instance.import_lines([reading("v", seen, 10_000)])
    instance.key = instance.create_key(uid("Ann"))
    instance.app = oauth.add_app(instance, "https://app.example.org/connected")
    with instance:
        yield instance


def examples(instance, guide):
    with instance.client(base="") as client:
        return Code(client.get(f"/v1/docs/{guide}").body.decode()).blocks


def run_example(instance, line):
    done = subprocess.run(["bash", "-c", line], env={**os.environ, "KEY": instance.key, "no_proxy": "127.0.0.1"}, capture_output=True, text=True,
                          timeout=60, check=True)
    return json.loads(done.stdout)


@pytest.mark.parametrize("guide, count", [("polling", 2), ("charts", 1)])
def test_curl_lines_of_a_guide_work_as_printed(documented, guide, count):
    lines = [block for block in examples(documented, guide) if block.startswith("curl")]
    assert len(lines) == count
    for line in lines:
        body = run_example(documented, line)
        assert body["success"] is True, (line, body)
        assert "evt_0" not in line or [event["type"] for event in body["data"]][:1] == ["video.milestone_reached"]


def test_commands_of_the_guide_connect_an_app(documented):
    """Runs the commands as printed, with values for the placeholders (…)."""
    consent_url, line = examples(documented, "connect")
    app, verifier = documented.app, oauth.make_verifier()
    browser = sign_up(documented, uid("Ann"), "ann", "correct horse battery")
    consent_url = consent_url.strip().replace("app_…", app["client_id"]).replace("state=…", "state=s1")
    page = oauth.open_consent_page(browser, urllib.parse.urlsplit(consent_url.replace("challenge=…", f"challenge={oauth.challenge_of(verifier)}")).query)
    code = oauth.redirect_params(oauth.submit_consent(browser, page, "allow"), "https://app.example.org/connected")["code"]
    token = run_example(documented, line.replace("vtcode_…", code).replace("app_…", app["client_id"]).replace("verifier=…", f"verifier={verifier}"))
    assert token["account"]["id"] == uid("Ann") and token["access_token"].startswith("service_live_")


def test_every_curl_line_of_the_guides_is_tested(documented):
    found = {guide for guide in GUIDES for block in examples(documented, guide) if "curl " in block}
    assert found == {"polling", "charts", "connect"}


def test_content_security_policy_forbids_other_hosts_and_inline_code(site):
    for path in ("/api/docs", "/api/docs/errors", "/api/docs/nothing", "/api/docs/search.js"):
        response = site.client.get(path)
        policy = response.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; style-src 'self'; script-src 'self'") and "unsafe" not in policy
        assert "Set-Cookie" not in response.headers
    etag = site.client.get("/api/docs").headers["ETag"]
    assert site.client.get("/api/docs", headers={"If-None-Match": etag}).status == 304
    assert (site.client.get("/api/docs/nothing").status, site.client.get("/api/docs/").status) == (404, 404)
    assert site.client.request("POST", "/api/docs").headers["Allow"] == "GET, HEAD"
