"""Several processes on one database, and one Redis: on one TCP address, or behind nginx with a socket each."""
import re
import threading

import pytest

from lib import wait
from lib.client import Client
from lib.lines import author, reading, uid, video
from lib.processes import open_files
from lib.shipped import nginx_conf

POSTED = "2026-07-01T08:00:00Z"


def test_processes_share_an_address_and_follow_each_other(make_viewtally):
    first = make_viewtally({"server": {"reuse_port": "on"}})
    author = first.add_author()
    key = first.create_key(author)
    first.start()
    second = make_viewtally({"server": {"reuse_port": "on", "listen": first.address},
                             "store": {"path": str(first.directory / "viewtally.db")}})
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
    assert sum(served.values()) >= 64 and all(served.values()), served     # a test beside this one may try the port, too
    # What one command changes, both processes see at the next request.
    first.run("author", "set-plan", author, "inactive")
    assert {client.get("/account").status for client in clients} == {403}
    # One of them leaves: whoever was connected to it connects again, and nobody is refused.
    second.stop()
    first.run("author", "set-plan", author, "active")
    assert {client.get("/account").status for client in clients} == {200}
    for client in clients:
        client.close()


def test_without_reuse_port_an_address_has_one_owner(make_viewtally):
    first = make_viewtally()
    first.start()
    second = make_viewtally({"server": {"listen": first.address}})
    assert "address already in use" in second.run("serve", "--create", status=3).err


def connections_of(pid, address):
    """Established connections whose server side belongs to the process."""
    port = int(address.rpartition(":")[2])
    sockets = (re.match(r"socket:\[(\d+)\]", file) for file in open_files(pid))
    inodes = {match[1] for match in sockets if match}
    count = 0
    with open("/proc/net/tcp") as table:
        for line in table.readlines()[1:]:
            words = line.split()
            count += int(words[1].split(":")[1], 16) == port and words[3] == "01" and words[9] in inodes
    return count


# --- what one commits, all see at the next request ---


class Two:
    """Two servers on one database; Ada's video has 900 views and no event yet."""

    def __init__(self, make_viewtally, clock, **config):
        self.first = make_viewtally(config, clock)
        self.first.import_lines([author("Ada"), video("a", "Ada", POSTED), reading("a", "2026-07-09T00:00:00Z", 900)])
        self.key = self.first.create_key(uid("Ada"))
        self.second = make_viewtally({**config, "store": {"path": self.first.settings["store"]["path"]}}, clock)
        self.servers = [self.first, self.second]
        for server in self.servers:
            server.start()

    def views(self, hour, views):
        self.first.import_lines([reading("a", f"2026-07-09T{hour:02}:00:00Z", views)])


@pytest.fixture
def two(make_viewtally, clock):
    return Two(make_viewtally, clock)


def test_a_key_that_was_revoked_is_refused_by_all_at_the_next_request(two):
    with two.first.client(two.key) as one, two.second.client(two.key) as other:
        assert [client.get("/account").status for client in (one, other)] == [200, 200]
        key_id = two.first.run("key", "list", "--author", uid("Ada"), "--json").json()[0]["id"]
        two.second.run("key", "revoke", key_id)
        for client in (one, other):
            answer = client.get("/account")
            assert (answer.status, answer.error_code) == (401, "api_key_revoked")


def test_a_new_event_is_seen_by_all_and_ends_their_long_polls(two):
    heads, answers = [], {}
    for server in two.servers:
        with server.client(two.key) as client:
            heads.append(client.get("/events", {"after": "latest"}).json()["next_cursor"])
    assert heads == ["evt_0", "evt_0"]

    def poll(server):
        with server.client(two.key) as client:
            answers[server] = client.get("/events", {"after": "latest", "wait": 30}).json()["data"]

    threads = [threading.Thread(target=poll, args=(server,)) for server in two.servers]
    for thread in threads:
        thread.start()
    for server in two.servers:      # both are being held: what was sent behind them has been answered
        with server.client(two.key) as client:
            for _ in range(3):
                client.get("/account")
    two.views(1, 1500)
    for thread in threads:
        thread.join(20)
    assert [event["milestone"] for event in answers[two.first]] == [1000] and answers[two.first] == answers[two.second]
    for server in two.servers:
        with server.client(two.key) as client:
            assert client.get("/events").json()["data"] == answers[two.first]


def test_bodies_and_tags_that_one_has_kept_are_those_of_the_database(two):
    with two.first.client(two.key) as one, two.second.client(two.key) as other:
        for hour, views in [(2, 1000), (3, 1001), (4, 5000)]:
            two.views(hour, views)
            pages = [client.get("/videos") for client in (one, other)]
            assert pages[0].body == pages[1].body and pages[0].json()["data"][0]["views"] == views
            assert pages[0].headers["ETag"] == pages[1].headers["ETag"]
            assert one.get("/videos", headers={"If-None-Match": pages[1].headers["ETag"]}).status == 304


# --- behind nginx, as scripts/nginx.conf shows it ---


class Behind:
    """Two processes with a socket each, one Redis, and the shipped nginx.conf in front."""

    def __init__(self, make_viewtally, make_nginx, redis, clock, directory):
        clock.set_monotonic(9_000_000)      # stands still: no call to Redis is ever late
        self.directory = directory
        self.servers = []
        config = {"limits": {"requests_per_minute": 100}, "redis": {"url": redis.url}, "server": {"trusted_proxies": "unix"}}
        for number in (1, 2):
            config["server"]["listen"] = f"unix:{directory}/{number}.sock"
            if self.servers:
                config["store"] = {"path": self.servers[0].settings["store"]["path"]}
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
def behind(make_viewtally, make_nginx, redis, clock, tmp_path_factory):
    return Behind(make_viewtally, make_nginx, redis, clock, tmp_path_factory.mktemp("s"))


def test_one_limit_for_both_behind_nginx(behind):
    assert behind.get(110) == [200] * 100 + [429] * 10
    with behind.servers[0].client(behind.key) as one, behind.servers[1].client(behind.key) as other:
        assert [client.get("/account").status for client in (one, other)] == [429, 429]


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_one_after_the_other_is_restarted_and_nobody_is_refused(behind, how):
    statuses, over = [], threading.Event()

    def ask():
        # Other keys of the same author, so that no limit comes in between.
        keys = iter([behind.servers[0].create_key(author_id, f"k{n}") for n in range(12)])
        with Client(behind.nginx.address) as client:
            started.set()
            for key in keys:
                statuses.extend(client.get("/account", key=key).status for _ in range(90))
                if over.is_set():
                    return

    author_id = behind.servers[0].add_author("Busy")
    started = threading.Event()
    asking = threading.Thread(target=ask)
    asking.start()
    assert started.wait(30)

    def wait_for_answers():
        """Two: what was on its way is over, and one that was sent since then is."""
        seen = len(statuses)
        wait.until(lambda: len(statuses) > seen + 1 or not asking.is_alive(), "requests to be answered")

    for server in behind.servers:
        getattr(server, how)()
        wait_for_answers()
        server.start()
        wait_for_answers()
    over.set()
    asking.join()
    assert statuses and set(statuses) == {200}, set(statuses)
