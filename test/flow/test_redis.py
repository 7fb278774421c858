"""The rate limit in Redis: exact, shared by all processes, and replaced by the process's own windows when Redis fails."""
import signal
import threading

import pytest

from lib import wait
from lib.acceptor import Acceptor
from lib.services import Redis, with_clock

LIMIT = 60


class World:
    """Two servers that share one database and one Redis, and a key."""

    def __init__(self, make_viewtally, service, clock=None):
        self.redis = service
        redis = {"url": service.url}
        self.first = make_viewtally({"limits": {"requests_per_minute": LIMIT}, "redis": redis}, clock)
        self.author = self.first.add_author()
        created = self.first.run("key", "create", "--author", self.author, "--name", "test", "--json").json()
        self.key, self.key_id = created["key"], created["id"]
        self.second = make_viewtally({"limits": {"requests_per_minute": LIMIT}, "redis": redis, "store": self.first.settings["store"]}, clock)
        self.other_key = self.first.create_key(self.author)
        self.first.start()
        self.second.start()

    @property
    def window(self):
        """The Redis key of the window."""
        return f"viewtally:{{limit}}:{self.key_id}"

    def client(self, server=None):
        return (server or self.first).client(self.key)

    def wait_until_up(self):
        for server in (self.first, self.second):
            wait.until(lambda s=server: last_state(s) == "up", "Redis to be up")

    def wait_until_used_again(self):
        """Sends requests with another key, because after failed calls a server logs "up" only when a call has
        succeeded."""
        for server in (self.first, self.second):
            with server.client(self.other_key) as client:
                wait.until(lambda s=server, c=client: c.get("/account") and last_state(s) == "up", "Redis to be used again")

    def wait_until_unavailable(self):
        """Sends requests, because the server notices the failure only when it calls Redis."""
        with self.client() as client:
            wait.until(lambda: client.get("/account") and last_state(self.first) == "unavailable", "Redis to be unavailable")

    def fill(self, ages_ms):
        """Replaces the window in Redis by one with requests of these ages."""
        now = now_ms(self.redis)
        self.redis.call("SET", self.window, packed(*(now - age for age in sorted(ages_ms, reverse=True))))


def last_state(server):
    lines = [line for line in server.log.splitlines() if " redis: " in line]
    return None if not lines else "up" if lines[-1].endswith("redis: up") else "unavailable"


@pytest.fixture
def world(make_viewtally, redis):
    made = World(make_viewtally, redis)
    made.wait_until_up()
    return made


@pytest.fixture
def still(clock):
    """Both clocks stand still until the test moves them, so no call to Redis is late, however loaded the machine is."""
    clock.set_monotonic(9_000_000)
    return clock


@pytest.fixture
def exact(make_viewtally, tmp_path, still):
    """A World whose servers and Redis use the clock `still`."""
    if not Redis.available():
        pytest.skip("redis-server is not installed")
    with with_clock(Redis(tmp_path / "redis"), still) as service:
        made = World(make_viewtally, service, still)
        made.wait_until_up()
        yield made


def remaining(response):
    return int(response.headers["X-RateLimit-Remaining"])


def now_ms(redis):
    seconds, micros = (int(n) for n in redis.call("TIME"))
    return seconds * 1000 + micros // 1000


def packed(*times):
    return b"".join(time_ms.to_bytes(6, "big") for time_ms in times)


# --- one window for all processes ---


def test_processes_share_one_window(exact):
    with exact.client(exact.first) as one, exact.client(exact.second) as two:
        assert [remaining(client.get("/account")) for client in (one, two, one, two)] == [59, 58, 57, 56]
    assert exact.redis.call("STRLEN", exact.window) == 4 * 6
    assert exact.redis.call("PTTL", exact.window) == 61_000


def test_window_slides_exactly(exact):
    with exact.client() as client:
        exact.fill([59_000] * 3 + [10_000] * 57)
        rejected = client.get("/account")
        assert rejected.status == 429 and rejected.headers["Retry-After"] == "1"
    with exact.client(exact.second) as client:
        # The three oldest requests are no longer in the window and 57 are, so three are admitted and the fourth is
        # rejected.
        exact.fill([60_000] * 3 + [10_000] * 57)
        responses = [client.get("/account") for _ in range(4)]
        assert [r.status for r in responses] == [200, 200, 200, 429]
        assert responses[3].headers["Retry-After"] == "50"


def test_rejection_is_cached_for_a_second(exact, still):
    with exact.client() as client:
        client.get("/account")
        exact.fill([5_000] * LIMIT)
        before = evalsha_calls(exact.redis)
        responses = [client.get("/account") for _ in range(20)]
        assert {(r.status, r.headers["Retry-After"]) for r in responses} == {(429, "55")}
        exact.redis.call("DEL", exact.window)
        still.advance(999)
        assert client.get("/account").status == 429
        assert evalsha_calls(exact.redis) == before + 1
        still.advance(1)
        assert client.get("/account").status == 200


