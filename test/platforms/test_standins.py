"""Tests of the stand-ins: they respond in the documented shapes and reject undocumented requests."""
import json
import urllib.parse

import pytest

from lib.clock import FakeClock
from platformworld import MARK, POSTED, Standins, post_id
from lib.clock import to_ms

NOW = "2026-07-10T12:00:00Z"
ACCOUNT = {"tiktok": "open-1", "youtube": "UC1", "instagram": "17841400000000001", "facebook": "1000", "pinterest": "5497"}


class Scene:
    """Stand-ins with one account and three posts on each platform."""

    def __init__(self, clock):
        self.clock = clock
        self.standins = Standins(clock)
        self.ids, self.tokens = {}, {}
        for platform, account in ACCOUNT.items():
            self.ids[platform] = [post_id(platform, n) for n in range(3)]
            self.standins.command(platform, "account", id=account, name="Ada", login="facebook" if platform == "instagram" else "")
            self.standins.command(platform, "posts", account=account,
                               posts=[[id, "reel", to_ms(POSTED), 10433 + n, 512, 31, 12, 4] for n, id in enumerate(self.ids[platform])])
            self.tokens[platform] = self.standins.command(platform, "connect", account=account)

    def request(self, host, target, method="GET", body=None, of=None, headers=None):
        """Sends a request with the token of the platform. Returns (status, headers, JSON)."""
        headers = {"Authorization": f"Bearer {self.tokens[of or host]['access_token']}", **(headers or {})}
        if isinstance(body, dict):
            headers.setdefault("Content-Type", "application/json")
            body = json.dumps(body)
        status, head, text = self.standins.request(host, method, target, body, headers)
        return status, head, json.loads(text) if text else None

    def post_form(self, host, target, headers=None, **fields):
        status, _, text = self.standins.request(host, "POST", target, urllib.parse.urlencode(fields),
                                                {"Content-Type": "application/x-www-form-urlencoded", **(headers or {})})
        return status, json.loads(text)

    def violations(self):
        return [violation for name in self.standins.names() for violation in self.standins.command(name, "clear_violations")]


@pytest.fixture(scope="module")
def module_scene(tmp_path_factory):
    scene = Scene(FakeClock(tmp_path_factory.mktemp("standins") / "clock", NOW))
    yield scene
    scene.standins.close()


@pytest.fixture
def scene(module_scene):
    yield module_scene
    module_scene.standins.clear()
    assert module_scene.violations() == []


def shape(value):
    """Returns the structure of a JSON value, with types instead of values."""
    if isinstance(value, dict):
        return {name: shape(of) for name, of in value.items()}
    if isinstance(value, list):
        return [shape(of) for of in value]
    return type(value).__name__


QUERY = "/v2/video/query/?fields=id,view_count,like_count,comment_count,share_count"
BATCH_GET = "/youtube/v3/videos:batchGetStats?part=id,statistics&id="
PIN = "/v5/pins/{}/analytics?start_date=2026-07-08&end_date=2026-07-10&metric_types=VIDEO_MRC_VIEW,SAVE,TOTAL_REACTIONS,TOTAL_COMMENTS&app_types=ALL&split_field=NO_SPLIT"


def test_tiktok_responds_as_documented(scene):
    """[V 2026-08-24]"""
    ids = scene.ids["tiktok"]
    status, _, body = scene.request("tiktok", QUERY, "POST", {"filters": {"video_ids": ids[:2]}})
    assert status == 200 and body == {
        "data": {"videos": [{"id": ids[0], "view_count": 10433, "like_count": 512, "comment_count": 31, "share_count": 12},
                            {"id": ids[1], "view_count": 10434, "like_count": 512, "comment_count": 31, "share_count": 12}]},
        "error": {"code": "ok", "message": "", "log_id": body["error"]["log_id"]}}
    scene.standins.command("tiktok", "post", id=ids[0], state="private")
    assert [video["id"] for video in scene.request("tiktok", QUERY, "POST", {"filters": {"video_ids": ids}})[2]["data"]["videos"]] == ids[1:]
    scene.standins.command("tiktok", "post", id=ids[0], state="public", hidden=["likes"])
    assert "like_count" not in scene.request("tiktok", QUERY, "POST", {"filters": {"video_ids": ids[:1]}})[2]["data"]["videos"][0]
    scene.standins.command("tiktok", "post", id=ids[0], hidden=[])


