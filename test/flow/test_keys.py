"""API keys over real connections: which keys are rejected, what takes effect at once, and that keys are durable and secret."""
import hashlib
import random
import re
import sqlite3
import uuid
import zlib

import pytest

from lib import wait
from lib.metrics import scrape

BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
PREFIX = "service_live_"
ENDPOINTS = ["/account", "/books", "/videos", f"/videos/{uuid.uuid4()}", "/stats", "/events"]


def checksum(text):
    number, digits = zlib.crc32(text.encode()), ""
    for _ in range(6):
        number, digit = divmod(number, 62)
        digits = BASE62[digit] + digits
    return digits


def unknown_key():
    text = PREFIX + "".join(random.choices(BASE62, k=43))
    return text + checksum(text)


class World:
    """A running server with one author and one key, and a client with a persistent connection."""

    def __init__(self, instance):
        self.instance = instance
        self.author = instance.add_author()
        created = self.create()
        self.key, self.key_id = created["key"], created["id"]
        instance.start()
        self.client = instance.client(self.key)

    def create(self):
        return self.instance.run("key", "create", "--author", self.author, "--name", "app", "--json").json()

    def authorized(self, *values, target="/v1/account", method="GET"):
        """Sends a request with these Authorization header lines; returns status, header fields and error code."""
        lines = "".join(f"Authorization: {value}\r\n" for value in values)
        raw = self.instance.exchange(f"{method} {target} HTTP/1.1\r\nHost: a\r\n{lines}Connection: close\r\n\r\n".encode())
        head, _, body = raw.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in head.decode().split("\r\n")[1:])
        code = re.search(rb'"code":"(\w+)"', body)
        return int(head.split()[1]), fields, code and code.group(1).decode()


@pytest.fixture
def world(viewtally):
    made = World(viewtally)
    yield made
    made.client.close()


# --- rejected keys ---


@pytest.mark.parametrize("values", [[], [""], ["Bearer"], ["Bearer "], ["Basic dXNlcjpwYXNz"], ["{key}"], ["Token {key}"],
                                    ["Bearer{key}"], ["Digest Bearer {key}"]])
def test_request_without_a_bearer_key_gives_missing_api_key(world, values):
    status, fields, code = world.authorized(*[value.format(key=world.key) for value in values])
    assert (status, code, fields["WWW-Authenticate"]) == (401, "missing_api_key", "Bearer")


def test_malformed_and_unknown_keys_give_invalid_api_key(world):
    key = world.key
    other = "0" if key[-1] != "0" else "1"
    wrong = {
        "unknown": unknown_key(),
        "checksum": key[:-1] + other,
        "character": key[:20] + ("A" if key[20] != "A" else "B") + key[21:],
        "short": key[:-1],
        "long": key + "0",
        "prefix": "service_test_" + key[len(PREFIX):],
        "prefix in capitals": PREFIX.upper() + key[len(PREFIX):],
        "prefix alone": PREFIX,
        "not base62": key[:30] + "-" + key[31:],
        "two words": key + " " + key,
        "list": key + "," + key,
        "quoted": f'"{key}"',
        "not ASCII": key[:-1] + "\u00e9",
        "huge": PREFIX + "x" * 4000,
    }
    for name, value in wrong.items():
        status, fields, code = world.authorized("Bearer " + value)
        assert (status, code, fields["WWW-Authenticate"]) == (401, "invalid_api_key", "Bearer"), name
    assert world.authorized("Bearer " + key)[0] == 200


def test_two_authorization_headers_give_invalid_api_key(world):
    bearer = "Bearer " + world.key
    for values in [(bearer, bearer), (bearer, ""), ("", bearer), (bearer, "Basic eA=="), (bearer, "Bearer " + unknown_key())]:
        status, fields, code = world.authorized(*values)
        assert (status, code, fields["WWW-Authenticate"]) == (401, "invalid_api_key", "Bearer"), values


@pytest.mark.parametrize("form", ["Bearer {}", "bearer {}", "BEARER {}", "bEaReR {}", "Bearer   {}", "  Bearer {}  ", "Bearer {}\t"])
def test_scheme_is_case_insensitive_and_white_space_is_ignored(world, form):
    assert world.authorized(form.format(world.key))[0] == 200


