"""Malformed responses: each has a defined outcome, nothing wrong is stored, and memory stays bounded."""
import resource

import json

import pytest

from lib.viewtally import sanitized

HOUR = 3_600_000
FIELD = {"tiktok": "view_count", "instagram": "views", "youtube": "viewCount", "facebook": "views", "pinterest": "VIDEO_MRC_VIEW"}
ROUTE = {"tiktok": "tiktok.query", "instagram": "instagram.insights", "youtube": "youtube.batch", "pinterest": "pinterest.pin"}

# Malformed responses.
BROKEN = [{"kind": "truncated"}, {"kind": "cut_json"}, {"kind": "garbage"}, {"kind": "nesting"}, {"kind": "utf8"}, {"kind": "empty"}, {"kind": "html"},
          {"kind": "not_http"}, {"kind": "oversized"}, {"kind": "gzip_bomb"}, {"kind": "redirect", "location": "https://elsewhere.example/"},
          {"kind": "raw", "status": 200, "body": "null"}, {"kind": "raw", "status": 200, "body": "[]"}, {"kind": "raw", "status": 200, "body": '"ok"'},
          {"kind": "raw", "status": 204, "body": ""}, {"kind": "raw", "status": 200, "body": '{"data":7}'},
          {"kind": "raw", "status": 200, "body": "{}", "headers": {"Content-Encoding": "gzip"}}]


def disable_retries(world):
    world.configure(platforms={"retry_percent": 0, "timeout_ms": 20_000}, pinterest={"bulk": "off"}, youtube={"api_key": None},
                    tiktok={"in_flight": 1}, instagram={"in_flight": 1})


@pytest.mark.parametrize("platform", ROUTE)
def test_malformed_responses_store_nothing(world, clock, standins, platform):
    """One author per kind of malformed response. Valid responses in between keep the circuit closed."""
    disable_retries(world)
    names = world.add(authors=2 * len(BROKEN), platforms=(platform,), login="instagram")
    bad, good = names[::2], names[1::2]
    for name, fault in zip(bad, BROKEN):
        standins.command(platform, "fault", route=ROUTE[platform], account=world.accounts[name, platform], **fault)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    finished = world.refresh(status=None)
    after = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert sanitized() or after == before or after < 64 * 1024, f"{after} KiB of memory"
    stored = world.counts()[platform]
    for name, fault in zip(bad, BROKEN):
        assert stored[world.ids(platform, name)[0]]["views"] is None, fault
        assert world.credential(name, platform)["state"] == 0, fault
    read = [stored[world.ids(platform, name)[0]]["at"] == clock.wall_ms for name in good]
    assert sum(read) >= len(good) // 2, finished
    standins.clear()
    clock.advance(2 * HOUR)
    world.refresh(status=None)
    world.expect_truth((platform,), at=clock.wall_ms)


def test_response_with_unrequested_or_repeated_ids_is_ignored(world, clock, standins):
    disable_retries(world)
    names = world.add(authors=6, platforms=("tiktok",))
    ids = [world.ids("tiktok", name)[0] for name in names]
    video = '{"id":"%s","view_count":%d,"like_count":1,"comment_count":1,"share_count":1}'
    whole = '{"data":{"videos":[%s]},"error":{"code":"ok","message":"","log_id":"x"}}'
    bodies = [whole % (video % (ids[0], 5) + "," + video % (ids[1], 7)),                # the id of another author's post
              whole % (video % (ids[1], 5) + "," + video % (ids[1], 6)),                # the same id twice
              whole % (video % ("1", 5))]
    for name, body in zip(names, bodies):
        standins.fault("tiktok", "raw", route="tiktok.query", account=world.accounts[name, "tiktok"], status=200, body=body)
    world.refresh(status=None)
    stored = world.counts()["tiktok"]
    assert [stored[id]["views"] for id in ids] == [None, None, None, 1000, 1000, 1000]


NUMBERS = ["-1", "1e3", '"12 "', "18446744073709551616", "9007199254740992", "null", "true", '"0x10"', "1.5", '""', "[]", "{}", '"-1"', "-0.0", '"1e3"']