def test_tiktok_tokens_rotate(scene):
    """[V 2026-11-02]: access tokens are valid for two hours, and a refresh invalidates the previous refresh token."""
    first = scene.standins.command("tiktok", "connect", account=ACCOUNT["tiktok"])
    app = {"client_key": "client-of-tiktok", "client_secret": f"{MARK}-tiktok-client-secret", "grant_type": "refresh_token"}
    status, body = scene.post_form("tiktok", "/v2/oauth/token/", **app, refresh_token=first["refresh_token"])
    assert status == 200 and shape(body) == {"access_token": "str", "expires_in": "int", "open_id": "str", "refresh_expires_in": "int", "refresh_token": "str",
                                             "scope": "str", "token_type": "str"}
    assert (body["expires_in"], body["refresh_expires_in"], body["open_id"]) == (7200, 15_552_000, ACCOUNT["tiktok"])
    status, again = scene.post_form("tiktok", "/v2/oauth/token/", **app, refresh_token=first["refresh_token"])
    assert status == 400 and again["error"] == "invalid_grant" and set(again) == {"error", "error_description", "log_id"}
    assert scene.post_form("tiktok", "/v2/oauth/token/", **{**app, "client_secret": "wrong"}, refresh_token=body["refresh_token"])[1]["error"] == "invalid_client"
    scene.tokens["tiktok"] = body
    scene.clock.advance(7_200_000)
    status, _, rejected = scene.request("tiktok", QUERY, "POST", {"filters": {"video_ids": scene.ids["tiktok"]}})
    assert status == 401 and rejected["error"]["code"] == "access_token_invalid" and rejected["data"] == {}
    scene.clock.set_wall(NOW)


def test_youtube_responds_as_documented(scene):
    """videos:batchGetStats [V 2026-06-03], videos.list [V]"""
    ids = scene.ids["youtube"]
    status, _, body = scene.request("youtube", BATCH_GET + f"{ids[0]},dQw4w9WgXcQ")
    assert status == 200 and shape(body) == {
        "kind": "str", "etag": "str", "items": [{"kind": "str", "etag": "str", "id": "str", "statistics": {"viewCount": "str", "likeCount": "str", "commentCount": "str"}}],
        "summary": {"requestedVideoCount": "int", "succeededVideoCount": "int", "failedVideoCount": "int", "failedVideoIds": ["str"]}}
    assert body["summary"]["failedVideoIds"] == ["dQw4w9WgXcQ"] and body["items"][0]["statistics"]["viewCount"] == "10433"
    status, _, listed = scene.request("youtube", f"/youtube/v3/videos?part=statistics,status&id={ids[0]}")
    assert listed["items"][0]["statistics"]["favoriteCount"] == "0" and listed["items"][0]["status"] == {"uploadStatus": "processed", "privacyStatus": "public"}
    scene.standins.command("youtube", "post", id=ids[0], state="private")
    assert scene.request("youtube", BATCH_GET + ids[0])[2]["items"], "the owner can read a private video"
    status, _, text = scene.standins.request("youtube", "GET", f"{BATCH_GET}{ids[0]}&key={MARK}-youtube-api-key")
    assert json.loads(text)["items"] == []
    scene.standins.command("youtube", "post", id=ids[0], state="public")