@pytest.mark.parametrize("name", ["key", "api_key", "apikey", "access_token", "token", "Authorization", "authorization"])
def test_key_in_the_query_string_is_never_read(world, name):
    for value in (world.key, "Bearer%20" + world.key, "Bearer+" + world.key):
        status, _, code = world.authorized(target=f"/v1/account?{name}={value}")
        assert (status, code) == (401, "missing_api_key")


def test_key_has_its_documented_format(world):
    for _ in range(5):
        key = world.create()["key"]
        assert re.fullmatch(PREFIX + "[0-9A-Za-z]{49}", key)
        assert key[-6:] == checksum(key[:-6])


def test_keys_with_a_former_prefix_are_rejected(world):
    world.instance.stop()
    world.instance.configure({"keys": {"prefix": "stats_"}})
    world.instance.start()
    assert world.authorized("Bearer " + world.key)[2] == "invalid_api_key"
    created = world.create()["key"]
    assert created.startswith("stats_") and world.authorized("Bearer " + created)[0] == 200


def test_every_endpoint_requires_a_key(world):
    for path in ENDPOINTS:
        assert world.authorized(target="/v1" + path)[2] == "missing_api_key", path
        assert world.authorized("Bearer " + unknown_key(), target="/v1" + path)[2] == "invalid_api_key", path
        head = world.authorized(target="/v1" + path, method="HEAD")
        assert head[0] == 401 and head[1]["WWW-Authenticate"] == "Bearer" and head[2] is None, path


# --- changes that take effect at the next request ---


def test_revoked_key_is_rejected_at_the_next_request(world):
    assert world.client.get("/account").status == 200
    other = world.create()["key"]
    world.instance.run("key", "revoke", world.key_id)
    for path in ENDPOINTS:
        response = world.client.get(path)
        assert (response.status, response.error_code) == (401, "api_key_revoked"), path
        assert response.headers["WWW-Authenticate"] == "Bearer"
    assert world.client.get("/account", key=other).status == 200
    assert world.client.opened == 1


def test_revocation_is_final(world):
    world.instance.run("key", "revoke", world.key_id)
    revoked_at = world.instance.run("key", "list", "--author", world.author, "--json").json()[0]["revoked_at"]
    world.instance.clock.advance(1000)
    world.instance.run("key", "revoke", world.key_id)
    assert world.instance.run("key", "list", "--author", world.author, "--json").json()[0]["revoked_at"] == revoked_at
    assert world.client.get("/account").error_code == "api_key_revoked"
    world.instance.stop()
    world.instance.start()
    assert world.instance.client(world.key).get("/account").error_code == "api_key_revoked"


def test_plan_changes_take_effect_at_the_next_request(world):
    statuses = {path: world.client.get(path).status for path in ENDPOINTS}
    for _ in range(2):
        world.instance.run("author", "set-plan", world.author, "inactive")
        for path in ENDPOINTS:
            response = world.client.get(path)
            assert (response.status, response.error_code) == (403, "plan_inactive"), path
            assert "WWW-Authenticate" not in response.headers
        world.instance.run("author", "set-plan", world.author, "active")
        assert {path: world.client.get(path).status for path in ENDPOINTS} == statuses
    assert world.client.opened == 1


def test_key_created_while_the_server_runs_works_at_once(world):
    for _ in range(3):
        assert world.client.get("/account", key=world.create()["key"]).status == 200
    author = world.instance.add_author("Other")
    response = world.client.get("/account", key=world.instance.create_key(author)).json()
    assert (response["data"]["id"], response["data"]["name"]) == (author, "Other")
    assert world.client.opened == 1


# --- the order of checks: each request fails two checks ---


def test_malformed_request_is_rejected_before_routing(world):
    raw = world.instance.exchange(b"GET /nowhere HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n")
    assert raw.startswith(b"HTTP/1.1 400 ")


def test_route_and_method_are_checked_before_the_key(world):
    for target in ("/v1/nowhere", "/v2/account", "/v1//", "/v1/account/", "/v1//account", "/v1/Account", "/books"):
        assert world.authorized(target=target)[::2] == (404, "not_found"), target
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        status, fields, code = world.authorized(target="/v1/account", method=method)
        assert (status, code, fields["Allow"]) == (405, "not_found", "GET, HEAD"), method
    assert world.authorized(target="/v1/oauth/token")[1]["Allow"] == "POST"


