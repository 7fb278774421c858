"""GET /events?wait=…: which requests wait, what ends their wait, and clients and servers that go away.

The deadline is on the fake monotonic clock, so a test decides when it expires. To prove without waiting that a request
is *still* held, a test waits for the response to another request, which has the same deadline or had to be woken by the
same commit.
"""
import http.client
import select
import signal
import socket
import struct

import pytest

from lib import wait
from lib.client import Response, connect
from lib.lines import author, reading, uid, video
from lib.processes import is_stopped
from lib.refreshing import Refreshing

START_MS = 9_000_000
NEW_EVENT_SECONDS = 60          # a guard against hanging; the server polls every 100 ms
POSTED = "2026-07-01T08:00:00Z"


class World:
    """Ada and Bob, each with a video of 900 views; more views create events."""

    def __init__(self, make_viewtally, clock, config=None):
        clock.set_monotonic(START_MS)
        self.clock = clock
        self.instance = make_viewtally(config, clock)
        self.instance.import_lines([author("Ada"), author("Bob"), video("a", "Ada", POSTED), video("b", "Bob", POSTED),
                                    reading("a", "2026-07-09T00:00:00Z", 900), reading("b", "2026-07-09T00:00:00Z", 900)])
        self.keys = {name: self.instance.create_key(uid(name)) for name in ("Ada", "Bob")}
        self.instance.start()
        self.polls = []
        self.hour = 0

    def views(self, name, views):
        """Imports a reading by another process."""
        self.hour += 1
        self.instance.import_lines([reading(name, f"2026-07-09T{self.hour:02}:00:00Z", views)])

    def poll(self, query, name="Ada", headers=""):
        self.polls.append(Poll(self.instance.address, self.keys[name], query, headers))
        return self.polls[-1]

    def get(self, path, name="Ada"):
        with self.instance.client(self.keys[name]) as client:
            return client.get(path)

    def head(self, name="Ada"):
        return self.get("/events?after=latest", name).json()["next_cursor"]

    def settle(self):
        """Returns when all polls sent so far are waiting. Sends further requests for this, because the server serves
        connections in the order in which their bytes arrive."""
        for _ in range(3):
            assert self.get("/account").status == 200

    def close(self):
        for poll in self.polls:
            poll.socket.close()