def test_youtube_quota_resets_at_midnight_in_los_angeles(scene):
    """[V]; also on the two days on which the clocks change."""
    for before, after in [("2026-07-11T06:59:59Z", "2026-07-11T07:00:00Z"), ("2026-03-08T07:59:59Z", "2026-03-08T08:00:00Z"),
                          ("2026-03-09T06:59:59Z", "2026-03-09T07:00:00Z"), ("2026-11-02T07:59:59Z", "2026-11-02T08:00:00Z")]:
        scene.clock.set_wall(before)
        token = scene.tokens["youtube"] = scene.standins.command("youtube", "connect", account=ACCOUNT["youtube"])
        scene.standins.command("youtube", "set", units={"batch": 1, "list": 1}, used={}, daily_as="quotaExceeded")
        assert scene.request("youtube", BATCH_GET + scene.ids["youtube"][0])[0] == 200
        status, _, body = scene.request("youtube", BATCH_GET + scene.ids["youtube"][0])
        assert status == 403 and body["error"]["errors"][0]["reason"] == "quotaExceeded" and body["error"]["errors"][0]["domain"] == "youtube.quota"
        scene.clock.set_wall(after)
        assert scene.request("youtube", BATCH_GET + scene.ids["youtube"][0])[0] == 200, token
    scene.standins.command("youtube", "set", units={"batch": 10_000, "list": 10_000}, used={})
    scene.clock.set_wall(NOW)
    scene.tokens["youtube"] = scene.standins.command("youtube", "connect", account=ACCOUNT["youtube"])


def test_instagram_responds_as_documented(scene):
    """Insights [V 2026-06-18], headers and batch [V]"""
    id = scene.ids["instagram"][0]
    status, head, body = scene.request("facebook", f"/v26.0/{id}/insights?metric=views,likes,comments,shares,saved", of="instagram")
    assert status == 200 and [entry["name"] for entry in body["data"]] == ["views", "likes", "comments", "shares", "saved"]
    assert body["data"][0] == {"name": "views", "period": "lifetime", "values": [{"value": 10433}], "title": "Views", "description": "…", "id": f"{id}/insights/views/lifetime"}
    usage = json.loads(head["X-Business-Use-Case-Usage"])[ACCOUNT["instagram"]]
    assert shape(usage) == [{"type": "str", "call_count": "int", "total_cputime": "int", "total_time": "int", "estimated_time_to_regain_access": "int"}]
    assert shape(json.loads(head["X-App-Usage"])) == {"call_count": "int", "total_time": "int", "total_cputime": "int"}
    scene.standins.command("meta", "set", dead_metrics=["shares"])
    status, _, body = scene.request("facebook", f"/v26.0/{id}/insights?metric=views,shares", of="instagram")
    assert status == 400 and body["error"]["code"] == 100 and "metric" in body["error"]["message"]
    scene.standins.command("meta", "set", dead_metrics=[])
    scene.standins.command("meta", "post", id=id, state="processing")
    assert scene.request("facebook", f"/v26.0/{id}/insights?metric=views", of="instagram")[2] == {"data": []}
    scene.standins.command("meta", "post", id=id, state="public")


def test_graph_batch_responds_as_documented(scene):
    """[V]: entries are in the order of the operations; `body` is a string with JSON; a timed-out operation gives
    null."""
    ids = scene.ids["instagram"]
    scene.standins.fault("meta", "null", route="instagram.op", id=ids[1], times=1)
    operations = [{"method": "GET", "relative_url": f"v26.0/{id}/insights?metric=views,likes"} for id in (*ids[:2], "17900000000000999")]
    fields = {"access_token": scene.tokens["instagram"]["access_token"], "batch": json.dumps(operations)}
    status, body = scene.post_form("facebook", "/v26.0/", **fields)
    assert status == 200 and [entry and set(entry) for entry in body] == [{"code", "headers", "body"}, None, {"code", "headers", "body"}]
    usage = {header["name"]: header["value"] for header in body[0]["headers"]}["X-Business-Use-Case-Usage"]
    assert json.loads(usage)[ACCOUNT["instagram"]][0]["estimated_time_to_regain_access"] == 0
    assert json.loads(body[0]["body"])["data"][0]["values"] == [{"value": 10433}]
    assert body[2]["code"] == 400 and json.loads(body[2]["body"])["error"]["error_subcode"] == 33
    scene.standins.fault("meta", "error", route="instagram.batch", name="190.460", times=1)
    status, body = scene.post_form("facebook", "/v26.0/", **fields)
    assert status == 400 and (body["error"]["code"], body["error"]["error_subcode"], body["error"]["type"]) == (190, 460, "OAuthException")
    fields["batch"] = json.dumps(operations[:1] * 51)
    assert scene.post_form("facebook", "/v26.0/", **fields)[0] == 400
    assert "51 operations" in scene.violations()[0]