@pytest.mark.parametrize("platform", ["tiktok", "instagram", "youtube", "pinterest"])
def test_invalid_counts_are_not_stored(world, clock, standins, platform):
    """A connector may treat an invalid count as unknown or reject the whole response. In both cases, nothing is stored."""
    disable_retries(world)
    names = world.add(authors=2 * len(NUMBERS), platforms=(platform,), login="instagram")
    for name, raw in zip(names[::2], NUMBERS):
        standins.fault(platform, "edit", route=ROUTE[platform], account=world.accounts[name, platform], count=FIELD[platform], raw=raw)
    world.refresh(status=None)
    stored = world.counts()[platform]
    for name, raw in zip(names[::2], NUMBERS):
        found = stored[world.ids(platform, name)[0]]
        assert (found["views"], found["at"]) == (None, None), raw
    assert sum(stored[world.ids(platform, name)[0]]["at"] == clock.wall_ms for name in names[1::2]) >= len(NUMBERS) // 2


@pytest.mark.parametrize("raw, value", [("20.0", 20), ("9007199254740991", 9007199254740991), ("0", 0)])
def test_valid_counts_are_stored(world, clock, standins, raw, value):
    world.configure(pinterest={"bulk": "off"})
    world.add(platforms=("pinterest",))
    standins.fault("pinterest", "edit", route="pinterest.pin", count="VIDEO_MRC_VIEW", raw=raw)
    world.refresh()
    assert world.post("pinterest", world.ids("pinterest")[0])["views"] == value


def test_error_in_a_200_response_is_an_error(world, clock, standins):
    world.configure(platforms={"retry_percent": 0})
    world.add(authors=2, platforms=("tiktok",))
    account = world.accounts["author-1", "tiktok"]
    standins.fault("tiktok", "error", name="error_with_200", account=account)
    world.refresh(status=None)
    assert world.post("tiktok", world.ids("tiktok", "author-1")[0])["at"] is None
    assert world.credential("author-1", "tiktok")["state"] == 0
    assert world.post("tiktok", world.ids("tiktok", "author-2")[0])["at"] == clock.wall_ms


UNKNOWN = {"tiktok": ({"data": {}, "error": {"code": "brand_new", "message": "of act.SECRET-IN-TEXT-0123456789", "log_id": "1"}}, "brand_new"),
           "youtube": ({"error": {"code": 403, "errors": [{"reason": "brandNew", "message": "key AIzaSECRET-IN-TEXT-0123456789"}]}}, "brandNew"),
           "instagram": ({"error": {"message": "of IGAASECRET-IN-TEXT-0123456789", "type": "OAuthException", "code": 7654, "fbtrace_id": "A"}}, "7654"),
           "facebook": ({"error": {"message": "of EAASECRET-IN-TEXT-0123456789", "type": "OAuthException", "code": 7654, "fbtrace_id": "A"}}, "7654"),
           "pinterest": ({"code": 4711, "message": "of pina_SECRET-IN-TEXT-0123456789"}, "4711")}


@pytest.mark.parametrize("platform", UNKNOWN)
def test_unknown_error_is_logged_once_a_day(world, clock, standins, platform):
    """The log shows the response without tokens once a day, also across runs, and no account changes its state."""
    body, code = UNKNOWN[platform]
    world.configure(platforms={"retry_percent": 0}, pinterest={"bulk": "off"})
    world.add(authors=2, platforms=(platform,))
    standins.fault(platform, "raw", status=403, body=json.dumps(body), **{"route": "tiktok.query"} if platform == "tiktok" else {})   # not at the token endpoint
    logs = []
    for _ in range(3):
        logs.append(world.refresh(status=None).err)
        clock.advance(HOUR)
    assert [log.count(f"undocumented error {code},") for log in logs] == [1, 0, 0], logs
    assert "SECRET-IN-TEXT" not in "".join(logs)
    assert world.rows("SELECT count(*) FROM platform_credentials WHERE state <> 0") == [(0,)]
    clock.advance(24 * HOUR)
    assert world.refresh(status=None).err.count(f"undocumented error {code},") == 1
    standins.clear()
    clock.advance(25 * HOUR)
    world.refresh(status=None)
    assert world.rows("SELECT count(*) FROM platform_limits WHERE name LIKE 'unknown.%'") == [(0,)]
