"""rediss://: TLS to a real Redis, and everything that can be wrong with it."""
import shutil
import signal
import socket
import threading

import pytest

from lib import wait
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


class Reached:
    """A server of ours that was told to use the Redis at `url`."""

    def __init__(self, make_viewtally, url, env=None, **options):
        self.server = make_viewtally({"limits": {"requests_per_minute": 5}, "redis": {"url": url, **options}})
        self.key = self.server.create_key(self.server.add_author())
        self.env = env
        self.server.start(env)

    def lines(self):
        return [line for line in self.server.log.splitlines() if " redis: " in line]

    def wait_for(self, words):
        wait.until(lambda: self.lines() and words in self.lines()[-1], f"the log to say: {words}; it says {self.lines()}")

    def wait_until_up(self):
        self.wait_for("redis: up")

    def says(self, words):
        return all(word in self.lines()[0] for word in ("redis: unavailable", *words))

    def assert_limited_by_itself(self):
        """A handshake that held the loop would last as long as the server is silent, which is for ever."""
        with self.server.client(self.key) as client:
            assert [client.get("/account").status for _ in range(6)] == [200] * 5 + [429]

    def assert_refused(self, *words):
        """One line that says why, and the requests are answered all the same."""
        wait.until(self.lines, "the log to say why")
        for _ in range(5):      # a loaded machine may let the first attempt's second pass
            if self.says(words) or not any(slow in self.lines()[0] for slow in ("no reply in time", "no reply to the handshake")):
                break
            self.server.stop()
            self.server.start(self.env)
            wait.until(self.lines, "the log to say why")
        assert self.says(words), self.lines()
        self.assert_limited_by_itself()
        assert len(self.lines()) == 1, self.lines()


def tls_redis(tmp_path, files, *options):
    return TlsRedis(tmp_path / "redis", *files, "--tls-auth-clients", "no", *options)


# --- it works ---


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_the_limit_is_in_redis(make_viewtally, tmp_path, authority, server_files, host):
    with tls_redis(tmp_path, server_files) as redis:
        reached = Reached(make_viewtally, f"rediss://{host}:{redis.port}/2", ca_file=authority.ca)
        reached.wait_until_up()
        with reached.server.client(reached.key) as client:
            assert [client.get("/account").status for _ in range(6)] == [200] * 5 + [429]
        assert "db2:keys=" in redis.call("INFO", "keyspace")
        # Lost and found again, with TLS anew.
        redis.stop()
        redis.start()
        reached.wait_until_up()


def test_authorities_are_those_of_the_system_unless_told(make_viewtally, tmp_path, authority, server_files):
    with tls_redis(tmp_path, server_files) as redis:
        Reached(make_viewtally, redis.url, env={"SSL_CERT_FILE": authority.ca}).wait_until_up()
        Reached(make_viewtally, redis.url).assert_refused("certificate", "local issuer")


def test_a_password_goes_through_tls(make_viewtally, tmp_path, authority, server_files):
    users = tmp_path / "users.acl"
    users.write_text("user default on nopass ~* +@all\nuser tally on >s3cret ~viewtally:* +@all\n")
    with tls_redis(tmp_path, server_files, "--aclfile", str(users)) as redis:
        secret = tmp_path / "secret"
        secret.write_text("s3cret\n")
        url = f"rediss://tally@127.0.0.1:{redis.port}"
        Reached(make_viewtally, url, ca_file=authority.ca, password_file=secret).wait_until_up()


def test_a_redis_that_wants_to_know_who_we_are(make_viewtally, tmp_path, authority, server_files):
    certificate, key = authority.issue("client", "DNS:viewtally")
    with TlsRedis(tmp_path / "redis", *server_files, "--tls-ca-cert-file", authority.ca, "--tls-auth-clients", "yes") as redis:
        Reached(make_viewtally, redis.url, ca_file=authority.ca, client_cert_file=certificate, client_key_file=key).wait_until_up()
        Reached(make_viewtally, redis.url, ca_file=authority.ca).assert_refused("TLS", "certificate")


def test_a_renewed_certificate_needs_no_restart(make_viewtally, tmp_path, authority, server_files):
    other = Authority(tmp_path / "other", "Other CA")
    trusted = tmp_path / "trusted.crt"
    shutil.copy(other.ca, trusted)
    with tls_redis(tmp_path, server_files) as redis:
        reached = Reached(make_viewtally, redis.url, ca_file=trusted)
        reached.wait_for("certificate")
        shutil.copy(authority.ca, trusted)
        reached.wait_until_up()


# --- it does not ---


def test_who_is_not_vouched_for(make_viewtally, tmp_path, server_files):
    other = Authority(tmp_path / "other", "Other CA")
    with tls_redis(tmp_path, server_files) as redis:
        Reached(make_viewtally, redis.url, ca_file=other.ca).assert_refused("certificate is not accepted")