def test_facebook_responds_as_documented(scene):
    """Insights [V], counts without insights [P]"""
    id = scene.ids["facebook"][0]
    reel = f"/v26.0/{id}/video_insights?metric="
    status, _, body = scene.request("facebook", reel + "blue_reels_play_count,post_video_likes_by_reaction_type,post_video_social_actions")
    assert status == 200 and [entry["values"][0]["value"] for entry in body["data"]] == [10433, {"REACTION_LIKE": 384, "REACTION_LOVE": 128}, {"COMMENT": 31, "SHARE": 12}]
    assert scene.request("facebook", reel + "total_video_views")[2] == {"data": []}, "total_video_views of a Reel gives an empty list"
    status, _, body = scene.request("facebook", f"/v26.0/{id}?fields=views,likes.summary(true).limit(0),comments.filter(stream).summary(true).limit(0)")
    assert body == {"views": 10433, "likes": {"data": [], "summary": {"total_count": 512}}, "comments": {"data": [], "summary": {"order": "ranked", "total_count": 31}}, "id": id}
    scene.standins.command("facebook", "post", id=id, kind="video")
    assert scene.request("facebook", reel + "total_video_views,blue_reels_play_count")[2]["error"]["code"] == 100
    assert scene.request("facebook", reel + "total_video_views")[2]["data"][0]["values"] == [{"value": 10433}]
    scene.standins.command("facebook", "post", id=id, kind="reel", post_id="1000_77", shares=0)
    status, _, body = scene.request("facebook", "/v26.0/1000_77?fields=shares,reactions.summary(true).limit(0),comments.filter(stream).summary(true).limit(0)")
    assert "shares" not in body and body["reactions"]["summary"]["total_count"] == 512
    scene.standins.command("facebook", "post", id=id, shares=12, post_id=None)


def test_pinterest_responds_as_documented(scene):
    """[V: OpenAPI 5.23.0; P 2026-07-29]"""
    ids = scene.ids["pinterest"]
    status, head, body = scene.request("pinterest", PIN.format(ids[0]))
    assert status == 200 and body == {"all": {"daily_metrics": [{"data_status": "READY", "date": "2026-07-09", "metrics": {"VIDEO_MRC_VIEW": 10433, "SAVE": 4}}],
                                              "lifetime_metrics": {"TOTAL_REACTIONS": 512, "TOTAL_COMMENTS": 31}, "summary_metrics": {"VIDEO_MRC_VIEW": 10433, "SAVE": 4}}}
    assert head["x-ratelimit-limit"].startswith("60, 100;w=1;name=") and head["x-ratelimit-reset"].isdigit()
    bulk = "/v5/pins/analytics?pin_ids={}&start_date=2026-07-08&end_date=2026-07-10&metric_types=VIDEO_MRC_VIEW,SAVE"
    status, _, body = scene.request("pinterest", bulk.format(",".join(ids)))
    assert status == 401 and body == {"code": 3, "message": body["message"]}
    scene.standins.command("pinterest", "set", bulk_granted=True)
    scene.standins.command("pinterest", "post", id=ids[1], state="deleted")
    status, _, body = scene.request("pinterest", bulk.format(",".join(ids)))
    assert status == 200 and set(body) == {ids[0], ids[2]} and set(body[ids[0]]) == {"all"}
    assert scene.request("pinterest", PIN.format(ids[1]))[0] == 404
    scene.standins.command("pinterest", "set", bulk_granted=False)
    scene.standins.command("pinterest", "post", id=ids[1], state="public")
    assert scene.request("pinterest", PIN.format(ids[0]).replace("2026-07-08", "2026-07-10"))[2]["all"]["summary_metrics"] == {"VIDEO_MRC_VIEW": 0, "SAVE": 0}


