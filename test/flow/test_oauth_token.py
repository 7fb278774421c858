"""The token and revocation endpoints under attack (RFC 6749, 7009, 7636, 9700). Tests write codes directly into the database,
as the consent page does."""
import concurrent.futures
import contextlib
import http.client
import socket
import struct
import threading
import time

import pytest

from lib import oauth, wait
from lib.client import Response, connect
from lib.clock import FakeClock
from lib.oauth import Grant, error_of, post, post_json, rows
from lib.viewtally import Viewtally

DAY_MS = 24 * 3600 * 1000


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    viewtally = Viewtally(tmp_path_factory.mktemp("token"), {"server": {"trusted_proxies": "127.0.0.1"}, "log": {"level": "debug", "access": "access.log"},
                                                            "store": {"busy_timeout_ms": 3000}, "limits": {"requests_per_minute": 0}})
    viewtally.run("migrate")
    viewtally.author = viewtally.add_author("Ann Author")
    viewtally.public, viewtally.confidential = oauth.add_app(viewtally), oauth.add_app(viewtally, confidential=True)
    with viewtally:
        yield viewtally


@pytest.fixture
def client(world):
    with world.client() as client:
        yield client


def grant_of(world, app=None, **options):
    return Grant(world, app or world.public, world.author, **options)


def keys(world):
    return rows(world, "SELECT count(*) FROM api_keys")[0][0]


def works(world, key):
    return world.client(key).get("/account").status == 200


# -- client authentication -----------------------------------------------------------------------------------------------------

def test_confidential_app_may_authenticate_in_every_way(world, client):
    app = world.confidential
    inside = {"client_id": None, "client_secret": None}
    assert grant_of(world, app).exchange(client).status == 200
    assert grant_of(world, app).exchange(client, oauth.basic(app["client_id"], app["client_secret"]), **inside).status == 200
    assert grant_of(world, app).exchange(client, oauth.basic(app["client_id"], app["client_secret"]), client_secret=None).status == 200
    assert post_json(client, "token", grant_of(world, app).fields()).status == 200
    lower = {"Authorization": oauth.basic(app["client_id"], app["client_secret"])["Authorization"].replace("Basic", "bAsIc")}
    assert grant_of(world, app).exchange(client, lower, **inside).status == 200


def test_wrong_client_credentials_are_rejected(world, client):
    app, public = world.confidential, world.public
    right = oauth.basic(app["client_id"], app["client_secret"])
    both = {"client_id": None, "client_secret": None}
    wrong = app["client_secret"][:-1] + ("a" if app["client_secret"][-1] != "a" else "b")
    rejected = [
        ({}, {"client_secret": None}), ({}, {"client_secret": wrong}), ({}, {"client_secret": app["client_secret"].swapcase()}),
        ({}, {"client_secret": ""}), ({}, {"client_id": public["client_id"]}), ({}, {"client_id": "app_nobody"}),
        ({}, {"client_id": "' OR 1=1 --"}), ({}, {"client_id": "x" * 5000}), ({}, {"client_id": "\udcff"}), ({}, {"client_id": None}),
        (oauth.basic(app["client_id"], wrong), both), (oauth.basic("app_nobody", app["client_secret"]), both),
        (oauth.basic(app["client_id"], ""), both), ({"Authorization": "Basic"}, both), ({"Authorization": "Basic !!!"}, both),
        ({"Authorization": "Basic eDp5eg"}, both), ({"Authorization": "Bearer " + app["client_secret"]}, both),
        ({"Authorization": "Basic " + "eDp5" * 2000}, both), ({"Authorization": ""}, both),
    ]
    before = keys(world)
    for headers, changes in rejected:
        grant = grant_of(world, app)
        fields = grant.fields(**changes)
        body = "&".join(f"{name}={oauth.urllib.parse.quote(value, errors='surrogateescape')}" for name, value in fields.items())
        assert error_of(post(client, "token", body, headers), 401) == "invalid_client", (headers, changes)
    assert error_of(grant_of(world, app).exchange(client, right), 400) == "invalid_request"             # the secret twice
    assert error_of(grant_of(world, app).exchange(client, right, client_id="app_x", client_secret=None), 400) == "invalid_request"
    response = grant_of(world, public).exchange(client, client_secret=app["client_secret"])
    assert error_of(response, 401) == "invalid_client" and "registered without a secret" in response.json()["error_description"]
    assert keys(world) == before
    # An empty secret counts as missing: some clients of a public app send one.
    assert grant_of(world, public).exchange(client, oauth.basic(public["client_id"], ""), client_id=None).status == 200


