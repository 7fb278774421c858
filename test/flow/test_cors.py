"""CORS is off unless [server] cors_origins names origins. It applies to requests and to preflight requests of browsers.

The contract tests (tour_browser) check that every response, including errors, has the CORS fields.
"""
import pytest

AUTHOR = "0b0f3d5e-6f0a-4c39-9a50-3f6f5b1f7b02"
PAGE, OTHER = "https://app.example", "https://evil.example"
PREFLIGHT = {"Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization"}


@pytest.fixture
def start(make_viewtally):
    """start(origins) returns a client of a server that allows these origins."""
    clients = []

    def started(origins):
        made = make_viewtally({"server": {"cors_origins": origins}} if origins else {})
        made.ensure_database()
        made.run("author", "add", "--name", "A", "--id", AUTHOR)
        key = made.create_key(AUTHOR)
        clients.append(made.start().client(key))
        return clients[-1]

    yield started
    for client in clients:
        client.close()


def preflight(client, origin, path="/account", **fields):
    headers = {"Origin": origin, **PREFLIGHT, **{name.replace("_", "-"): value for name, value in fields.items()}}
    return client.request("OPTIONS", "/v1" + path, headers={name: value for name, value in headers.items() if value})


def words(response, name):
    return {word.strip().lower() for word in response.headers.get(name, "").split(",")}


def test_cors_is_off_by_default(start):
    client = start(None)
    response = client.get("/account", headers={"Origin": PAGE})
    assert response.status == 200 and not [name for name in response.headers if name.startswith("Access-Control")]
    response = preflight(client, PAGE)
    assert response.status == 405 and not [name for name in response.headers if name.startswith("Access-Control")]


def test_preflight_needs_no_key(start):
    """Browsers send a preflight request without a key. The response names the methods and header fields of the API."""
    client = start(f"{PAGE}, https://second.example")
    client.key = None
    for origin in (PAGE, "https://second.example"):
        for path in ("/account", "/videos", "/events?limit=1", "/oauth/token", "/openapi.json"):
            response = preflight(client, origin, path)
            assert (response.status, response.body) == (204, b"")
            assert response.headers["Access-Control-Allow-Origin"] == origin
            assert {"get", "head", "post"} <= words(response, "Access-Control-Allow-Methods")
            assert {"authorization", "if-none-match", "x-request-id", "content-type"} <= words(response, "Access-Control-Allow-Headers")
            assert int(response.headers["Access-Control-Max-Age"]) > 0
            assert "origin" in words(response, "Vary") and "Access-Control-Allow-Credentials" not in response.headers
    assert preflight(client, PAGE, "/nothing").status == 404


def test_origins_that_are_not_allowed_get_no_cors_fields(start):
    client = start(PAGE)
    for origin in (OTHER, "null", "http://app.example", PAGE + ".evil.example", PAGE + ":8443", "https://app.exampl", PAGE.upper(), "*", PAGE + "/"):
        assert "Access-Control-Allow-Origin" not in preflight(client, origin).headers, origin
        response = client.get("/account", headers={"Origin": origin})
        assert response.status == 200 and "Access-Control-Allow-Origin" not in response.headers, origin


def test_star_allows_every_origin(start):
    client = start("*")
    for origin in (PAGE, OTHER):
        assert preflight(client, origin).headers["Access-Control-Allow-Origin"] in (origin, "*")
        assert client.get("/account", headers={"Origin": origin}).headers["Access-Control-Allow-Origin"] in (origin, "*")


def test_options_request_without_preflight_headers_gives_405(start):
    client = start(PAGE)
    assert preflight(client, None).status == 405
    assert preflight(client, PAGE, Access_Control_Request_Method=None).status == 405