def test_standins_enforce_limits(scene):
    """[V]"""
    scene.standins.command("pinterest", "limit", most=2)
    assert [scene.request("pinterest", PIN.format(scene.ids["pinterest"][0]))[0] for _ in range(3)][-1] == 429
    scene.standins.command("pinterest", "limit", most=60)
    scene.standins.command("tiktok", "limit", most=2)
    scene.tokens["tiktok"] = scene.standins.command("tiktok", "connect", account=ACCOUNT["tiktok"])
    statuses = [scene.request("tiktok", QUERY, "POST", {"filters": {"video_ids": scene.ids["tiktok"]}})[0] for _ in range(3)]
    assert statuses[-1] == 429
    scene.standins.command("tiktok", "limit", most=600)


INVALID_REQUESTS = [
    ("tiktok", "GET", QUERY, None, "GET /v2/video/query/"),
    ("tiktok", "POST", QUERY, {"filters": {"video_ids": [str(n) for n in range(21)]}}, "21 ids"),
    ("tiktok", "POST", QUERY, {"filters": {"video_ids": ["7", "7"]}}, "2 ids, 1 different"),
    ("tiktok", "POST", QUERY, {"filters": {"video_ids": ["v_pub_url~7"]}}, "not video ids"),
    ("tiktok", "POST", QUERY, {"filters": {"video_ids": [7]}}, "not {filters"),
    ("tiktok", "POST", "/v2/video/query/?fields=id,favorites_count", {"filters": {"video_ids": ["7"]}}, "fields"),
    ("tiktok", "POST", "/v2/video/other/", {}, "no such endpoint"),
    ("youtube", "GET", BATCH_GET + ",".join(f"id{n}" for n in range(51)), None, "51 ids"),
    ("youtube", "GET", BATCH_GET + "a&maxResults=50", None, "parameters"),
    ("youtube", "GET", BATCH_GET + f"a&key={MARK}", None, "either a token or an API key"),
    ("youtube", "GET", "/youtube/v3/videos?part=everything&id=a", None, "part"),
    ("facebook", "GET", "/v26.0/{fb}/video_insights?metric=post_impressions", None, "no metric of Facebook: post_impressions"),
    ("facebook", "GET", "/v20.0/{fb}/video_insights?metric=blue_reels_play_count", None, "v20.0 has expired"),
    ("facebook", "GET", "/{fb}/video_insights?metric=blue_reels_play_count", None, "no version"),
    ("facebook", "GET", "/v26.0/{fb}/video_insights?metric=blue_reels_play_count&access_token=x", None, "token in the URL"),
    ("facebook", "GET", "/v26.0/{fb}?fields=views,plays", None, "no field of a video: plays"),
    ("pinterest", "GET", PIN.format("1").replace("2026-07-08", "2026-03-01"), None, "dates"),
    ("pinterest", "GET", PIN.format("1").replace("2026-07-08", "2026-7-8"), None, "dates"),
    ("pinterest", "GET", PIN.format("1").replace("SAVE", "SAVES"), None, "metric_types"),
    ("pinterest", "GET", PIN.format("abc"), None, "not a pin id"),
]


@pytest.mark.parametrize("host, method, target, body, text", INVALID_REQUESTS, ids=[f"{row[0]}-{row[4]}" for row in INVALID_REQUESTS])
def test_invalid_request_is_recorded(scene, host, method, target, body, text):
    scene.tokens["tiktok"] = scene.standins.command("tiktok", "connect", account=ACCOUNT["tiktok"])
    status, _, _ = scene.request(host, target.replace("{fb}", scene.ids["facebook"][0]), method, body)
    recorded = scene.violations()
    assert recorded and text in recorded[0]
    assert status in (200, 400, 404)


