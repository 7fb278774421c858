"""A network that loses all packets between viewtally and PostgreSQL or Redis (lib/network.py). In contrast to a server
that crashes or is stopped, neither side receives a FIN or RST.

The upper bounds are those of docs/postgresql.md, docs/operating.md and docs/data-in.md, and SLACK for a busy machine.
"""
import concurrent.futures
import contextlib
import signal
import socket

import psycopg2
import pytest

from flow import test_redis
from lib import lines, postgres, wait
from lib.metrics import scrape
from lib.network import Network, Unavailable
from lib.pages import sign_up
from lib.receiver import Receiver
from lib.services import DistantRedis, Redis
from lib.spool import Spool
from lib.viewtally import Viewtally, sanitized
from lib.webhooks import connect_authors

HOLD, STALE, VANISHED = 25, 5, 30       # seconds; `[store] hold_ms`, and when each side notices that the other one is gone
SLACK = 30
RESPONSE = 10                           # no response that needs no database may take longer
AUTHOR = "A0"                           # of connect_authors()
LOST = "lost_machine"                   # the role of a command whose machine is lost during its transaction
AT_BEGIN, AT_COMMIT = 1, 2              # keys of advisory locks
PAUSES = f"""
CREATE FUNCTION pause() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(TG_ARGV[0]::bigint); RETURN NULL; END $$;
CREATE TRIGGER at_begin AFTER INSERT OR UPDATE ON barriers FOR EACH ROW WHEN (current_user = '{LOST}') EXECUTE FUNCTION pause({AT_BEGIN});
CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION pause({AT_COMMIT});
CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON api_keys DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION pause({AT_COMMIT});
"""


@pytest.fixture(scope="module")
def shared_network():
    try:
        with Network() as made:
            yield made
    except Unavailable as reason:
        pytest.skip(str(reason))


@pytest.fixture
def network(shared_network):
    yield shared_network
    shared_network.restore()


@pytest.fixture(scope="module")
def cluster(shared_network):
    """A PostgreSQL behind the network. SQL of the tests goes through its Unix socket, which still works when the network is cut."""
    if not postgres.programs():
        pytest.skip("postgresql is not installed")
    with postgres.Postgres(schema="", network=shared_network) as made:
        made.sql(f"CREATE ROLE {LOST} LOGIN SUPERUSER", database="postgres")
        yield made


@pytest.fixture
def pool(network):
    """Runs requests at the same time. Restores the network, so that they end also after a failure."""
    with concurrent.futures.ThreadPoolExecutor() as made:
        yield made
        network.restore()


class World:
    """A server behind the network, with a spool and an author who has a webhook. The server runs during all tests, so
    that each cut also shows that the server needs no restart after the earlier ones."""

    def __init__(self, cluster, receiver, directory):
        self.cluster, self.receiver, self.directory = cluster, receiver, directory
        self.readings = iter(enumerate((50_000, 100_000, 250_000, 500_000, 1_000_000), start=2))     # hour and views
        self.name = cluster.database("template0")
        # The server notices after 5 s instead of 35 s that no reply will come, if it has nothing to send.
        self.url = cluster.tcp_url(self.name, keepalives_idle=1, keepalives_interval=1)
        self.spool = Spool(directory / "spool")
        self.server = self.installation("server", self.url, refresh={"source": "spool", "spool_dir": str(self.spool.path)})
        self.server.run("migrate")
        connect_authors(self.server, receiver, 1)
        self.key = self.server.create_key(lines.uid(AUTHOR))
        cluster.sql(PAUSES, self.name)

    def installation(self, name, url, **config):
        return Viewtally(self.directory / name, {"store": {"url": url}, **config}, seams=True)

    def one(self, sql):
        return self.cluster.sql(sql, self.name)[0][0]

    def views(self):
        return self.server.client(self.key, timeout=HOLD + SLACK).get("/videos").json()["data"][0]["views"]

    def is_ready(self):
        return self.server.admin(timeout=RESPONSE).get("/readyz").status == 200

    def is_idle(self):
        """Returns True if no run is in progress, and all events are delivered."""
        return (not self.spool.waiting and self.one("SELECT count(*) FROM refresh_runs WHERE outcome IS NULL") == "0"
                and len(self.receiver.events()) == int(self.one("SELECT count(*) FROM events")))

    def start(self):
        self.server.start()
        wait.until(self.is_ready, "the server to be ready")
        wait.until(lambda: self.one("SELECT count(*) FROM refresh_runs WHERE outcome = 0") == "1" and self.is_idle(), "the first run and its deliveries")

    def feed_spool(self):
        """Moves a reading into the spool, which creates an event because the views reach another milestone. Returns the views."""
        hour, views = next(self.readings)
        self.spool.drop(f"{views}.ndjson", [lines.reading(AUTHOR, f"2026-07-09T{hour:02}:00:00Z", views)])
        return views

    def check_works(self, views):
        """Checks that the spool file with these views is applied and that its event is delivered, each exactly once."""
        wait.until(lambda: f"{views}.ndjson" in self.spool.done, "the spool file to be applied", seconds=SLACK)
        wait.until(self.is_idle, "the delivery of the event", seconds=SLACK)
        assert self.views() == views and not self.spool.bad
        assert int(self.one("SELECT sum(views) FROM videos")) == views
        feed = [event["id"] for event in self.server.client(self.key).get("/events").json()["data"]]
        assert sorted(feed) == sorted(self.receiver.events()) and len(set(feed)) == len(feed)
        assert self.one("SELECT count(*) FROM events GROUP BY video_id, type, value HAVING count(*) > 1 UNION SELECT 0") == "0"

    @contextlib.contextmanager
    def pause(self, where):
        """Within the block, backends wait `where`. Yields a function that waits until a backend does and returns its process id."""
        waiting = f"SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND classid = 0 AND objid = {where} AND NOT granted"
        with contextlib.closing(psycopg2.connect(self.cluster.url(self.name))) as connection, connection.cursor() as cursor:
            cursor.execute(f"SELECT pg_advisory_lock({where})")
            yield lambda: wait.until(lambda: self.cluster.sql(waiting, self.name), "a backend to wait")[0][0]

    def backend(self, pid, condition="true"):
        return self.one(f"SELECT count(*) FROM pg_stat_activity WHERE pid = {pid} AND {condition}") == "1"


