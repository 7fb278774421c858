"""rediss://: TLS to a real Redis, and each way in which it can fail."""
import contextlib
import shutil
import signal
import socket

import pytest

from lib import wait
from lib.acceptor import Acceptor
from lib.certificates import Authority
from lib.services import Redis, TlsRedis

@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    if not shutil.which("openssl") or not Redis.available():
        pytest.skip("openssl or redis-server is not installed")
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def server_files(authority):
    return authority.issue("redis", "DNS:localhost,IP:127.0.0.1")


class World:
    """A viewtally server that uses the Redis at `url`."""

    def __init__(self, make_viewtally, url, env=None, **options):
        self.server = make_viewtally({"limits": {"requests_per_minute": 5}, "redis": {"url": url, **options}})
        self.key = self.server.create_key(self.server.add_author())
        self.env = env
        self.server.start(env)

    def lines(self):
        return [line for line in self.server.log.splitlines() if " redis: " in line]

    def wait_for(self, words):
        wait.until(lambda: self.lines() and words in self.lines()[-1], f"the log line {words!r}; the log is {self.lines()}")

    def wait_until_up(self):
        self.wait_for("redis: up")

    def has_logged(self, words):
        """Returns True if the first log line about Redis contains all words."""
        return all(word in self.lines()[0] for word in ("redis: unavailable", *words))

    def assert_limits_in_process(self):
        """Sends requests, which would never complete if the handshake blocked the loop."""
        with self.server.client(self.key) as client:
            assert [client.get("/account").status for _ in range(6)] == [200] * 5 + [429]

    def wait_for_reason(self, *words):
        """Restarts the server if its first attempt was too slow to fail for the expected reason."""
        wait.until(self.lines, "a log line")
        for _ in range(5):      # on a loaded machine the first attempt may time out
            if self.has_logged(words) or not any(slow in self.lines()[0] for slow in ("no reply in time", "no reply to the handshake")):
                break
            self.server.stop()
            self.server.start(self.env)
            wait.until(self.lines, "a log line")
        assert self.has_logged(words), self.lines()

    def assert_unavailable(self, *words):
        """Asserts that the log has one line with the reason, and that requests are served."""
        self.wait_for_reason(*words)
        self.assert_limits_in_process()
        assert len(self.lines()) == 1, self.lines()


def tls_redis(tmp_path, files, *options):
    return TlsRedis(tmp_path / "redis", *files, "--tls-auth-clients", "no", *options)


# --- success ---


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_rate_limit_works_over_tls(make_viewtally, tmp_path, authority, server_files, host):
    with tls_redis(tmp_path, server_files) as redis:
        world = World(make_viewtally, f"rediss://{host}:{redis.port}/2", ca_file=authority.ca)
        world.wait_until_up()
        with world.server.client(world.key) as client:
            assert [client.get("/account").status for _ in range(6)] == [200] * 5 + [429]
        assert "db2:keys=" in redis.call("INFO", "keyspace")
        # Reconnecting uses TLS again.
        redis.stop()
        world.wait_for("redis: unavailable")
        redis.start()
        world.wait_until_up()


def test_system_authorities_are_trusted_by_default(make_viewtally, tmp_path, authority, server_files):
    with tls_redis(tmp_path, server_files) as redis:
        World(make_viewtally, redis.url, env={"SSL_CERT_FILE": authority.ca}).wait_until_up()
        World(make_viewtally, redis.url).assert_unavailable("certificate", "local issuer")


def test_password_is_sent_over_tls(make_viewtally, tmp_path, authority, server_files):
    users = tmp_path / "users.acl"
    users.write_text("user default on nopass ~* +@all\nuser tally on >s3cret ~viewtally:* +@all\n")
    with tls_redis(tmp_path, server_files, "--aclfile", str(users)) as redis:
        secret = tmp_path / "secret"
        secret.write_text("s3cret\n")
        url = f"rediss://tally@127.0.0.1:{redis.port}"
        World(make_viewtally, url, ca_file=authority.ca, password_file=secret).wait_until_up()


def test_client_certificate_is_sent_to_redis(make_viewtally, tmp_path, authority, server_files):
    certificate, key = authority.issue("client", "DNS:viewtally")
    with TlsRedis(tmp_path / "redis", *server_files, "--tls-ca-cert-file", authority.ca, "--tls-auth-clients", "yes") as redis:
        World(make_viewtally, redis.url, ca_file=authority.ca, client_cert_file=certificate, client_key_file=key).wait_until_up()
        World(make_viewtally, redis.url, ca_file=authority.ca).assert_unavailable("TLS", "certificate")


def test_replaced_ca_file_needs_no_restart(make_viewtally, tmp_path, authority, server_files):
    other = Authority(tmp_path / "other", "Other CA")
    trusted = tmp_path / "trusted.crt"
    shutil.copy(other.ca, trusted)
    with tls_redis(tmp_path, server_files) as redis:
        world = World(make_viewtally, redis.url, ca_file=trusted)
        world.wait_for("certificate")
        shutil.copy(authority.ca, trusted)
        world.wait_until_up()