def test_standins_check_request_headers(scene):
    ids = scene.ids["tiktok"]
    body = json.dumps({"filters": {"video_ids": ids}})
    assert scene.standins.request("tiktok", "POST", QUERY, body, {"Content-Type": "application/json"})[0] == 401
    assert "no Authorization" in scene.violations()[0]
    assert scene.request("tiktok", QUERY, "POST", body, headers={"Content-Type": "text/plain"})[0] == 400
    assert "content type" in scene.violations()[0]


@pytest.mark.parametrize("kind", ["reset", "not_http", "truncated"])
def test_broken_connection_fails_one_request(scene, kind):
    scene.standins.fault("youtube", kind, route="youtube.batch", times=1)
    with pytest.raises(Exception):
        scene.request("youtube", BATCH_GET + scene.ids["youtube"][0])
    assert scene.request("youtube", BATCH_GET + scene.ids["youtube"][0])[0] == 200


def test_faults_corrupt_one_body_as_requested(scene):
    ids = scene.ids["youtube"]

    def faulty_response(kind, **values):
        scene.standins.fault("youtube", kind, route="youtube.batch", times=1, **values)
        return scene.standins.request("youtube", "GET", BATCH_GET + ids[0], headers={"Authorization": f"Bearer {scene.tokens['youtube']['access_token']}"})

    assert b'"viewCount":1e3' in faulty_response("edit", count="viewCount", raw="1e3")[2]
    assert b"likeCount" not in faulty_response("drop", count="likeCount")[2]
    assert len(faulty_response("oversized", bytes=1_000_000)[2]) == 1_000_000
    status, head, text = faulty_response("gzip_bomb", bytes=20_000_000)
    assert head["Content-Encoding"] == "gzip" and len(text) < 100_000
    status, head, text = faulty_response("redirect", location="https://elsewhere.example/")
    assert status == 302 and head["Location"] == "https://elsewhere.example/"
    for kind in ("cut_json", "garbage", "utf8"):
        with pytest.raises(ValueError):
            json.loads(faulty_response(kind)[2].decode("utf-8"))
    assert faulty_response("nesting", depth=1000)[2].count(b"[") == 1000
    assert faulty_response("raw", status=503, body="no", headers={"Retry-After": "7"})[:2][0] == 503
    served = scene.standins.command("youtube", "served")
    assert ids[0] in served["failed"]
    assert scene.request("youtube", BATCH_GET + ids[0])[0] == 200
    assert ids[0] not in scene.standins.command("youtube", "served")["failed"]


def test_consent_page_returns_a_code_that_works_once(scene):
    """The consent page redirects with a code that can be exchanged for tokens once."""
    query = {"client_id": "client-of-pinterest", "redirect_uri": "https://here.example/back", "response_type": "code", "scope": "boards:read,pins:read", "state": "s"}
    status, head, _ = scene.standins.request("pinterest_auth", "GET", "/oauth/?" + urllib.parse.urlencode(query))
    back = urllib.parse.urlsplit(head["Location"])
    values = dict(urllib.parse.parse_qsl(back.query))
    assert status == 302 and back.netloc == "here.example" and values["state"] == "s"
    basic = {"Authorization": "Basic Y2xpZW50LW9mLXBpbnRlcmVzdDpMZUFrTWFSay1waW50ZXJlc3QtY2xpZW50LXNlY3JldA=="}
    fields = {"grant_type": "authorization_code", "code": values["code"], "redirect_uri": query["redirect_uri"]}
    status, body = scene.post_form("pinterest", "/v5/oauth/token", basic, **fields)
    assert status == 200 and body["scope"] == "boards:read pins:read" and body["refresh_token_expires_in"] == 5_184_000
    assert scene.post_form("pinterest", "/v5/oauth/token", basic, **fields)[0] == 400
    scene.standins.command("pinterest", "set", consent="access_denied")
    head = scene.standins.request("pinterest_auth", "GET", "/oauth/?" + urllib.parse.urlencode(query))[1]
    assert "error=access_denied" in head["Location"]
    scene.standins.command("pinterest", "set", consent="granted")