def test_rotated_secret_replaces_the_old_one(world, client):
    app = oauth.add_app(world, confidential=True)
    fresh = world.run("app", "rotate-secret", app["client_id"], "--json").json()["client_secret"]
    assert fresh != app["client_secret"]
    assert error_of(grant_of(world, app).exchange(client), 401) == "invalid_client"
    assert grant_of(world, app).exchange(client, client_secret=fresh).status == 200


@pytest.mark.parametrize("choice", ["--revoke-keys", "--keep-keys", None])
def test_removed_app_cannot_exchange_or_revoke(world, client, choice):
    app = oauth.add_app(world, confidential=True)
    key = grant_of(world, app).exchange(client).json()["access_token"]
    open_grant = grant_of(world, app)
    output = world.run("app", "remove", app["client_id"], *([choice] if choice else [])).out
    assert ("1 key stays live" if choice == "--keep-keys" else "Revoked 1 live key.") in output
    assert works(world, key) == (choice == "--keep-keys")
    assert error_of(open_grant.exchange(client), 401) == "invalid_client"
    assert error_of(post(client, "revoke", {"token": key, "client_id": app["client_id"],
                                            "client_secret": app["client_secret"]}), 401) == "invalid_client"
    assert "Revoked" in world.run("app", "remove", app["client_id"], "--revoke-keys").out and not works(world, key)


# -- the body -------------------------------------------------------------------------------------------------------

def test_missing_and_repeated_fields_are_rejected(world, client):
    grant = grant_of(world)
    for name in ("grant_type", "code", "redirect_uri", "code_verifier"):
        assert error_of(grant.exchange(client, **{name: None})) == "invalid_request", name
        assert error_of(grant.exchange(client, **{name: ""})) == "invalid_request", name
    for name, value in grant.fields().items():
        assert error_of(post(client, "token", [*grant.fields().items(), (name, value)])) == "invalid_request", name
        assert error_of(post(client, "token", [*grant.fields().items(), (name, "")])) == "invalid_request", name
    for kind in ("password", "client_credentials", "refresh_token", "implicit", "Authorization_Code", "authorization_code "):
        assert error_of(grant.exchange(client, grant_type=kind)) == "unsupported_grant_type", kind
    too_long = grant.exchange(client, redirect_uri="https://app.example/" + "x" * 2000)
    assert error_of(too_long) == "invalid_grant" and "redirect_uri is longer than" in too_long.json()["error_description"]
    # None of these attempts used up the code. Unknown fields are ignored, even if repeated.
    assert post(client, "token", [*grant.fields(scope="read", audience="x").items(), ("resource", "a"), ("resource", "b")]).status == 200


