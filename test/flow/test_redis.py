"""The rate limit in Redis: shared by processes, exact, and never in the way when Redis is not well."""
import signal
import socket
import threading

import pytest

from lib import wait
from lib.services import Redis

LIMIT = 60


class World:
    """Two servers on one database and one Redis, and a key."""

    def __init__(self, make_viewtally, url, **options):
        redis = {"url": url, **options}
        self.first = make_viewtally({"limits": {"requests_per_minute": LIMIT}, "redis": redis})
        self.key = self.first.create_key(self.first.add_author())
        store = {"path": str(self.first.directory / "viewtally.db")}
        self.second = make_viewtally({"limits": {"requests_per_minute": LIMIT}, "redis": redis, "store": store})
        self.first.start()
        self.second.start()

    def client(self, server=None):
        return (server or self.first).client(self.key)

    def wait_until_up(self):
        for server in (self.first, self.second):
            wait.until(lambda s=server: last_word(s) == "up", "Redis to be up")

    def wait_until_away(self):
        """A server notices when it asks."""
        with self.client() as client:
            wait.until(lambda: client.get("/account") and last_word(self.first) == "away", "Redis to be away")


def last_word(server):
    lines = [line for line in server.log.splitlines() if " redis: " in line]
    return None if not lines else "up" if lines[-1].endswith("redis: up") else "away"


@pytest.fixture
def world(make_viewtally, redis):
    made = World(make_viewtally, redis.url)
    made.wait_until_up()
    return made


def remaining(answer):
    return int(answer.headers["X-RateLimit-Remaining"])


WINDOWS, BEFORE = "viewtally:rate", "viewtally:rate:before"


def field(redis, windows=WINDOWS):
    """The only key's."""
    return next(name for name in redis.call("HKEYS", windows) if name != "clock")


def now_ms(redis):
    seconds, micros = (int(n) for n in redis.call("TIME"))
    return seconds * 1000 + micros // 1000


def packed(*instants):
    return b"".join(instant.to_bytes(6, "big") for instant in instants)


def plant(redis, ages_ms):
    """Makes the window of the only key hold requests of these ages."""
    now = now_ms(redis)
    instants = [now - age for age in sorted(ages_ms, reverse=True)]
    redis.call("HSET", WINDOWS, field(redis), packed(*instants), "clock", packed(now, max([now, *instants])))


def grow_old(redis, age_ms):
    """Lets the hash have begun that long ago."""
    now = now_ms(redis)
    redis.call("HSET", WINDOWS, "clock", packed(now - age_ms, now))


# --- one window for all ---


def test_processes_share_one_window(world):
    with world.client(world.first) as one, world.client(world.second) as two:
        assert [remaining(client.get("/account")) for client in (one, two, one, two)] == [59, 58, 57, 56]


def test_the_window_slides_exactly(world, redis):
    with world.client() as client:
        client.get("/account")
        plant(redis, [59_000] * 3 + [10_000] * 57)
        refused = client.get("/account")
        assert refused.status == 429 and refused.headers["Retry-After"] == "1"
    with world.client(world.second) as client:
        # The three oldest are left behind by now: 57 stand, so three pass and the fourth does not.
        plant(redis, [60_001] * 3 + [10_000] * 57)
        answers = [client.get("/account") for _ in range(4)]
        assert [a.status for a in answers] == [200, 200, 200, 429]
        assert 49 <= int(answers[3].headers["Retry-After"]) <= 50


def test_what_redis_refused_is_refused_without_asking_again(world, redis):
    with world.client() as client:
        client.get("/account")
        plant(redis, [5_000] * LIMIT)
        assert client.get("/account").status == 429
        asked = evals(redis)
        waits = [client.get("/account") for _ in range(20)]
        assert {a.status for a in waits} == {429}
        assert all(54 <= int(a.headers["Retry-After"]) <= 55 for a in waits)
        assert evals(redis) == asked


def evals(redis):
    for line in redis.call("INFO", "commandstats").splitlines():
        if line.startswith("cmdstat_evalsha:"):
            return int(line.split("calls=")[1].split(",")[0])
    return 0