def evalsha_calls(redis):
    for line in redis.call("INFO", "commandstats").splitlines():
        if line.startswith("cmdstat_evalsha:"):
            return int(line.split("calls=")[1].split(",")[0])
    return 0


def test_moving_the_clock_of_redis_back_blocks_no_key(exact):
    with exact.client() as client:
        exact.fill([-3_600_000] * 10)  # an hour ahead
        responses = [client.get("/account") for _ in range(51)]
        assert [r.status for r in responses] == [200] * 50 + [429]
        assert int(responses[50].headers["Retry-After"]) <= 60


def test_windows_start_empty_after_redis_lost_its_data(exact):
    with exact.client() as client:
        for _ in range(5):
            client.get("/account")
        exact.redis.call("FLUSHALL")
        assert remaining(client.get("/account")) == 59


# --- Redis fails ---


def assert_limited(world):
    """Asserts that no request fails or waits until Redis has recovered, and that the process enforces the limit."""
    with world.client() as client:
        assert [client.get("/account").status for _ in range(LIMIT + 5)] == [200] * LIMIT + [429] * 5


def test_process_enforces_the_limit_while_redis_is_stopped(exact):
    before = exact.first.log.count("redis: unavailable")
    exact.redis.stop()
    assert_limited(exact)
    exact.wait_until_unavailable()
    exact.redis.start()
    exact.wait_until_used_again()
    assert exact.first.log.count("redis: unavailable") == before + 1


def test_process_enforces_the_limit_while_redis_is_paused(world, redis):
    redis.signal(signal.SIGSTOP)
    assert_limited(world)
    assert last_state(world.first) == "unavailable"
    redis.signal(signal.SIGCONT)
    world.wait_until_used_again()


def test_windows_in_the_process_include_requests_counted_by_redis(exact):
    with exact.client() as client:
        for _ in range(20):
            assert client.get("/account").status == 200
        exact.redis.kill()
        statuses = [client.get("/account").status for _ in range(60)]
    assert statuses.count(200) == LIMIT - 20 and statuses[:40] == [200] * 40


@pytest.mark.parametrize("spoil, mend", [
    (("REPLICAOF", "127.0.0.1", "1"), ("REPLICAOF", "NO", "ONE")),
    (("CONFIG", "SET", "maxmemory", "1"), ("CONFIG", "SET", "maxmemory", "0")),
    (("CONFIG", "SET", "min-replicas-to-write", "3"), ("CONFIG", "SET", "min-replicas-to-write", "0")),
], ids=["read-only", "out of memory", "too few replicas"])
def test_process_enforces_the_limit_while_redis_rejects_writes(world, redis, spoil, mend):
    redis.call(*spoil)
    assert_limited(world)
    world.wait_until_unavailable()
    redis.call(*mend)
    world.wait_until_used_again()


def test_scripts_are_loaded_again_after_script_flush(world, redis):
    redis.call("SCRIPT", "FLUSH")
    with world.client() as client:
        assert [client.get("/account").status for _ in range(5)] == [200] * 5
    world.wait_until_used_again()
    with world.client() as client:
        before = evalsha_calls(redis)
        wait.until(lambda: client.get("/account").status == 200 and evalsha_calls(redis) > before, "the script to run again")


@pytest.mark.parametrize("garbage", [("SET", "no times at all"), ("SET", "x"), ("SET", ""), ("LPUSH", "x")], ids=str)
def test_invalid_window_in_redis_is_replaced(exact, garbage):
    before = exact.first.log.count("redis: ")
    exact.redis.call(garbage[0], exact.window, garbage[1])
    with exact.client() as client:
        assert remaining(client.get("/account")) == LIMIT - 1
    assert exact.first.log.count("redis: ") == before


# --- addresses and passwords ---


class Guarded(Redis):
    """A Redis that requires a password. Without the password, ready() can only check that its port accepts
    connections."""

    def ready(self):
        return self._accepts()


def guarded(tmp_path, *options):
    if not Redis.available():
        pytest.skip("redis-server is not installed")
    return Guarded(tmp_path / "redis", *options)


