"""The examples of docs/webhooks.md verify messages of the running server, JavaScript with the published library of Standard Webhooks."""
import json
import re
import subprocess
import urllib.error
import urllib.request

import pytest

from lib import npm, pages
from lib.lines import author, reading, uid, video
from lib.receiver import Receiver
from lib.services import free_port
from lib.viewtally import ROOT, Viewtally

HEADERS = ("webhook-id", "webhook-timestamp", "webhook-signature")


def example(language):
    """The only block of that language in docs/webhooks.md."""
    block, = re.findall(rf"^```{language}\n(.*?)^```", (ROOT / "docs/webhooks.md").read_text(encoding="utf-8"), re.M | re.S)
    return block


@pytest.fixture(scope="module")
def message(tmp_path_factory):
    """A message of a real server with the real clock, and `message.secret`."""
    receiver = Receiver(tmp_path_factory.mktemp("receiver"))
    viewtally = Viewtally(tmp_path_factory.mktemp("viewtally"))
    key_file = str(viewtally.directory / "secrets.key")
    viewtally.run("secrets", "init", key_file)
    viewtally.configure({"secrets": {"key_file": key_file}, "webhooks": receiver.config()})
    viewtally.import_lines([author("Ada"), video("ä", "Ada", "2026-07-09T00:00:00Z"), reading("ä", "2026-07-09T00:00:00Z", 1)])
    with viewtally:
        browser = pages.sign_up(viewtally, uid("Ada"), "ada", "correct horse battery")
        form = browser.get("/webhooks").form("/webhooks").fields
        page = browser.post("/webhooks", {**form, "url": receiver.url(), "milestone_reached": "1"})
        viewtally.import_lines([reading("ä", "2026-07-09T01:00:00Z", 1000)])
        made, = receiver.wait_for(1)
    made.secret = re.search(r'value="(whsec_[^"]+)"', page.body)[1]
    receiver.close()
    return made


def test_python_example_verifies(message):
    names = {}
    exec(compile(example("python"), "webhooks.md", "exec"), names)      # noqa: S102: the documentation is what we test
    verify, headers = names["verify"], {name: message.headers[name] for name in HEADERS}
    assert verify(message.secret, headers, message.body) == message.json
    wrong = [(message.secret, headers, message.body + b" "), ("whsec_" + "A" * 43 + "=", headers, message.body),
             (message.secret, {**headers, "webhook-id": "x.evt_1"}, message.body), (message.secret, {**headers, "webhook-timestamp": "1"}, message.body)]
    for case in wrong:
        with pytest.raises(ValueError):
            verify(*case)


def send(port, message, body=None, **headers):
    sent = {name: message.headers[name] for name in HEADERS} | headers
    request = urllib.request.Request(f"http://127.0.0.1:{port}/", body or message.body, {"Content-Type": "application/json", **sent})
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=30) as response:
            return response.status
    except urllib.error.HTTPError as error:
        return error.code


def test_example_of_the_guide_verifies(message):
    """The guide is part of the API documentation that the server serves. Its example uses the published library."""
    installed = npm.install("webhooks")
    guide = (ROOT / "src/reference/guides/webhooks.md").read_text(encoding="utf-8")
    block, = re.findall(r"^```\n(import .*?)^```", guide, re.M | re.S)
    headers = json.dumps({name: message.headers[name] for name in HEADERS})
    for body, expected in ((message.body.decode(), message.json["data"]["id"]), (message.body.decode() + " ", "rejected")):
        script = f"{block}\ntry {{ console.log(read({json.dumps(message.secret)}, {headers}, {json.dumps(body)}).data.id); }} catch {{ console.log('rejected'); }}"
        done = subprocess.run(["node", "--input-type=module", "-e", script], cwd=installed, capture_output=True, text=True, timeout=60, check=True)
        assert done.stdout == f"{expected}\n"


def test_javascript_example_verifies(message):
    installed = npm.install("webhooks")
    port = free_port()
    script = installed / f"example-{port}.mjs"
    script.write_text(example("js"), encoding="utf-8")
    process = subprocess.Popen(["node", str(script), str(port), message.secret], stdout=subprocess.PIPE, text=True, cwd=installed)
    try:
        assert process.stdout.readline() == "listening\n"
        assert send(port, message) == 204
        assert process.stdout.readline() == f"video.milestone_reached {message.json['data']['id']}\n"
        assert send(port, message, body=message.body.replace(b"1000", b"9000")) == 400
        assert send(port, message, **{"webhook-id": "x.evt_1"}) == 400
    finally:
        process.kill()
        process.wait()
        script.unlink()
