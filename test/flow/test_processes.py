"""Several processes that share a database and a Redis: on one TCP address, or behind nginx with a Unix socket each."""
import re
import threading

import pytest

from lib import wait
from lib.client import Client
from lib.lines import author, reading, uid, video
from lib.metrics import scrape
from lib.processes import open_files
from lib.shipped import nginx_conf

POSTED = "2026-07-01T08:00:00Z"


def test_processes_share_an_address_and_see_each_others_changes(make_viewtally):
    first = make_viewtally({"server": {"reuse_port": "on"}})
    author = first.add_author()
    key = first.create_key(author)
    first.start()
    second = make_viewtally({"server": {"reuse_port": "on", "listen": first.address},
                             "store": first.settings["store"]})
    second.start()
    assert second.address == first.address
    served = {first.pid: 0, second.pid: 0}
    clients = []
    for _ in range(64):
        client = first.client(key)
        assert client.get("/account").status == 200
        clients.append(client)
    for pid in served:
        served[pid] = connections_of(pid, first.address)
    assert sum(served.values()) >= 64 and all(served.values()), served     # a test that runs in parallel may connect, too
    # Both processes see the change of a command at the next request.
    first.run("author", "set-plan", author, "inactive")
    assert {client.get("/account").status for client in clients} == {403}
    # One process stops: its clients reconnect to the other one, and no request fails.
    second.stop()
    first.run("author", "set-plan", author, "active")
    assert {client.get("/account").status for client in clients} == {200}
    for client in clients:
        client.close()


@pytest.mark.sqlite_only("creates the database with serve --create")
def test_address_in_use_is_rejected_unless_reuse_port_is_set(make_viewtally):
    first = make_viewtally()
    first.start()
    second = make_viewtally({"server": {"listen": first.address}})
    assert "address already in use" in second.run("serve", "--create", status=3).err


def connections_of(pid, address):
    """The number of established connections whose server side belongs to the process."""
    port = int(address.rpartition(":")[2])
    sockets = (re.match(r"socket:\[(\d+)\]", file) for file in open_files(pid))
    inodes = {match[1] for match in sockets if match}
    count = 0
    with open("/proc/net/tcp") as table:
        for line in table.readlines()[1:]:
            words = line.split()
            count += int(words[1].split(":")[1], 16) == port and words[3] == "01" and words[9] in inodes
    return count


# --- all processes see a commit at the next request ---


class Two:
    """Two servers on one database; Ada's video has 900 views and no event yet."""

    def __init__(self, make_viewtally, clock, **config):
        self.first = make_viewtally(config, clock)
        self.first.import_lines([author("Ada"), video("a", "Ada", POSTED), reading("a", "2026-07-09T00:00:00Z", 900)])
        self.key = self.first.create_key(uid("Ada"))
        self.second = make_viewtally({**config, "store": self.first.settings["store"]}, clock)
        self.servers = [self.first, self.second]
        for server in self.servers:
            server.start()

    def views(self, hour, views):
        self.first.import_lines([reading("a", f"2026-07-09T{hour:02}:00:00Z", views)])


@pytest.fixture
def two(make_viewtally, clock):
    return Two(make_viewtally, clock)


def test_revoked_key_is_rejected_by_all_processes_at_the_next_request(two):
    with two.first.client(two.key) as one, two.second.client(two.key) as other:
        assert [client.get("/account").status for client in (one, other)] == [200, 200]
        key_id = two.first.run("key", "list", "--author", uid("Ada"), "--json").json()[0]["id"]
        two.second.run("key", "revoke", key_id)
        for client in (one, other):
            response = client.get("/account")
            assert (response.status, response.error_code) == (401, "api_key_revoked")