def test_malformed_bodies_are_rejected(world, client):
    grant = grant_of(world)
    form = oauth.urllib.parse.urlencode(grant.fields())
    for kind in ("text/plain", "application/x-www-form-urlencoded2", "multipart/form-data; boundary=x", "application/jsonp", ""):
        assert error_of(post(client, "token", form, {"Content-Type": kind})) == "invalid_request", kind
    assert error_of(client.request("POST", "/v1/oauth/token", body=form.encode(), headers=oauth.random_client_address())) == "invalid_request"
    for body in ("", "&", "=", "&&==&", "grant_type", "%", "grant_type=%zz", "\0"):
        assert error_of(post(client, "token", body)) == "invalid_request", body
    assert "valid percent escapes" in post(client, "token", "grant_type=%zz").json()["error_description"]
    deep = "[" * 3000
    for body in ("", "null", "[]", '"x"', "1", "{", '{"grant_type":1}', '{"grant_type":["authorization_code"]}', deep, "\ufeff{}", "{} {}",
                 '{"grant_type":"authorization_code","grant_type":"authorization_code"}', '{"grant_type":{"a":"b"}}'):
        assert error_of(post_json(client, "token", body.encode())) == "invalid_request", body
    # Parameters in the query are ignored, and GET is not allowed.
    assert error_of(client.request("POST", f"/v1/oauth/token?{form}", body=b"", headers=oauth.FORM)) == "invalid_request"
    for target in (f"token?{form}", f"revoke?token={grant.code}"):
        response = client.request("GET", f"/v1/oauth/{target}")
        assert error_of(response, 405) == "invalid_request" and response.headers["Allow"] == "POST"
        assert response.json()["error_description"] == "This endpoint accepts POST only."
    typed = {"Content-Type": "Application/X-WWW-Form-Urlencoded ; charset=UTF-8"}
    assert post(client, "token", form, typed).status == 200


def exchange_raw(instance, data):
    with connect(instance.address) as sock:
        sock.sendall(data)
        response = http.client.HTTPResponse(sock)
        response.begin()
        return Response(response.status, response.headers, response.read())


