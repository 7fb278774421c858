"""[server] gzip: a cached response of 1 KiB or more is compressed once, on the thread pool, for clients that accept gzip."""
import gzip

import pytest

from lib import wait
from lib.lines import author, reading, uid, video
from lib.metrics import scrape

DATA = [author("Ada"), *(video(f"v{n}", "Ada", f"2026-07-{n + 1:02}T08:00:00Z") for n in range(9)),
        *(reading(f"v{n}", "2026-07-09T20:00:00Z", 700 * (n + 1)) for n in range(9))]
GZIP = {"Accept-Encoding": "gzip, br"}


@pytest.fixture
def server(make_viewtally, clock):
    instance = make_viewtally({"server": {"gzip": "on"}, "cache": {"max_bytes": 1 << 20}, "limits": {"requests_per_minute": "0"}}, clock)
    instance.import_lines(DATA)
    instance.key = instance.create_key(uid("Ada"))
    with instance:
        yield instance


def compressed(client, path):
    """Requests `path` until the response is compressed."""
    return wait.until(lambda: next((r for r in [client.get(path, headers=GZIP)] if r.headers.get("Content-Encoding")), None), "a compressed response")


def test_compressed_response_contains_the_same_body_under_another_etag(server):
    client = server.client(server.key)
    for path in ("/videos", "/stats", "/videos?limit=5"):
        plain = client.get(path)
        packed = compressed(client, path)
        assert gzip.decompress(packed.body) == plain.body and len(packed.body) < len(plain.body) / 2
        assert packed.headers["Content-Encoding"] == "gzip" and packed.headers["Content-Type"] == plain.headers["Content-Type"]
        assert packed.headers["ETag"] == plain.headers["ETag"][:-1] + '-gzip"'
        for response in (plain, packed):
            assert "Accept-Encoding" in response.headers["Vary"]
        assert client.get(path).body == plain.body, "a client that does not ask for gzip"
        for refusal in ("gzip;q=0", "br", "identity"):
            assert "Content-Encoding" not in client.get(path, headers={"Accept-Encoding": refusal}).headers
        head = client.request("HEAD", "/v1" + path, headers=GZIP)
        assert (head.headers["ETag"], head.headers["Content-Length"]) == (packed.headers["ETag"], str(len(packed.body)))


def test_etags_of_the_compressed_and_the_plain_response_both_give_a_304(server):
    client = server.client(server.key)
    packed, plain = compressed(client, "/videos"), client.get("/videos")
    for etag in (packed.headers["ETag"], plain.headers["ETag"]):
        again = client.get("/videos", headers={**GZIP, "If-None-Match": etag})
        assert (again.status, again.body, again.headers["ETag"]) == (304, b"", etag) and "Content-Encoding" not in again.headers
    assert client.get("/videos", headers={"If-None-Match": packed.headers["ETag"]}).status == 200, "without Accept-Encoding, the ETag of the compressed body must not match"
    server.stop()
    server.start()      # the cache is empty now
    again = server.client(server.key).get("/videos", headers={**GZIP, "If-None-Match": packed.headers["ETag"]})
    assert (again.status, again.headers["ETag"]) == (304, packed.headers["ETag"])


def test_new_reading_is_never_hidden_by_a_compressed_response(server):
    client = server.client(server.key)
    for n in range(5):
        before = compressed(client, "/videos")
        server.import_lines([reading("v0", f"2026-07-10T00:0{n}:00Z", 10_000 + n)])
        after = client.get("/videos", headers=GZIP)
        body = gzip.decompress(after.body) if after.headers.get("Content-Encoding") else after.body
        assert str(10_000 + n).encode() in body and after.headers["ETag"] != before.headers["ETag"]


def test_body_is_compressed_once(server):
    client = server.client(server.key)
    compressed(client, "/videos")
    for _ in range(5):
        assert client.get("/videos", headers=GZIP).headers["Content-Encoding"] == "gzip"
    assert scrape(server).get("viewtally_responses_compressed_total") == 1


def test_small_and_uncached_responses_are_not_compressed(server):
    client = server.client(server.key)
    for path in ("/account", "/events?limit=1", "/videos/none"):
        for _ in range(4):
            assert "Content-Encoding" not in client.get(path, headers=GZIP).headers
    assert scrape(server).get("viewtally_responses_compressed_total") == 0


def test_gzip_is_off_by_default(make_viewtally):
    instance = make_viewtally()
    instance.import_lines(DATA)
    key = instance.create_key(uid("Ada"))
    with instance:
        for _ in range(4):
            response = instance.client(key).get("/videos", headers=GZIP)
            assert "Content-Encoding" not in response.headers and "Accept-Encoding" not in response.headers["Vary"]