@pytest.mark.parametrize("host, names", [("127.0.0.1", "DNS:127.0.0.1,IP:127.0.0.2"), ("localhost", "DNS:other.example,IP:127.0.0.1")],
                         ids=["address", "name"])
def test_a_certificate_of_another_host(make_viewtally, tmp_path, authority, host, names):
    with tls_redis(tmp_path, authority.issue("other-host", names)) as redis:
        Reached(make_viewtally, f"rediss://{host}:{redis.port}", ca_file=authority.ca).assert_refused("certificate", "mismatch")


def test_an_expired_certificate(make_viewtally, tmp_path, authority):
    with tls_redis(tmp_path, authority.issue("expired", "IP:127.0.0.1", days=-1)) as redis:
        Reached(make_viewtally, redis.url, ca_file=authority.ca).assert_refused("certificate has expired")


def test_a_redis_without_tls(make_viewtally, redis, authority):
    url = redis.url.replace("redis://", "rediss://")
    Reached(make_viewtally, url, ca_file=authority.ca).assert_refused("TLS: no reply to the handshake")


def test_tls_where_none_is_expected(make_viewtally, tmp_path, server_files):
    with tls_redis(tmp_path, server_files) as redis:
        Reached(make_viewtally, redis.url.replace("rediss://", "redis://")).assert_refused()


def test_a_handshake_that_is_never_answered(make_viewtally, authority):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        reached = Reached(make_viewtally, f"rediss://127.0.0.1:{silent.getsockname()[1]}", ca_file=authority.ca)
        reached.assert_limited_by_itself()      # while the first attempt is under way
        wait.until(reached.lines, "the log to say why")
        assert "redis: unavailable, limiting per process (TLS: no reply to the handshake;" in reached.lines()[0]


def test_a_connection_that_ends_in_the_handshake(make_viewtally, authority):
    with socket.create_server(("127.0.0.1", 0)) as closing:
        threading.Thread(target=hang_up, args=(closing,), daemon=True).start()
        reached = Reached(make_viewtally, f"rediss://127.0.0.1:{closing.getsockname()[1]}", ca_file=authority.ca)
        reached.assert_refused("TLS")


def hang_up(listener):
    try:
        while True:
            connection, _ = listener.accept()
            connection.recv(100)
            connection.close()
    except OSError:
        pass


def test_old_protocols_are_refused(make_viewtally, tmp_path, authority, server_files):
    redis = tls_redis(tmp_path, server_files, "--tls-protocols", "TLSv1.1", "--tls-ciphers", "DEFAULT@SECLEVEL=0")
    try:
        redis.start()
    except AssertionError:
        pytest.skip("this Redis does not speak TLS 1.1 either")
    try:
        Reached(make_viewtally, redis.url, ca_file=authority.ca).assert_refused("TLS")
    finally:
        redis.stop()


def test_paused_and_killed(make_viewtally, tmp_path, authority, server_files):
    with tls_redis(tmp_path, server_files) as redis:
        reached = Reached(make_viewtally, redis.url, ca_file=authority.ca)
        reached.wait_until_up()
        redis.signal(signal.SIGSTOP)
        reached.assert_limited_by_itself()
        reached.wait_for("redis: unavailable")
        redis.signal(signal.SIGCONT)
        reached.wait_until_up()
        redis.kill()
        reached.wait_for("redis: unavailable")


# --- configuration ---


def test_files_that_do_not_fit_are_refused_at_start(make_viewtally, tmp_path, authority, server_files):
    certificate, key = authority.issue("mine", "DNS:x")
    for options, words in [
        ({"ca_file": tmp_path / "missing"}, ("ca_file", "missing")),
        ({"ca_file": key}, ("ca_file",)),
        ({"client_cert_file": certificate}, ("client_key_file",)),
        ({"client_key_file": key}, ("client_cert_file",)),
        ({"client_cert_file": certificate, "client_key_file": server_files[1]}, ("client_key_file", "mismatch")),
        ({"client_cert_file": certificate, "client_key_file": authority.ca}, ("client_key_file",)),
    ]:
        refused = make_viewtally({"redis": {"url": "rediss://127.0.0.1", **options}}).run("serve", "--create", status=2)
        assert all(word in refused.err for word in ("[redis]", *words)), refused.err


@pytest.mark.parametrize("url, word", [("rediss://", "host"), ("rediss://h:0", "port"), ("rediss://h/x", "database")])
def test_a_bad_address_is_refused_at_start(make_viewtally, url, word):
    refused = make_viewtally({"redis": {"url": url}}).run("serve", "--create", status=2)
    assert "[redis] url" in refused.err and word in refused.err