@pytest.fixture(scope="module")
def running(cluster, tmp_path_factory):
    directory = tmp_path_factory.mktemp("world")
    with contextlib.closing(Receiver(directory / "receiver")) as receiver:
        made = World(cluster, receiver, directory)
        try:
            made.start()
            yield made
        finally:
            made.server.stop()


@pytest.fixture
def world(running, network):
    pid = running.server.pid
    yield running
    assert running.server.pid == pid and running.server.running


def test_cut_network_loses_packets_silently(network, cluster):
    """Otherwise the other tests would only show what happens if a connection is closed or refused."""
    address = (network.address, cluster.port)
    with socket.create_connection(address, timeout=RESPONSE) as connection:
        network.cut()
        connection.sendall(b"\0\0\0\x08\x04\xd2\x16\x2f")           # asks for TLS; PostgreSQL replies with one byte
        connection.settimeout(0.3)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        with pytest.raises(TimeoutError):
            socket.create_connection(address, timeout=0.3)
        network.cut_replies()
        with pytest.raises(TimeoutError):
            connection.recv(1)
        network.restore()
        connection.settimeout(RESPONSE)
        assert connection.recv(1) == b"N"


def test_requests_are_held_or_rejected_during_a_cut_and_everything_works_after_it(world, network, pool):
    impatient = world.installation("impatient", world.url, secrets=world.server.settings["secrets"], webhooks={"enabled": "off"})
    impatient.configure({"store": {"hold_ms": 1000}})
    server = world.server
    with impatient:
        wait.until(lambda: impatient.client(world.key).get("/account").status == 200, "the other server to be ready")
        before = world.views()
        network.cut()
        rejected = pool.submit(impatient.client(world.key, timeout=STALE + 1 + SLACK).get, "/account")
        views = world.feed_spool()
        wait.until(lambda: not world.is_ready(), "the server to notice", seconds=STALE + SLACK)
        assert server.admin().get("/readyz").body.startswith(b"not ready: the database cannot be read (the connection is ")
        held = pool.submit(world.views)
        wait.until(lambda: scrape(server).get("viewtally_store_server_reads_held") > 0, "a held request")
        assert server.admin(timeout=RESPONSE).get("/livez").status == server.client(timeout=RESPONSE).get("/openapi.json").status == 200
        response = rejected.result()
        assert response.status == 503 and response.headers["Retry-After"] and response.error_code == "internal_error"
        assert scrape(server).get("viewtally_loop_lag_max_seconds") < RESPONSE and not held.done()
        network.restore()
        assert held.result() in (before, views)
    wait.until(world.is_ready, "the server to be ready again", seconds=SLACK)
    world.check_works(views)