def test_key_is_checked_before_the_rate_limit(make_viewtally, clock):
    clock.set_monotonic(1_000_000)
    world = World(make_viewtally({"limits": {"requests_per_minute": 1}}, clock))
    assert [world.client.get("/account").status for _ in range(2)] == [200, 429]
    world.instance.run("key", "revoke", world.key_id)
    response = world.client.get("/account")
    assert (response.status, response.error_code) == (401, "api_key_revoked")
    assert "RateLimit" not in response.headers
    world.client.close()


def test_rate_limit_is_checked_before_the_plan(make_viewtally, clock):
    clock.set_monotonic(1_000_000)
    world = World(make_viewtally({"limits": {"requests_per_minute": 2}}, clock))
    world.instance.run("author", "set-plan", world.author, "inactive")
    assert [world.client.get("/account").status for _ in range(3)] == [403, 403, 429]
    world.client.close()


def test_plan_is_checked_before_parameters_and_resource(world):
    bad = ("/videos", {"limit": "0"})
    assert world.client.get(*bad).error_code == "invalid_parameter"
    world.instance.run("author", "set-plan", world.author, "inactive")
    assert world.client.get(*bad).error_code == "plan_inactive"
    assert world.client.get(f"/videos/{uuid.uuid4()}").error_code == "plan_inactive"
    assert world.client.get("/nowhere").error_code == "not_found"


# --- last use ---


def commits(connection):
    """A number that changes when another connection has committed."""
    return connection.execute("PRAGMA data_version").fetchone()[0]


def last_used(world):
    return world.client.get("/account").json()["data"]["key"]["last_used_at"]


def test_last_use_is_written_at_most_once_a_minute(world):
    clock = world.instance.clock
    database = sqlite3.connect(world.instance.settings["store"]["path"], isolation_level=None)
    first = clock.wall_ms
    # The server may make the first response before or after it writes the use of the key by this request.
    assert last_used(world) in (None, "2026-07-10T12:00:00.000Z")
    assert wait.until(lambda: last_used(world), "the first use to be written") == "2026-07-10T12:00:00.000Z"
    before = commits(database)
    etags = set()
    for second in range(60):
        clock.set_wall(first + second * 1000 + (999 if second == 59 else 0))
        etags.add(world.client.get("/account").headers["ETag"])
    assert len(etags) == 1 and commits(database) == before
    clock.set_wall(first + 60_000)
    world.client.get("/books")
    assert wait.until(lambda: (used := last_used(world)) != "2026-07-10T12:00:00.000Z" and used,
                      "the second use to be written") == "2026-07-10T12:01:00.000Z"
    assert world.client.get("/account").headers["ETag"] not in etags
    database.close()


def test_last_use_is_recorded_for_each_key_and_shown_by_key_list(world):
    other = world.create()
    world.client.get("/account", key=other["key"])
    wait.until(lambda: world.client.get("/account", key=other["key"]).json()["data"]["key"]["last_used_at"], "the use to be written")
    listed = {key["id"]: key["last_used_at"] for key in
              world.instance.run("key", "list", "--author", world.author, "--json").json()}
    assert listed == {world.key_id: None, other["id"]: "2026-07-10T12:00:00.000Z"}