REJECTIONS = [(b"HTTP/1.1\r\nA: b\r\n\r\n", 400), (b"HTTP/1.1\r\nHost: x\r\nContent-Length: 20000\r\n\r\n", 413),
              (b"HTTP/1.1\r\nHost: x\r\nExpect: magic\r\n\r\n", 417), (b"HTTP/1.1\r\nHost: x\r\nA: " + b"x" * 17000 + b"\r\n\r\n", 431),
              (b"HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 501), (b"HTTP/2.0\r\nHost: x\r\n\r\n", 505)]


@pytest.mark.parametrize("endpoint", ["token", "revoke"])
def test_requests_that_are_no_valid_http_get_an_oauth_error(world, endpoint):
    for rest, status in REJECTIONS:
        response = exchange_raw(world, f"POST /v1/oauth/{endpoint} ".encode() + rest)
        assert error_of(response, status) == "invalid_request" and response.headers["X-Request-Id"], status
    for origin in ("", "http://x"):
        response = exchange_raw(world, f"POST {origin}/v1/oauth/{endpoint}?{'x' * 9000} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        assert error_of(response, 414) == "invalid_request"
    assert exchange_raw(world, f"POST /v1/oauth/{endpoint}{'x' * 9000} HTTP/1.1\r\n\r\n".encode()).error_code == "invalid_parameter"
    assert exchange_raw(world, b"POST /v1/oauth/x " + REJECTIONS[1][0]).error_code == "invalid_parameter"


def test_requests_that_time_out_get_an_oauth_error(make_viewtally, clock):
    clock.set_monotonic(1_000_000)
    world = make_viewtally({"server": {"body_timeout_ms": 100}, "store": {"busy_timeout_ms": 60_000}}, clock=clock)
    world.author = world.add_author()
    grant = grant_of(world, oauth.add_app(world), at_ms=clock.wall_ms)
    world.start()
    head = b"POST /v1/oauth/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: %d\r\n\r\n"
    with concurrent.futures.ThreadPoolExecutor() as pool:
        slow = pool.submit(exchange_raw, world, head % 100 + b"x")
        wait.until(lambda: clock.advance(100) or slow.done(), "the body to time out")
        assert error_of(slow.result(), 408) == "invalid_request"
        with world.write_transaction():
            stuck = pool.submit(grant.exchange, world.client())
            wait.until(lambda: clock.advance(120_000) or stuck.done(), "the request to time out")
    assert error_of(stuck.result(), 503) == "server_error" and stuck.result().headers["Retry-After"] == "5"
    assert "It is unknown whether a change was made" in stuck.result().json()["error_description"]


# -- codes --------------------------------------------------------------------------------------------------------------

def test_replayed_code_revokes_its_key(world, client):
    grant, other = grant_of(world), grant_of(world, oauth.add_app(world))
    key, stays = (each.exchange(client).json()["access_token"] for each in (grant, other))
    assert works(world, key) and works(world, stays)
    assert error_of(grant.exchange(client)) == "invalid_grant"
    assert not works(world, key) and works(world, stays)
    assert world.client(key).get("/account").error_code == "api_key_revoked"
    assert error_of(grant.exchange(client)) == "invalid_grant"


@pytest.mark.parametrize("how", ["verifier", "client", "late"])
def test_invalid_replay_of_a_code_revokes_its_key_too(world, client, how):
    grant = grant_of(world)
    key = grant.exchange(client).json()["access_token"]
    changes = {}
    if how == "verifier":
        changes["code_verifier"] = oauth.make_verifier()
    elif how == "client":
        changes["client_id"] = oauth.add_app(world)["client_id"]
    else:
        rows(world, "UPDATE oauth_codes SET created_at = created_at - ?, used_at = used_at - ? WHERE used_at IS NOT NULL", DAY_MS, DAY_MS)
    assert error_of(grant.exchange(client, **changes)) == "invalid_grant"
    assert not works(world, key)


def test_exactly_one_of_twenty_concurrent_exchanges_succeeds(world, tmp_path):
    """The exchanges go to two processes."""
    with Viewtally(tmp_path / "second", {"server": {"trusted_proxies": "127.0.0.1"}, "store": world.settings["store"]}) as second:
        race(world, second)


def race(world, second):
    for _ in range(5):
        grant, before = grant_of(world), keys(world)
        clients = [each.client() for each in (world, second) for _ in range(10)]
        for each in clients:
            each.get("/openapi.json")       # so that all clients are connected
        with concurrent.futures.ThreadPoolExecutor(20) as pool:
            responses = list(pool.map(grant.exchange, clients))
        for each in clients:
            each.close()
        assert sorted(response.status for response in responses) == [200] + [400] * 19
        assert {error_of(response) for response in responses if response.status == 400} == {"invalid_grant"}
        assert keys(world) == before + 1


def failing_changes(world):
    other = oauth.add_app(world)["client_id"]
    verifier = oauth.make_verifier()
    return {
        "verifier of another": {"code_verifier": oauth.make_verifier()}, "verifier cut": {"code_verifier": verifier[:-1] + "~"},
        "plain": {"code_verifier": "challenge"}, "another client": {"client_id": other},
        "redirect of another": {"redirect_uri": "https://evil.example/"}, "redirect with a slash": {"redirect_uri": oauth.REDIRECT + "/"},
        "redirect in capitals": {"redirect_uri": oauth.REDIRECT.upper()}, "redirect encoded": {"redirect_uri": oauth.REDIRECT + "%20"},
    }


def test_failed_exchange_uses_the_code_up(world, client):
    for what, changes in failing_changes(world).items():
        grant, before = grant_of(world), keys(world)
        if changes.get("code_verifier") == "challenge":
            changes["code_verifier"] = oauth.challenge_of(grant.verifier)
        assert error_of(grant.exchange(client, **changes)) == "invalid_grant", what
        assert error_of(grant.exchange(client)) == "invalid_grant", what       # RFC 9700, 4.2.4
        assert keys(world) == before, what


def test_malformed_verifiers_are_rejected(world, client):
    for length, fits in ((1, False), (42, False), (43, True), (128, True), (129, False)):
        grant = grant_of(world, verifier="v" * length)
        response = grant.exchange(client)
        assert response.status == 200 if fits else error_of(response) == "invalid_request", length
    for verifier in ("v" * 42 + "+", "v" * 42 + "/", "v" * 42 + "=", "v" * 42 + " ", "v" * 42 + "ä", "v" * 42 + "\0"):
        assert error_of(grant_of(world, verifier=verifier).exchange(client)) == "invalid_request", verifier
    every = "ABCXYZabcxyz0189-._~" * 4
    assert grant_of(world, verifier=every).exchange(client).status == 200


def test_unknown_codes_are_rejected(world, client):
    grant = grant_of(world)
    last = grant.code[-1]
    for code in ("x", "vtcode_", oauth.make_code(), oauth.make_code("service_live_"), grant.code + "x", grant.code[:-1] + ("a" if last != "a" else "b"),
                 grant.code.lower(), "x" * 9000, "\0", "ä", grant.code + " ", "' OR 1=1"):
        assert error_of(grant.exchange(client, code=code)) == "invalid_grant", code
    assert grant.exchange(client).status == 200


def test_code_is_valid_for_300_seconds(world, client):
    now = int(time.time() * 1000)
    assert error_of(grant_of(world, at_ms=now - 300_000).exchange(client)) == "invalid_grant"
    assert grant_of(world, at_ms=now - 200_000).exchange(client).status == 200
    # After the clock was set back, a code from the future is not valid for longer.
    assert error_of(grant_of(world, at_ms=now + 3600_000).exchange(client)) == "invalid_grant"


def test_code_expires_at_the_exact_millisecond(make_viewtally, clock):
    """Valid for 299.999 s, expired after 300 s."""
    instance = make_viewtally(clock=clock)
    author = instance.add_author()
    app = oauth.add_app(instance)
    made_at = clock.wall_ms
    grants = [Grant(instance, app, author, at_ms=made_at) for _ in range(2)]
    with instance, instance.client() as client:
        clock.set_wall(made_at + 299_999)
        assert grants[0].exchange(client).status == 200
        clock.set_wall(made_at + 300_000)
        assert error_of(grants[1].exchange(client)) == "invalid_grant"


# -- keys ---------------------------------------------------------------------------------------------------------------

def test_connecting_again_revokes_the_older_key(world, client):
    app, author = oauth.add_app(world, name="Twice"), world.add_author("Bea Author")
    own = world.create_key(world.author)
    theirs = Grant(world, app, author).exchange(client).json()["access_token"]
    first = grant_of(world, app).exchange(client).json()["access_token"]
    second = grant_of(world, app).exchange(client).json()["access_token"]
    assert not works(world, first) and all(works(world, key) for key in (second, theirs, own))
    assert rows(world, "SELECT count(*) FROM api_keys WHERE name = 'Twice' AND revoked_at IS NULL") == [(2,)]


def test_author_with_an_inactive_plan_can_connect(world, client):
    author = world.add_author("Cid Author")
    world.run("author", "set-plan", author, "inactive")
    response = Grant(world, world.public, author).exchange(client)
    assert response.status == 200 and response.json()["account"]["id"] == author
    key = response.json()["access_token"]
    assert world.client(key).get("/account").error_code == "plan_inactive"
    world.run("author", "set-plan", author, "active")
    assert works(world, key)


def test_app_revokes_only_its_own_keys(world, client):
    app, other = world.public, world.confidential
    key = grant_of(world, app).exchange(client).json()["access_token"]
    by_hand = world.create_key(world.author)
    named = {"client_id": other["client_id"], "client_secret": other["client_secret"]}
    assert error_of(post(client, "revoke", {"token": key, **named})) == "invalid_grant"
    assert error_of(post(client, "revoke", {"token": by_hand, "client_id": app["client_id"]})) == "invalid_grant"
    assert error_of(post(client, "revoke", {"token": key, "client_id": other["client_id"]}), 401) == "invalid_client"
    assert error_of(post(client, "revoke", {"token": key}), 401) == "invalid_client"
    assert error_of(post(client, "revoke", {"client_id": app["client_id"]})) == "invalid_request"
    assert error_of(post(client, "revoke", [("token", key), ("token", key), ("client_id", app["client_id"])])) == "invalid_request"
    assert works(world, key) and works(world, by_hand)
    for token in ("x", oauth.make_code("service_live_"), key + "x", "x" * 9000):
        response = post(client, "revoke", {"token": token, "client_id": app["client_id"]})
        assert response.status == 200 and response.json() == {}, token
    for _ in range(2):
        response = post_json(client, "revoke", {"token": key, "token_type_hint": "refresh_token", "client_id": app["client_id"]})
        assert response.status == 200 and not works(world, key)


# -- locked database, disconnects, kill -9 ----------------------------------------------------------------------------------

def test_code_remains_valid_if_the_database_is_locked(world, client):
    grant, before = grant_of(world), keys(world)
    key = grant_of(world, world.confidential).exchange(client).json()["access_token"]
    named = {"client_id": world.confidential["client_id"], "client_secret": world.confidential["client_secret"]}
    with world.write_transaction():
        for response in (grant.exchange(client), post(client, "revoke", {"token": key, **named})):
            assert error_of(response, 503) == "server_error" and int(response.headers["Retry-After"]) >= 1
    assert works(world, key) and keys(world) == before + 1
    assert grant.exchange(client).status == 200
    assert post(client, "revoke", {"token": key, **named}).status == 200 and not works(world, key)


def test_disconnect_during_an_exchange_is_harmless(world, client):
    """The exchange is completed or not started; no response is written to a closed connection."""
    for wait_for_lock in (True, False):
        grant = grant_of(world)
        body = oauth.urllib.parse.urlencode(grant.fields()).encode()
        with world.write_transaction() if wait_for_lock else contextlib.nullcontext():
            with connect(world.address) as sock:
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                sock.sendall(b"POST /v1/oauth/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
                             b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
            assert client.get("/openapi.json").status == 200
        response = grant.exchange(client)
        assert response.status == 200 or error_of(response) == "invalid_grant"
        assert error_of(grant.exchange(client)) == "invalid_grant"


def test_kill_9_during_exchanges_keeps_code_and_key_consistent(tmp_path):
    """A code is used up if and only if its key exists. Every key that was sent to the client exists."""
    world = Viewtally(tmp_path / "killed", {"server": {"trusted_proxies": "127.0.0.1"}}).start()
    world.author, exchanged = world.add_author(), []

    def exchange_all(grants, until, once):
        with world.client() as client:
            for grant in grants:
                try:
                    exchanged.append((grant, grant.exchange(client).json()["access_token"]))
                except (OSError, http.client.HTTPException):
                    return
                if len(exchanged) >= until and once.acquire(blocking=False):
                    world.kill()        # while the other exchanges are in progress
                    return

    for part in (1, 3):
        apps, once = [oauth.add_app(world) for _ in range(3)], threading.Lock()
        grants = [[grant_of(world, app) for _ in range(30)] for app in apps]
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            running = [pool.submit(exchange_all, each, len(exchanged) + part * 7, once) for each in grants]
        for each in running:
            each.result()
        assert not world.running
        world.start()
        assert rows(world, "SELECT count(*) FROM oauth_codes WHERE (used_at IS NULL) <> (key_id IS NULL)") == [(0,)]
        assert rows(world, "SELECT (SELECT count(*) FROM api_keys) - (SELECT count(*) FROM oauth_codes WHERE key_id IS NOT NULL)") == [(0,)]
        hashes = {hash for (hash,) in rows(world, "SELECT hash FROM api_keys")}
        assert all(oauth.hash_of(key) in hashes for _, key in exchanged)
        assert all(error_of(grant.exchange(world.client())) == "invalid_grant" for grant, _ in exchanged[-3:])
        left, = rows(world, "SELECT count(*) FROM oauth_codes WHERE used_at IS NULL")
        assert left[0] > 0, "the server was killed too late: all codes are used"
    world.stop()


# -- limits of failed attempts -----------------------------------------------------------------------------------------------------------

def test_failed_attempts_are_limited_by_address(tmp_path):
    clock = FakeClock(tmp_path / "clock", monotonic_ms=1_000_000)
    with Viewtally(tmp_path / "guess", {"server": {"trusted_proxies": "127.0.0.1"}}, clock=clock) as world, world.client() as client:
        world.author = world.add_author()
        app = oauth.add_app(world, confidential=True)
        wrong = {**grant_of(world, app).fields(), "client_secret": "x"}
        here, there = {"X-Forwarded-For": "192.0.2.1"}, {"X-Forwarded-For": "192.0.2.2"}
        for _ in range(20):
            assert error_of(post(client, "token", wrong, here), 401) == "invalid_client"
        rejected = grant_of(world, app).exchange(client, here)               # the right secret is rejected too
        assert error_of(rejected, 429) == "slow_down" and 1 <= int(rejected.headers["Retry-After"]) <= 6
        assert grant_of(world, app).exchange(client, there).status == 200
        clock.advance(6000)
        assert error_of(post(client, "token", wrong, here), 401) == "invalid_client"
        assert error_of(post(client, "token", wrong, here), 429) == "slow_down"
        clock.advance(120_000)
        assert grant_of(world, app).exchange(client, here).status == 200
        # Wrong codes count too; IPv6 addresses count by their /64 network.
        for i in range(20):
            response = grant_of(world, app).exchange(client, {"X-Forwarded-For": f"2001:db8::{i:x}"}, code=oauth.make_code())
            assert error_of(response) == "invalid_grant"
        assert error_of(grant_of(world, app).exchange(client, {"X-Forwarded-For": "2001:db8::ffff"}), 429) == "slow_down"
        assert grant_of(world, app).exchange(client, {"X-Forwarded-For": "2001:db8:0:1::1"}).status == 200
        # Unknown keys at the revocation endpoint count too.
        named = {"client_id": app["client_id"], "client_secret": app["client_secret"]}
        responses = [post(client, "revoke", {"token": oauth.make_code("service_live_"), **named}, {"X-Forwarded-For": "192.0.2.9"}) for _ in range(21)]
        assert [response.status for response in responses] == [200] * 20 + [429]


def test_wrong_secrets_are_limited_by_app(world, client):
    app, other = (oauth.add_app(world, confidential=True) for _ in range(2))
    fields = {**grant_of(world, app).fields(), "client_secret": "x"}
    statuses = [post(client, "token", fields).status for _ in range(400)]
    assert statuses[:200] == [401] * 200 and 429 in statuses
    assert grant_of(world, other).exchange(client).status == 200


def test_failures_do_not_lock_a_public_app_out(world, client):
    """A public app has no secret to guess: only the address of the failed attempts is limited."""
    app = oauth.add_app(world)
    grant = grant_of(world, app)
    for _ in range(250):
        assert error_of(grant.exchange(client, code=oauth.make_code())) == "invalid_grant"
    assert grant_of(world, app).exchange(client).status == 200


# -- secrets in logs -------------------------------------------------------------------------------------------------------------

def written(world, last_id):
    """Returns the access log if it contains the line of the request `last_id`, otherwise None."""
    text = (world.directory / "access.log").read_text(encoding="utf-8")
    return text if last_id in text else None


@pytest.mark.sqlite_only("reads the database files")
def test_secrets_are_in_no_database_and_no_log(world, client):
    app = world.confidential
    grant = grant_of(world, app)
    form = oauth.urllib.parse.urlencode(grant.fields())
    client.request("GET", f"/v1/oauth/token?{form}")
    client.request("GET", f"/v1/account?x={grant.code}")
    client.request("GET", f"/v1/account?x={app['client_secret']}")
    response = grant.exchange(client)
    key = response.json()["access_token"]
    logged = world.log + wait.until(lambda: written(world, response.headers["X-Request-Id"]), "the access log")
    assert "/v1/account" in logged
    with open(world.settings["store"]["path"], "rb") as file:
        stored = file.read()
    with open(world.settings["store"]["path"] + "-wal", "rb") as file:
        stored += file.read()
    for secret in (grant.code, app["client_secret"], key):
        assert secret[:24] not in logged and secret[:24].encode() not in stored, secret