def test_a_redis_clock_that_was_set_back_blocks_nobody(world, redis):
    with world.client() as client:
        client.get("/account")
        plant(redis, [-3_600_000] * 10)  # an hour ahead
        answers = [client.get("/account") for _ in range(51)]
        assert [a.status for a in answers] == [200] * 50 + [429]
        assert int(answers[50].headers["Retry-After"]) <= 60


def test_windows_leave_a_minute_after_their_hash(world, redis):
    with world.client() as client:
        client.get("/account")
        plant(redis, [50_000] * 2)
        grow_old(redis, 60_000)
        assert remaining(client.get("/account")) == LIMIT - 3       # taken over
        assert redis.call("HGET", BEFORE, field(redis)) and redis.call("HLEN", WINDOWS) == 2
        assert 0 < redis.call("PTTL", BEFORE) <= redis.call("PTTL", WINDOWS) <= 120_000
        grow_old(redis, 59_000)
        assert remaining(client.get("/account")) == LIMIT - 4
        assert redis.call("HGET", BEFORE, field(redis)) != redis.call("HGET", WINDOWS, field(redis))
        plant(redis, [])
        grow_old(redis, 120_000)
        assert remaining(client.get("/account")) == LIMIT - 1       # what stood in BEFORE is gone
        assert redis.call("HGET", BEFORE, field(redis)) == ""


def test_a_key_that_was_quiet_for_a_change_of_hashes_is_still_counted(world, redis):
    with world.client() as client, world.client(world.second) as other:
        client.get("/account")
        plant(redis, [10_000] * LIMIT)
        name = field(redis)
        redis.call("RENAME", WINDOWS, BEFORE)
        assert client.get("/account").status == other.get("/account").status == 429
        assert redis.call("HKEYS", WINDOWS) == ["clock"] and sorted(redis.call("HKEYS", BEFORE)) == sorted([name, "clock"])


def test_a_redis_that_lost_everything_begins_anew(world, redis):
    with world.client() as client:
        for _ in range(5):
            client.get("/account")
        redis.call("FLUSHALL")
        assert remaining(client.get("/account")) == 59


# --- Redis is not well ---


def assert_served(world, count=30):
    """No request fails, and none waits until Redis is well again."""
    with world.client() as client:
        assert {client.get("/account").status for _ in range(count)} <= {200, 429}


def test_redis_stopped_and_started_again(world, redis):
    redis.stop()
    assert_served(world)
    world.wait_until_away()
    redis.start()
    world.wait_until_up()
    assert world.first.log.count("redis: away") == 1


def test_redis_paused(world, redis):
    redis.signal(signal.SIGSTOP)
    assert_served(world)
    assert last_word(world.first) == "away"
    redis.signal(signal.SIGCONT)
    world.wait_until_up()
    with world.client() as client:
        assert client.get("/account").status == 200


def test_the_limit_holds_in_each_process_while_redis_is_away(world, redis):
    with world.client() as client:
        for _ in range(20):
            assert client.get("/account").status == 200
        redis.kill()
        statuses = [client.get("/account").status for _ in range(60)]
    # The window of the process was fed all the time, so the 20 of before count.
    assert statuses.count(200) == LIMIT - 20 and statuses[:40] == [200] * 40


@pytest.mark.parametrize("spoil, mend", [
    (("REPLICAOF", "127.0.0.1", "1"), ("REPLICAOF", "NO", "ONE")),
    (("CONFIG", "SET", "maxmemory", "1"), ("CONFIG", "SET", "maxmemory", "0")),
    (("CONFIG", "SET", "min-replicas-to-write", "3"), ("CONFIG", "SET", "min-replicas-to-write", "0")),
], ids=["read-only", "out of memory", "too few replicas"])
def test_redis_that_takes_no_writes(world, redis, spoil, mend):
    redis.call(*spoil)
    assert_served(world)
    world.wait_until_away()
    redis.call(*mend)
    world.wait_until_up()


def test_scripts_that_redis_forgot_come_back(world, redis):
    redis.call("SCRIPT", "FLUSH")
    assert_served(world, 5)
    world.wait_until_up()
    with world.client() as client:
        before = evals(redis)
        assert client.get("/account").status == 200
        wait.until(lambda: evals(redis) > before, "the script to run again")