def test_new_event_completes_long_polls_of_all_processes(two):
    heads, events = [], {}
    for server in two.servers:
        with server.client(two.key) as client:
            heads.append(client.get("/events", {"after": "latest"}).json()["next_cursor"])
    assert heads == ["evt_0", "evt_0"]

    def poll(server):
        with server.client(two.key) as client:
            events[server] = client.get("/events", {"after": "latest", "wait": 30}).json()["data"]

    threads = [threading.Thread(target=poll, args=(server,)) for server in two.servers]
    for thread in threads:
        thread.start()
    for server in two.servers:
        wait.until(lambda s=server: scrape(s).get("viewtally_http_requests_in_flight") == 1, "the long poll to wait")
    two.views(1, 1500)
    for thread in threads:
        thread.join()
    assert [event["milestone"] for event in events[two.first]] == [1000] and events[two.first] == events[two.second]
    for server in two.servers:
        with server.client(two.key) as client:
            assert client.get("/events").json()["data"] == events[two.first]


def test_cached_responses_of_all_processes_follow_the_database(two):
    with two.first.client(two.key) as one, two.second.client(two.key) as other:
        for hour, views in [(2, 1000), (3, 1001), (4, 5000)]:
            two.views(hour, views)
            pages = [client.get("/videos") for client in (one, other)]
            assert pages[0].body == pages[1].body and pages[0].json()["data"][0]["views"] == views
            assert pages[0].headers["ETag"] == pages[1].headers["ETag"]
            assert one.get("/videos", headers={"If-None-Match": pages[1].headers["ETag"]}).status == 304


# --- behind nginx, with packaging/nginx/viewtally.conf ---


class Cluster:
    """Two processes with a socket each, one Redis, and the shipped configuration of nginx in front."""

    def __init__(self, make_viewtally, make_nginx, redis, clock, directory):
        clock.set_monotonic(9_000_000)      # stands still: no call to Redis is ever late
        self.directory = directory
        self.servers = []
        config = {"limits": {"requests_per_minute": 100}, "redis": {"url": redis.url}, "server": {"trusted_proxies": "unix"}}
        for number in (1, 2):
            config["server"]["listen"] = f"unix:{directory}/{number}.sock"
            if self.servers:
                config["store"] = self.servers[0].settings["store"]
            self.servers.append(make_viewtally(config, clock))
            if number == 1:
                self.key = self.servers[0].create_key(self.servers[0].add_author())
            self.servers[-1].start()
        for server in self.servers:
            wait.until(lambda s=server: "redis: up" in s.log, "Redis to be up")
        self.nginx = make_nginx(nginx_conf([f"unix:{directory}/{number}.sock" for number in (1, 2)]))

    def get(self, count):
        with Client(self.nginx.address, self.key) as client:
            return [client.get("/account").status for _ in range(count)]


@pytest.fixture
def cluster(make_viewtally, make_nginx, redis, clock, tmp_path_factory):
    return Cluster(make_viewtally, make_nginx, redis, clock, tmp_path_factory.mktemp("s"))


def test_processes_behind_nginx_share_one_limit(cluster):
    assert cluster.get(110) == [200] * 100 + [429] * 10
    with cluster.servers[0].client(cluster.key) as one, cluster.servers[1].client(cluster.key) as other:
        assert [client.get("/account").status for client in (one, other)] == [429, 429]


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_rolling_restart_fails_no_request(cluster, how):
    statuses, done = [], threading.Event()

    def send_requests():
        # Several keys, so that none reaches its limit.
        keys = iter([cluster.servers[0].create_key(author_id, f"k{n}") for n in range(12)])
        with Client(cluster.nginx.address) as client:
            started.set()
            for key in keys:
                statuses.extend(client.get("/account", key=key).status for _ in range(90))
                if done.is_set():
                    return

    author_id = cluster.servers[0].add_author("Busy")
    started = threading.Event()
    sender = threading.Thread(target=send_requests)
    sender.start()
    assert started.wait(wait.DEFAULT_SECONDS)

    def wait_for_responses():
        """Waits for two responses: the pending one, and one to a request that was sent since."""
        seen = len(statuses)
        wait.until(lambda: len(statuses) > seen + 1 or not sender.is_alive(), "requests to be answered")

    for server in cluster.servers:
        getattr(server, how)()
        wait_for_responses()
        server.start()
        wait_for_responses()
    done.set()
    sender.join()
    assert statuses and set(statuses) == {200}, set(statuses)