class Poll:
    """One request on a connection of its own."""

    def __init__(self, address, key, query, headers=""):
        self.socket = connect(address, timeout=60)
        self.socket.sendall(f"GET /v1/events?{query} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n{headers}\r\n".encode())

    @property
    def held(self):
        return not select.select([self.socket], [], [], 0)[0]

    def response(self):
        response = http.client.HTTPResponse(self.socket, method="GET")
        response.begin()
        return Response(response.status, response.headers, response.read())

    def page(self):
        response = self.response()
        assert response.status == 200, response
        return response.json()

    def reset(self):
        """Resets the connection, as a killed client does."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


@pytest.fixture
def world(make_viewtally, clock):
    made = World(make_viewtally, clock)
    yield made
    made.close()


EMPTY = {"success": True, "data": [], "has_more": False, "next_cursor": None}


# --- held until the deadline ---


@pytest.mark.parametrize("seconds", [1, 2, 30, 55])
def test_empty_page_is_held_until_its_deadline(world, seconds):
    poll = world.poll(f"wait={seconds}")
    world.settle()
    world.clock.set_monotonic(START_MS + seconds * 1000 - 1001)
    early = world.poll("wait=1")                    # due 1 ms before the other
    world.settle()
    assert seconds == 1 or (poll.held and early.held)
    world.clock.advance(1000)
    if seconds > 1:
        assert early.page() == EMPTY
        assert poll.held
    world.clock.advance(1)
    assert poll.page() == EMPTY


def test_request_without_wait_is_not_held(world):
    assert world.poll("after=evt_0").page() == EMPTY
    assert world.poll("after=latest").page() == {**EMPTY, "next_cursor": "evt_0"}


def test_page_with_events_is_not_held(world):
    world.views("a", 1500)
    page = world.poll("wait=55").page()
    assert [event["milestone"] for event in page["data"]] == [1000]
    assert world.poll("wait=55&after=evt_0&limit=1").page() == page


def test_position_after_the_newest_event_waits_until_the_deadline(world):
    poll, other = world.poll("wait=1&after=evt_9223372036854775807"), world.poll("wait=55")
    world.settle()
    world.views("a", 1500)
    assert other.page()["data"]
    world.settle()
    assert poll.held
    world.clock.advance(1000)
    assert poll.page() == EMPTY


# --- woken by a commit ---


def test_import_by_another_process_wakes_the_poll(world):
    for attempt, views in enumerate([1_000, 10_000, 50_000, 100_000]):
        poll = world.poll("wait=55&after=" + world.head())
        world.settle()
        assert poll.held
        world.views("a", views)
        page = poll.page()          # its deadline is on the fake clock, which does not advance
        kinds = [(event["type"], event.get("milestone")) for event in page["data"]]
        assert ("video.milestone_reached", views) in kinds and len(kinds) == (2 if attempt == 1 else 1)
        assert page["next_cursor"] == page["data"][-1]["id"] == world.head() and not page["has_more"]


def test_commit_during_the_first_read_is_not_missed(world):
    """The import runs during the first read of the poll. The event is delivered, whether the read or the commit comes
    first."""
    for attempt in range(10):
        poll = world.poll("wait=55&after=" + world.head())
        world.views("a", [1_000, 10_000, 50_000, 100_000, 250_000, 500_000, 10**6, 2 * 10**6, 5 * 10**6, 10**7][attempt])
        assert select.select([poll.socket], [], [], NEW_EVENT_SECONDS)[0], "the commit was not seen"
        assert poll.page()["data"]


def test_commit_without_events_does_not_end_the_wait(world):
    poll, canary = world.poll("wait=55"), world.poll("wait=55", "Bob")
    world.settle()
    world.views("a", 950)
    world.instance.import_lines([video("a", "Ada", title="New title")])
    world.instance.create_key(uid("Ada"), "another")
    world.views("b", 1000)
    assert canary.page()["data"]
    world.settle()
    assert poll.held
    world.views("a", 1000)
    assert [event["video"]["title"] for event in poll.page()["data"]] == ["New title"]


def test_events_of_another_author_do_not_end_the_wait(world):
    poll, other = world.poll("wait=55"), world.poll("wait=55", "Bob")
    world.settle()
    world.views("b", 20000)
    assert [event["video"]["id"] for event in other.page()["data"]] == [uid("b")] * 3
    world.settle()
    assert poll.held
    world.clock.advance(54_999)
    world.settle()
    assert poll.held
    world.clock.advance(1)
    assert poll.page() == EMPTY


def test_filters_apply_to_events_that_end_the_wait(world):
    viral = world.poll("wait=55&type=video.went_viral")
    later = world.poll("wait=55&occurred_after=2026-07-09T01:30:00Z")
    anything = world.poll("wait=55")
    world.settle()
    world.views("a", 1000)                          # at 01:00
    assert [event["milestone"] for event in anything.page()["data"]] == [1000]
    world.settle()
    assert viral.held and later.held
    world.views("a", 9999)
    world.views("a", 10000)                         # at 03:00: a milestone and viral
    assert [event["type"] for event in viral.page()["data"]] == ["video.went_viral"]
    assert [event["occurred_at"] for event in later.page()["data"]] == ["2026-07-09T03:00:00.000Z"] * 2


def test_poll_after_latest_returns_only_new_events(world):
    world.views("a", 1000)
    head = world.head()
    ended, woken = world.poll("wait=1&after=latest"), world.poll("wait=55&after=latest")
    world.settle()
    world.clock.advance(1000)
    assert ended.page() == {**EMPTY, "next_cursor": head}
    assert woken.held
    world.views("a", 10000)
    page = woken.page()
    assert len(page["data"]) == 2 and all(event["id"] > head for event in page["data"])


def test_woken_page_respects_limit_and_sets_has_more(world):
    poll = world.poll("wait=55&limit=1")
    world.settle()
    world.views("a", 60000)
    page = poll.page()
    assert len(page["data"]) == 1 and page["has_more"] and page["next_cursor"] == page["data"][0]["id"]


def test_if_none_match_is_evaluated_at_the_end_of_the_wait(world):
    etag = world.get("/events").headers["ETag"]
    empty, woken = (world.poll(f"wait={seconds}", headers=f"If-None-Match: {etag}\r\n") for seconds in (1, 55))
    world.settle()
    assert empty.held
    world.clock.advance(1000)
    assert empty.response().status == 304
    world.views("a", 1000)
    assert woken.response().status == 200


def test_pipelined_request_is_served_after_the_poll(world):
    poll = world.poll("wait=55")
    poll.socket.sendall(f"GET /v1/account HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {world.keys['Ada']}\r\n\r\n".encode())
    world.settle()
    assert poll.held
    world.views("a", 1000)
    with poll.socket.makefile("rb") as stream:
        responses = []
        for _ in range(2):
            length = 0
            while (line := stream.readline()) != b"\r\n":
                name, _, value = line.decode().partition(": ")
                length = int(value) if name == "Content-Length" else length
            responses.append(stream.read(length))
    assert b'"milestone":1000' in responses[0] and b'"name":"Ada"' in responses[1]


# --- many waiters ---


def test_one_commit_wakes_all_waiters_of_its_author(world):
    """There are more waiters than the server wakes in one loop iteration. Waiters of another author keep waiting."""
    mine, others = [world.poll("wait=55") for _ in range(300)], [world.poll("wait=55", "Bob") for _ in range(100)]
    world.settle()
    assert all(poll.held for poll in mine + others)
    world.views("a", 1000)
    pages = [poll.page() for poll in mine]
    assert len(pages[0]["data"]) == 1 and all(page == pages[0] for page in pages)
    world.settle()
    assert all(poll.held for poll in others)
    world.clock.advance(55_000)
    assert all(poll.page() == EMPTY for poll in others)


# --- disconnecting clients ---


@pytest.mark.parametrize("leave", [lambda poll: poll.reset(), lambda poll: poll.socket.close(),
                                   lambda poll: poll.socket.shutdown(socket.SHUT_WR)], ids=["reset", "close", "half-close"])
def test_disconnecting_waiter_does_not_affect_others(world, leave):
    leaving, staying = [world.poll("wait=55") for _ in range(20)], world.poll("wait=55")
    world.settle()
    for poll in leaving:
        leave(poll)
    world.settle()
    coming = [world.poll("wait=55", name) for _ in range(15) for name in ("Ada", "Bob")]     # these reuse the slots of the disconnected waiters
    world.settle()
    world.views("a", 1000)
    assert all(poll.page()["data"] for poll in [staying] + coming[::2])
    world.views("b", 1000)
    assert all(poll.page()["data"] for poll in coming[1::2])
    world.instance.stop()           # asserts exit status 0 and no leak


def test_half_closed_client_gets_its_response_at_once(world):
    """The server could not notice that a half-closed client disconnects, so it does not let the request of such a
    client wait."""
    poll = world.poll("wait=55")
    world.settle()
    poll.socket.shutdown(socket.SHUT_WR)
    assert poll.page() == EMPTY


def test_connections_of_reset_clients_are_released(make_viewtally, clock):
    world = World(make_viewtally, clock, {"server": {"max_connections": 4}})
    # On PostgreSQL, waits until the link is up: before, only one request may be held if there are 4 connections.
    assert world.get("/account").status == 200
    for _ in range(5):
        polls = [world.poll("wait=55") for _ in range(4)]
        for poll in polls:
            poll.reset()
    assert world.get("/account").status == 200
    world.close()


# --- the key is revoked or the plan ends during the wait ---


def status_and_code(response):
    return response.status, response.error_code


def test_waiting_request_ends_when_its_key_is_revoked(world):
    poll = world.poll("wait=55")
    other = world.instance.create_key(uid("Ada"), "other")
    stays = Poll(world.instance.address, other, "wait=55")
    world.polls.append(stays)
    world.settle()
    key_id = next(key["id"] for key in world.instance.run("key", "list", "--author", uid("Ada"), "--json").json() if key["name"] == "test")
    world.instance.run("key", "revoke", key_id)
    assert status_and_code(poll.response()) == (401, "api_key_revoked")
    world.views("a", 1500)
    assert [event["milestone"] for event in stays.page()["data"]] == [1000]


def test_waiting_request_ends_when_the_plan_ends(world):
    poll, other = world.poll("wait=55"), world.poll("wait=55", "Bob")
    world.settle()
    world.instance.run("author", "set-plan", uid("Ada"), "inactive")
    assert status_and_code(poll.response()) == (403, "plan_inactive")
    world.views("b", 1500)
    assert other.page()["data"]


def stop_between_transactions(instance):
    """Stops the server (SIGSTOP) at a moment when it does not hold the write lock."""
    database = Refreshing(instance)

    def stopped():
        instance.signal(signal.SIGSTOP)
        wait.until(lambda: is_stopped(instance.pid), "all threads to stop")
        if not database.is_locked():
            return True
        instance.signal(signal.SIGCONT)
        return False

    wait.until(stopped, "the server to stop between two transactions")


@pytest.mark.parametrize("end", ["deadline", "drain", "event"])
def test_key_is_checked_however_the_wait_ends(world, end):
    """The server is stopped while the key is revoked, so that it finds the revocation and the end of the wait at the same moment."""
    poll = world.poll("wait=30")
    world.settle()
    stop_between_transactions(world.instance)
    key_id = next(key["id"] for key in world.instance.run("key", "list", "--author", uid("Ada"), "--json").json())
    world.instance.run("key", "revoke", key_id)
    if end == "deadline":
        world.clock.advance(31_000)
    elif end == "drain":
        world.instance.signal(signal.SIGTERM)
    else:
        world.views("a", 1500)
    world.instance.signal(signal.SIGCONT)
    assert status_and_code(poll.response()) == (401, "api_key_revoked")
    poll.socket.close()
    if end == "drain":
        world.instance.wait_stopped()


def test_waiting_request_counts_once_against_the_rate_limit(make_viewtally, clock):
    world = World(make_viewtally, clock, {"limits": {"requests_per_minute": 60}})
    poll = world.poll("wait=30")
    other = world.get("/account", "Bob")
    assert other.status == 200
    for views in (901, 902, 903):                   # three commits without an event wake the poll
        world.views("a", views)
    world.clock.advance(30_000)
    response = poll.response()
    assert (response.status, response.headers["X-RateLimit-Remaining"]) == (200, "59")
    world.close()


# --- the server stops ---


def test_shutdown_completes_all_waiting_requests_at_once(world):
    polls = [world.poll("wait=55") for _ in range(150)] + [world.poll("wait=55&after=latest", "Bob") for _ in range(50)]
    world.settle()
    assert all(poll.held for poll in polls)
    world.instance.signal(signal.SIGTERM)
    for poll in polls[:150]:
        response = poll.response()
        assert (response.status, response.json(), response.headers["Connection"]) == (200, EMPTY, "close")
        poll.socket.close()
    for poll in polls[150:]:
        assert poll.page() == {**EMPTY, "next_cursor": "evt_0"}
        poll.socket.close()
    world.instance.wait_stopped()


def test_kill_9_loses_no_event_for_a_client_that_polls_again(world):
    poll = world.poll("wait=55")
    world.settle()
    world.instance.kill()
    with pytest.raises((http.client.HTTPException, ConnectionError)):
        poll.response()
    world.views("a", 1000)
    world.instance.start()
    assert world.poll("wait=55").page()["data"]
