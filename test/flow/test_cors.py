"""Web pages of other origins: off unless [server] cors_origins names them, and then also a browser's question beforehand.

That every answer, errors included, carries the fields of CORS is checked by the contract tests (tour_browser).
"""
import pytest

AUTHOR = "0b0f3d5e-6f0a-4c39-9a50-3f6f5b1f7b02"
PAGE, OTHER = "https://app.example", "https://evil.example"
ASKS = {"Access-Control-Request-Method": "GET", "Access-Control-Request-Headers": "authorization"}


@pytest.fixture
def start(make_viewtally):
    """start(origins) gives a client of a server that allows them."""
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
    headers = {"Origin": origin, **ASKS, **{name.replace("_", "-"): value for name, value in fields.items()}}
    return client.request("OPTIONS", "/v1" + path, headers={name: value for name, value in headers.items() if value})


def words(response, name):
    return {word.strip().lower() for word in response.headers.get(name, "").split(",")}


def test_off_by_default(start):
    client = start(None)
    answer = client.get("/account", headers={"Origin": PAGE})
    assert answer.status == 200 and not [name for name in answer.headers if name.startswith("Access-Control")]
    asked = preflight(client, PAGE)
    assert asked.status == 405 and not [name for name in asked.headers if name.startswith("Access-Control")]


def test_a_browser_may_ask_beforehand(start):
    """Without a key, as browsers do; for what the API takes: its methods, its headers."""
    client = start(f"{PAGE}, https://second.example")
    client.key = None
    for origin in (PAGE, "https://second.example"):
        for path in ("/account", "/videos", "/events?limit=1", "/oauth/token", "/openapi.json"):
            asked = preflight(client, origin, path)
            assert (asked.status, asked.body) == (204, b"")
            assert asked.headers["Access-Control-Allow-Origin"] == origin
            assert {"get", "head", "post"} <= words(asked, "Access-Control-Allow-Methods")
            assert {"authorization", "if-none-match", "x-request-id", "content-type"} <= words(asked, "Access-Control-Allow-Headers")
            assert int(asked.headers["Access-Control-Max-Age"]) > 0
            assert "origin" in words(asked, "Vary") and "Access-Control-Allow-Credentials" not in asked.headers
    assert preflight(client, PAGE, "/nothing").status == 404


def test_other_origins_are_not_told_anything(start):
    client = start(PAGE)
    for origin in (OTHER, "null", "http://app.example", PAGE + ".evil.example", PAGE + ":8443", "https://app.exampl", PAGE.upper(), "*", PAGE + "/"):
        assert "Access-Control-Allow-Origin" not in preflight(client, origin).headers, origin
        answer = client.get("/account", headers={"Origin": origin})
        assert answer.status == 200 and "Access-Control-Allow-Origin" not in answer.headers, origin


def test_a_star_allows_every_page(start):
    client = start("*")
    for origin in (PAGE, OTHER):
        assert preflight(client, origin).headers["Access-Control-Allow-Origin"] in (origin, "*")
        assert client.get("/account", headers={"Origin": origin}).headers["Access-Control-Allow-Origin"] in (origin, "*")


def test_options_without_the_question_is_a_method_like_others(start):
    client = start(PAGE)
    assert preflight(client, None).status == 405
    assert preflight(client, PAGE, Access_Control_Request_Method=None).status == 405