def test_wrong_type_and_garbage_in_the_key(world, redis):
    with world.client() as client:
        client.get("/account")
        name = field(redis)
        redis.call("DEL", WINDOWS)
        redis.call("LPUSH", WINDOWS, "x")
        assert client.get("/account").status == 200
        redis.call("DEL", WINDOWS)
        world.wait_until_up()
        for garbage in ("no instants at all", "x", ""):
            redis.call("HSET", WINDOWS, name, garbage)
            assert client.get("/account").status in (200, 429)
            redis.call("HSET", WINDOWS, "clock", garbage)
            redis.call("HDEL", WINDOWS, name)
            assert remaining(client.get("/account")) == LIMIT - 1
            assert world.first.log.count("away") == 1


# --- addresses and passwords ---


class Guarded(Redis):
    """A Redis that answers nobody without a password: being there is all that can be seen from outside."""

    def ready(self):
        return self._accepts()


def guarded(tmp_path, *options):
    if not Redis.available():
        pytest.skip("redis-server is not installed")
    return Guarded(tmp_path / "redis", *options)


@pytest.mark.parametrize("unix", [True, False], ids=["unix socket", "user of an access list"])
def test_password_database_and_prefix(make_viewtally, tmp_path, unix):
    secret, users = tmp_path / "secret", tmp_path / "users.acl"
    secret.write_text("s3cret\n")
    users.write_text("user default off\nuser tally on >s3cret ~tally:* +@all\n")
    with guarded(tmp_path, *(["--requirepass", "s3cret"] if unix else ["--aclfile", str(users)])) as service:
        url = f"unix:{service.socket_path}?database=3" if unix else f"redis://tally@127.0.0.1:{service.port}/3"
        instance = make_viewtally({"limits": {"requests_per_minute": 5}, "redis": {
            "url": url, "password_file": str(secret), "key_prefix": "tally:"}})
        key = instance.create_key(instance.add_author())
        instance.start()
        wait.until(lambda: last_word(instance) == "up", "Redis to be up")
        with instance.client(key) as client:
            assert [client.get("/account").status for _ in range(6)] == [200] * 5 + [429]
        assert last_word(instance) == "up" and "s3cret" not in instance.log


def test_a_wrong_password_is_said_once_and_harms_nobody(make_viewtally, tmp_path):
    with guarded(tmp_path, "--requirepass", "right") as service:
        instance = make_viewtally({"limits": {"requests_per_minute": 5}, "redis": {
            "url": f"redis://default:wrong@127.0.0.1:{service.port}/0"}})
        key = instance.create_key(instance.add_author())
        instance.start()
        with instance.client(key) as client:
            assert [client.get("/account").status for _ in range(6)] == [200] * 5 + [429]
        wait.until(lambda: last_word(instance) == "away", "the log to say so")
        assert "wrong" not in instance.log.replace("WRONGPASS", "")


@pytest.mark.parametrize("url, word", [
    ("http://127.0.0.1", "redis://"), ("redis://", "host"), ("redis://h:0", "port"), ("redis://h:x", "port"),
    ("redis://h/x", "database"), ("unix:", "path"), ("unix:/x?y=1", "database"), ("redis://[::1", "brackets"),
])
def test_a_bad_address_is_refused_at_start(make_viewtally, url, word):
    instance = make_viewtally({"redis": {"url": url}})
    refused = instance.run("serve", "--create", status=2)
    assert "[redis] url" in refused.err and word in refused.err


# --- a server that is no Redis ---


class Impostor:
    """Accepts connections and plays a part: answers each command with the same bytes, or never."""

    def __init__(self, reply):
        self.reply = reply
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.port = self.socket.getsockname()[1]
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection):
        try:
            while connection.recv(65536):
                if self.reply:
                    connection.sendall(self.reply)
        except OSError:
            pass

    def close(self):
        self.socket.close()


@pytest.mark.parametrize("reply", [
    b"", b"+OK\r\n", b"$-1\r\n", b"*3\r\n:1\r\n:2\r\n", b"?what\r\n", b"-LOADING Redis is loading\r\n", b"HTTP/1.1 400 Bad\r\n\r\n",
    b"*-1\r\n", b"$99999999999999\r\nx", b"*1\r\n" * 100, b":1\r\n:2\r\n:3\r\n" * 50,
], ids=["silence", "ok", "nil", "cut", "garbage", "loading", "http", "nil array", "huge", "nested", "too many"])
def test_answers_that_are_none(make_viewtally, reply):
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
