"""The examples of docs/oauth.md connect an app exactly as they are printed there."""
import os
import re
import subprocess
import urllib.parse

import pytest

from lib import npm, oauth
from lib.client import Client
from lib.pages import Page, sign_up
from lib.services import free_port
from lib.viewtally import ROOT, Viewtally

RUN_SECONDS = 60
REGISTERED = "http://127.0.0.1/connected"


def example(language):
    """The only block of that language in the examples of docs/oauth.md."""
    section = re.search(r"^## Examples\n(.*?)^## ", (ROOT / "docs/oauth.md").read_text(encoding="utf-8"), re.M | re.S)[1]
    block, = re.findall(rf"^```{language}\n(.*?)^```", section, re.M | re.S)
    return block


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    port = free_port()
    server = {"listen": f"127.0.0.1:{port}", "base_url": f"http://127.0.0.1:{port}/v1"}
    viewtally = Viewtally(tmp_path_factory.mktemp("readme"), {"server": server})
    viewtally.run("migrate")
    viewtally.author = viewtally.add_author("Ann Author")
    viewtally.app = oauth.add_app(viewtally, REGISTERED)
    viewtally.with_secret = oauth.add_app(viewtally, REGISTERED, confidential=True)
    with viewtally:
        viewtally.browser = sign_up(viewtally, viewtally.author, "ann", "correct horse battery")
        yield viewtally


def run_example(world, command, directory, deliver_redirect):
    """Runs the example and performs the steps of the author. Returns the further output of the example."""
    base = world.settings["server"]["base_url"]
    process = subprocess.Popen([*command, base, *world.words], cwd=directory, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.STDOUT, text=True, env={**os.environ, "no_proxy": "127.0.0.1"})
    try:
        word, url = process.stdout.readline().split()
        assert word == "Open" and url.startswith(base + "/oauth/authorize?")
        page = oauth.open_consent_page(world.browser, urllib.parse.urlsplit(url).query)
        location = oauth.submit_consent(world.browser, page, "allow").headers["Location"]
        out, _ = process.communicate(deliver_redirect(location), timeout=RUN_SECONDS)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0, out
    return out


def follow_redirect(location):
    """Follows the redirect to the example's own HTTP server."""
    parts = urllib.parse.urlsplit(location)
    with Client(parts.netloc) as client:
        response = Page(location, client.request("GET", f"{parts.path}?{parts.query}"))
    assert response.status == 200 and "close this window" in response.body
    return ""


def test_curl_example_connects(world, tmp_path):
    script = tmp_path / "connect.sh"
    script.write_text(example("sh"))
    world.words = [world.app["client_id"]]
    assert "Ann Author" in run_example(world, ["sh", str(script)], tmp_path, lambda location: location + "\n")


def test_python_example_connects(world, tmp_path):
    script = tmp_path / "connect.py"
    script.write_text(example("python"))
    world.words = [world.app["client_id"]]
    assert "Connected to Ann Author" in run_example(world, ["/usr/bin/python3", str(script)], tmp_path, follow_redirect)


def test_javascript_example_connects(world):
    installed = npm.install("oauth")
    script = installed / f"readme-{free_port()}.mjs"
    globals_of_18 = "import { webcrypto } from 'node:crypto';\nglobalThis.crypto ??= webcrypto;\n"
    script.write_text(globals_of_18 + example("js"))
    world.words = [world.with_secret["client_id"], world.with_secret["client_secret"]]
    try:
        assert "Connected to Ann Author" in run_example(world, ["node", str(script)], installed, follow_redirect)
    finally:
        script.unlink()