@pytest.mark.skipif(sanitized(), reason="PostgreSQL needs half a minute to notice the loss: runs in the plain build")
def test_transaction_of_a_lost_machine_blocks_other_writers_for_half_a_minute_only(world, network):
    """A command is cut off while it holds the lock of all writers. Another process still reaches PostgreSQL through the Unix socket."""
    lost = world.installation("lost", world.cluster.tcp_url(world.name, LOST))
    other = world.installation("other", world.cluster.url(world.name))
    other.configure({"store": {"busy_timeout_ms": 1000}})

    def create(name):
        return "key", "create", "--author", lines.uid(AUTHOR), "--name", name

    def write():
        return other.run(*create("other"), status=None).status == 0

    with contextlib.ExitStack() as cleanup:
        with world.pause(AT_BEGIN) as wait_for_backend:
            command = lost.command(*create("lost"))
            cleanup.callback(command.kill)
            pid = wait_for_backend()
            command.send_signal(signal.SIGSTOP)
        wait.until(lambda: world.backend(pid, "state = 'idle in transaction'"), "the transaction to begin")
        network.cut()
        command.send_signal(signal.SIGCONT)
        assert not write() and world.backend(pid)
        wait.until(write, "PostgreSQL to end the transaction", seconds=VANISHED + SLACK)
        assert not world.backend(pid)
        _, errors = command.communicate(timeout=RESPONSE)
        network.restore()
    assert command.returncode == 3 and b"nothing was changed" in errors, errors
    assert world.cluster.sql("SELECT name FROM api_keys WHERE name IN ('lost', 'other')", world.name) == [["other"]]
    # PostgreSQL has closed all connections of the server, too.
    wait.until(world.is_ready, "the server to be ready again", seconds=SLACK)
    world.check_works(world.feed_spool())


def lose_reply(world, network, begin):
    """Calls begin(), which starts a transaction, and lets its commit take effect while the reply is lost. Returns the result
    when the server has found the outcome."""
    found = "the connection was lost during a commit; the transaction was committed"
    before = world.server.log.count(found)
    with world.pause(AT_COMMIT) as wait_for_backend:
        result = begin()
        pid = wait_for_backend()
        port = int(world.one(f"SELECT client_port FROM pg_stat_activity WHERE pid = {pid}"))
        network.cut_replies()
    wait.until(lambda: world.backend(pid, "state = 'idle'"), "the commit")
    wait.until(lambda: port not in network.open_ports(), "the client to give up")
    network.restore()
    wait.until(lambda: world.server.log.count(found) == before + 1, "the outcome", seconds=HOLD + SLACK)
    return result


def test_lost_reply_to_the_commit_of_a_run_loses_and_repeats_nothing(world, network):
    views = lose_reply(world, network, world.feed_spool)
    wait.until(lambda: world.one("SELECT count(*) FROM refresh_runs WHERE outcome IS NULL") == "0", "the end of the run")
    world.server.run("refresh")         # the server itself pauses for 15 s after the import has lost its lock with the connection
    world.check_works(views)


def test_lost_reply_to_the_commit_of_a_request_is_found(world, network, pool):
    browser = sign_up(world.server, lines.uid(AUTHOR), "ann", "correct horse battery")
    page = browser.get("/keys")
    browser.client = world.server.client(timeout=HOLD + SLACK)
    sent = lose_reply(world, network, lambda: pool.submit(browser.send, page, "/keys", {"name": "laptop"}))
    assert "service_live_" in sent.result().body
    assert world.one("SELECT count(*) FROM api_keys WHERE name = 'laptop'") == "1"


def test_limit_is_enforced_while_redis_is_cut_off(network, make_viewtally, short_path):
    if not Redis.available():
        pytest.skip("redis-server is not installed")
    with DistantRedis(short_path, network) as redis:
        world = test_redis.World(make_viewtally, redis)
        world.wait_until_up()
        network.cut()
        test_redis.assert_limited(world)            # 60 requests are admitted, and the next ones are rejected
        metrics = scrape(world.first)
        assert 0 < metrics.get("viewtally_redis_calls_timed_out_total") < 5     # only the first requests wait, for 50 ms each
        assert metrics.get("viewtally_limiter_decisions_total", source="process") > 60
        assert world.first.admin().get("/readyz").body.startswith(b"degraded: Redis")
        network.restore()
        world.wait_until_used_again()
        world.wait_until_up()