@pytest.mark.sqlite_only("inserts into the database file")
def test_last_uses_of_many_keys_are_written_in_batches(world):
    """One job writes a limited number of uses, because a long job would compete with the loop for the processor. On
    shutdown, the server writes all that is left."""
    world.instance.stop()
    world.instance.configure({"store": {"busy_timeout_ms": 600_000}})
    world.instance.start()
    texts = [PREFIX + f"{number:043}" for number in range(2500)]
    keys = [text + checksum(text) for text in texts]
    database = sqlite3.connect(world.instance.settings["store"]["path"], timeout=60, isolation_level=None)
    database.execute("BEGIN IMMEDIATE")
    database.executemany("INSERT INTO api_keys (uuid, author_id, hash, name, suffix, created_at) VALUES (?, 1, ?, 'many', ?, 0)",
                         [(uuid.uuid4().bytes, hashlib.sha256(key.encode()).digest(), key[-4:]) for key in keys])
    database.execute("COMMIT")

    def used_at(when):
        return database.execute("SELECT count(*) FROM api_keys WHERE name = 'many' AND last_used_at = ?", (when,)).fetchone()[0]

    def use_all():
        with world.instance.client() as client:
            for key in keys:
                assert client.get("/books", key=key).status == 200

    def jobs():
        return scrape(world.instance).get("viewtally_store_write_duration_seconds_count")

    first = world.instance.clock.wall_ms
    wait.until(lambda: jobs() == 1, "the time to be stored at the start")
    # The first job waits for the lock while the other uses are collected, so the rest would fit into one job.
    database.execute("BEGIN IMMEDIATE")
    use_all()
    database.execute("COMMIT")
    wait.until(lambda: used_at(first) == len(keys), "all uses to be written")
    wait.until(lambda: jobs() >= 4, "a job for the first use, one for 2,000 and one for the others")
    world.instance.clock.advance(60_000)
    use_all()
    world.instance.stop()
    assert used_at(first + 60_000) == len(keys)
    database.close()


def test_rejected_requests_do_not_count_as_use(world):
    world.authorized("Bearer " + world.key[:-1])
    world.instance.run("key", "revoke", world.key_id)
    for _ in range(3):
        world.client.get("/account")
    world.instance.stop()
    assert world.instance.run("key", "list", "--author", world.author, "--json").json()[0]["last_used_at"] is None


def test_recording_the_use_of_a_key_changes_no_etag(world):
    """Recording the use must not change the revision: a polling client would get 200 instead of 304 once a minute."""
    clock = world.instance.clock
    etags = {path: world.client.get(path).headers["ETag"] for path in ("/stats", "/videos", "/books", "/events")}
    for minute in range(1, 4):
        clock.advance(60_000)
        wait.until(lambda: last_used(world) == f"2026-07-10T12:{minute:02}:00.000Z", "the use to be written")
        for path, etag in etags.items():
            assert world.client.get(path, headers={"If-None-Match": etag}).status == 304, path


# --- durable and secret ---


@pytest.mark.parametrize("serving", [False, True])
def test_key_that_was_printed_survives_kill_9(make_viewtally, clock, serving):
    instance = make_viewtally(clock=clock)
    author = instance.add_author()
    if serving:
        instance.start()
    keys = []
    for _ in range(5):
        process = instance.command("key", "create", "--author", author, "--name", "app")
        keys.append(process.stdout.readline().decode().strip())
        process.kill()
        process.communicate()
    if serving:
        instance.kill()
    instance.start()
    with instance.client() as client:
        assert [client.get("/account", key=key).status for key in keys] == [200] * 5


@pytest.mark.sqlite_only("reads the database files")
def test_keys_appear_in_no_log_and_no_file(make_viewtally, clock):
    instance = make_viewtally({"log": {"level": "debug"}}, clock)
    world = World(instance)
    keys = [world.key, world.create()["key"], unknown_key(), world.key[:-1] + "!"]
    for key in keys:
        world.client.get("/account", key=key)
        world.authorized(f"Bearer {key}", f"Bearer {key}")
        world.authorized(target=f"/v1/account?key={key}")
        world.authorized(target=f"/{key}")
        world.authorized(f"Bearer {key}", target="/v1/videos?limit=x")
        instance.exchange(f"GET /{key} HTTP/1.1\r\nAuthorization Bearer {key}\r\n\r\n".encode())
    world.instance.run("key", "revoke", world.key_id)
    world.client.get("/account")
    log = instance.log
    listing = repr(instance.run("key", "list", "--author", world.author, "--json"))
    running = {path.name: path.read_bytes() for path in instance.directory.glob("viewtally.db*")}
    assert "viewtally.db-wal" in running
    instance.stop()
    for key in keys:
        secret = key[len(PREFIX):-4]
        assert secret not in log + instance.log and secret not in listing
        for part in (secret, secret[10:30]):
            for name, data in {**running, "after": (instance.directory / "viewtally.db").read_bytes()}.items():
                assert part.encode() not in data, name
    world.client.close()