@pytest.mark.parametrize("unix", [True, False], ids=["unix socket", "user of an access list"])
def test_password_database_and_prefix_are_used(make_viewtally, tmp_path, still, unix):
    secret, users = tmp_path / "secret", tmp_path / "users.acl"
    secret.write_text("s3cret\n")
    users.write_text("user default off\nuser tally on >s3cret ~tally:* +@all\n")
    with guarded(tmp_path, *(["--requirepass", "s3cret"] if unix else ["--aclfile", str(users)])) as service:
        url = f"unix:{service.socket_path}?database=3" if unix else f"redis://tally@127.0.0.1:{service.port}/3"
        instance = make_viewtally({"limits": {"requests_per_minute": 5}, "redis": {
            "url": url, "password_file": str(secret), "key_prefix": "tally:"}}, still)
        key = instance.create_key(instance.add_author())
        instance.start()
        wait.until(lambda: last_state(instance) == "up", "Redis to be up")
        with instance.client(key) as client:
            assert [client.get("/account").status for _ in range(6)] == [200] * 5 + [429]
        assert last_state(instance) == "up" and "s3cret" not in instance.log


def test_process_enforces_the_limit_if_the_password_of_redis_is_wrong(make_viewtally, tmp_path):
    with guarded(tmp_path, "--requirepass", "right") as service:
        instance = make_viewtally({"limits": {"requests_per_minute": 5}, "redis": {
            "url": f"redis://default:wrong@127.0.0.1:{service.port}/0"}})
        key = instance.create_key(instance.add_author())
        instance.start()
        with instance.client(key) as client:
            assert [client.get("/account").status for _ in range(6)] == [200] * 5 + [429]
        wait.until(lambda: last_state(instance) == "unavailable", "Redis to be unavailable")
        assert "wrong" not in instance.log.replace("WRONGPASS", "")


def test_missing_password_is_named_as_the_cause_if_select_fails(make_viewtally, tmp_path):
    with guarded(tmp_path, "--requirepass", "right") as service:
        instance = make_viewtally({"redis": {"url": f"redis://127.0.0.1:{service.port}/1"}})
        instance.add_author()
        instance.start()
        wait.until(lambda: last_state(instance) == "unavailable", "Redis to be unavailable")
        assert "SELECT failed: NOAUTH" in instance.log and "the password in [redis] password" in instance.log


@pytest.mark.parametrize("url, word", [
    ("http://127.0.0.1", "redis://"), ("redis://", "host"), ("redis://h:0", "port"), ("redis://h:x", "port"),
    ("redis://h/x", "such as /0"), ("redis://h/1000001", "from 0 to 1000000"), ("unix:/x?database=y", "such as ?database=0"),
    ("unix:", "path"), ("unix:/x?y=1", "database"), ("redis://[::1", "brackets"),
])
def test_invalid_url_is_rejected_at_start(make_viewtally, url, word):
    instance = make_viewtally({"redis": {"url": url}})
    rejected = instance.run("serve", "--create", status=2)
    assert "[redis] url" in rejected.err and word in rejected.err


# --- a server that is not Redis ---


class Impostor:
    """Accepts connections and replies to each command with the same bytes, or never."""

    def __init__(self, reply):
        self.reply = reply
        self._acceptor = Acceptor(lambda connection: threading.Thread(target=self._reply, args=(connection,), daemon=True).start())
        self.port, self.close = self._acceptor.port, self._acceptor.close

    def _reply(self, connection):
        try:
            while connection.recv(65536):
                if self.reply:
                    connection.sendall(self.reply)
        except OSError:
            pass


def test_readiness_shows_characters_other_than_ascii_of_the_reply(make_viewtally):
    impostor = Impostor("-ERR nicht verf\u00fcgbar\r\n".encode())
    try:
        with make_viewtally({"redis": {"url": f"redis://127.0.0.1:{impostor.port}"}}) as instance, instance.admin() as admin:
            wait.until(lambda: "nicht verf\u00fcgbar" in admin.get("/readyz").body.decode(), "the error of Redis")
    finally:
        impostor.close()


@pytest.mark.parametrize("reply", [
    b"", b"+OK\r\n", b"$-1\r\n", b"*3\r\n:1\r\n:2\r\n", b"?what\r\n", b"-LOADING Redis is loading\r\n", b"HTTP/1.1 400 Bad\r\n\r\n",
    b"*-1\r\n", b"$99999999999999\r\nx", b"*1\r\n" * 100, b":1\r\n:2\r\n:3\r\n" * 50,
], ids=["silence", "ok", "nil", "cut", "garbage", "loading", "http", "nil array", "huge", "nested", "too many"])
def test_process_enforces_the_limit_if_the_server_is_not_redis(make_viewtally, reply):
    impostor = Impostor(reply)
    try:
        instance = make_viewtally({"limits": {"requests_per_minute": 5}, "redis": {
            "url": f"redis://127.0.0.1:{impostor.port}"}})
        key = instance.create_key(instance.add_author())
        instance.start()
        with instance.client(key) as client:
            assert [client.get("/account").status for _ in range(6)] == [200] * 5 + [429]
    finally:
        impostor.close()