# --- failure ---


def test_certificate_of_an_unknown_authority_is_rejected(make_viewtally, tmp_path, server_files):
    other = Authority(tmp_path / "other", "Other CA")
    with tls_redis(tmp_path, server_files) as redis:
        World(make_viewtally, redis.url, ca_file=other.ca).assert_unavailable("certificate is not accepted")


@pytest.mark.parametrize("host, names", [("127.0.0.1", "DNS:127.0.0.1,IP:127.0.0.2"), ("localhost", "DNS:other.example,IP:127.0.0.1")],
                         ids=["address", "name"])
def test_certificate_of_another_host_is_rejected(make_viewtally, tmp_path, authority, host, names):
    with tls_redis(tmp_path, authority.issue("other-host", names)) as redis:
        World(make_viewtally, f"rediss://{host}:{redis.port}", ca_file=authority.ca).assert_unavailable("certificate", "mismatch")


def test_expired_certificate_is_rejected(make_viewtally, tmp_path, authority):
    with tls_redis(tmp_path, authority.issue("expired", "IP:127.0.0.1", days=-1)) as redis:
        World(make_viewtally, redis.url, ca_file=authority.ca).assert_unavailable("certificate has expired")


def test_redis_without_tls_is_reported_as_unavailable(make_viewtally, redis, authority):
    url = redis.url.replace("redis://", "rediss://")
    World(make_viewtally, url, ca_file=authority.ca).assert_unavailable("TLS: no reply to the handshake")


def test_redis_url_without_tls_for_a_tls_port_is_reported_as_unavailable(make_viewtally, tmp_path, server_files):
    with tls_redis(tmp_path, server_files) as redis:
        World(make_viewtally, redis.url.replace("rediss://", "redis://")).assert_unavailable()


def test_silent_handshake_does_not_block_requests(make_viewtally, authority):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        world = World(make_viewtally, f"rediss://127.0.0.1:{silent.getsockname()[1]}", ca_file=authority.ca)
        world.assert_limits_in_process()      # during the first attempt
        world.wait_for_reason("limiting per process (TLS: no reply to the handshake;")


def test_connection_closed_during_the_handshake_is_reported(make_viewtally, authority):
    with contextlib.closing(Acceptor(close_after_hello)) as closing:
        world = World(make_viewtally, f"rediss://127.0.0.1:{closing.port}", ca_file=authority.ca)
        world.assert_unavailable("TLS")


def close_after_hello(connection):
    with connection:
        connection.recv(100)


def test_tls_1_1_is_rejected(make_viewtally, tmp_path, authority, server_files):
    redis = tls_redis(tmp_path, server_files, "--tls-protocols", "TLSv1.1", "--tls-ciphers", "DEFAULT@SECLEVEL=0")
    try:
        redis.start()
    except AssertionError:
        pytest.skip("this Redis does not support TLS 1.1")
    try:
        World(make_viewtally, redis.url, ca_file=authority.ca).assert_unavailable("TLS")
    finally:
        redis.stop()


def test_server_reconnects_over_tls_after_redis_was_paused_or_killed(make_viewtally, tmp_path, authority, server_files):
    with tls_redis(tmp_path, server_files) as redis:
        world = World(make_viewtally, redis.url, ca_file=authority.ca)
        world.wait_until_up()
        redis.signal(signal.SIGSTOP)
        world.assert_limits_in_process()
        world.wait_for("redis: unavailable")
        redis.signal(signal.SIGCONT)
        world.wait_until_up()
        redis.kill()
        world.wait_for("redis: unavailable")
        redis.start()
        world.wait_until_up()


# --- configuration ---


@pytest.mark.sqlite_only("creates the database with serve --create")
def test_unusable_tls_files_are_rejected_at_start(make_viewtally, tmp_path, authority, server_files):
    certificate, key = authority.issue("mine", "DNS:x")
    for options, words in [
        ({"ca_file": tmp_path / "missing"}, ("ca_file", "missing")),
        ({"ca_file": key}, ("ca_file",)),
        ({"client_cert_file": certificate}, ("client_key_file",)),
        ({"client_key_file": key}, ("client_cert_file",)),
        ({"client_cert_file": certificate, "client_key_file": server_files[1]}, ("client_key_file", "mismatch")),
        ({"client_cert_file": certificate, "client_key_file": authority.ca}, ("client_key_file",)),
    ]:
        rejected = make_viewtally({"redis": {"url": "rediss://127.0.0.1", **options}}).run("serve", "--create", status=2)
        assert all(word in rejected.err for word in ("[redis]", *words)), rejected.err


@pytest.mark.parametrize("url, word", [("rediss://", "host"), ("rediss://h:0", "port"), ("rediss://h/x", "database")])
def test_invalid_url_is_rejected_at_start(make_viewtally, url, word):
    rejected = make_viewtally({"redis": {"url": url}}).run("serve", "--create", status=2)
    assert "[redis] url" in rejected.err and word in rejected.err
