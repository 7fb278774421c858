"""The URLs in responses (`servers` of the OpenAPI document, links of /v1, the Link field of pages), and the field X-Unknown-Parameters."""
import pytest

from lib.lines import author, uid, video

URL = "https://stats.example.com/v1"


@pytest.fixture
def served(make_viewtally, clock):
    """served(config) returns a running server whose author has two videos; `key` is an API key."""
    def make(server):
        instance = make_viewtally({"server": server}, clock)
        instance.run("migrate")
        instance.import_lines([author("a"), video("v1", "a", "2026-07-01T10:00:00Z"), video("v2", "a", "2026-07-02T10:00:00Z")])
        instance.key = instance.create_key(uid("a"))
        return instance.start()
    return make


def document_of(instance):
    with instance.client() as client:
        return client.get("/openapi.json")


def servers_of(instance):
    return [server["url"] for server in document_of(instance).json()["servers"]]


def test_openapi_document_lists_base_url_and_direct_url_as_servers(served):
    """Generated clients take the address from `servers`. No other address is left in the document."""
    instance = served({"base_url": URL, "direct_url": "https://10.0.0.7:8443/v1"})
    assert servers_of(instance) == [URL, "https://10.0.0.7:8443/v1"]
    text = document_of(instance).body.decode()
    assert "127.0.0.1" not in text and f"{URL}/account" in text


def test_direct_url_equal_to_base_url_is_listed_once(served):
    assert servers_of(served({"base_url": URL, "direct_url": URL})) == [URL]


def test_links_of_responses_begin_with_the_base_url(served):
    instance = served({"base_url": URL, "direct_url": "https://10.0.0.7:8443/direct/v1"})
    with instance.client(instance.key, base="") as client:
        for path in ("/v1", "/v1/", "/direct/v1"):
            assert client.get(path).json()["data"]["links"]["events"] == f"{URL}/events"
        for path in ("/v1/videos", "/direct/v1/videos"):
            page = client.get(f"{path}?limit=1&start_date=2020-01-01&x=y")
            cursor = page.json()["next_cursor"]
            assert page.headers["Link"] == f'<{URL}/videos?start_date=2020-01-01&limit=1&cursor={cursor}>; rel="next"'
            assert client.get(f"{path}?limit=1&cursor={cursor}").headers["Link"] is None


def test_get_v1_needs_no_key_and_does_not_count_against_the_limit(make_viewtally, clock):
    instance = make_viewtally({"limits": {"requests_per_minute": 1}}, clock)
    key = instance.create_key(instance.add_author())
    with instance, instance.client(key) as client:
        for _ in range(3):
            response = client.get("/")
            assert response.status == 200 and "RateLimit" not in response.headers
        assert client.get("/account").status == 200


def test_unset_base_url_is_reported_if_other_machines_can_connect(make_viewtally, short_path):
    for listen, warns in (("127.0.0.1:0", False), (f"127.0.0.1:0, unix:{short_path}/s", True), ("0.0.0.0:0", True)):
        instance = make_viewtally({"server": {"listen": listen}})
        instance.run("migrate")
        with instance:
            assert servers_of(instance) == ["/v1"]
        assert ("base_url is not set" in instance.log) == warns, listen


def test_names_of_ignored_parameters_are_encoded_and_truncated(served):
    """The names come from the client, so they are truncated and cannot add a header line."""
    instance = served({})
    names = ["a" * 100, "%3Cscript%3E", "%0D%0ASet-Cookie:x", "é".encode().hex(), "a,b", "limit%20"] + [f"n{number}" for number in range(20)]
    with instance.client(instance.key) as client:
        for _ in range(3):          # the last response comes from the cache
            response = client.get("/videos?limit=2&" + "&".join(f"{name}=1" for name in names))
            assert response.status == 200, response
            assert response.headers["X-Unknown-Parameters"] == ", ".join(["a" * 64, "%3Cscript%3E", "%0D%0ASet-Cookie%3Ax", "c3a9", "a%2Cb", "limit%20", "n0", "n1"])
        assert client.get("/videos?limit=2").headers["X-Unknown-Parameters"] is None
