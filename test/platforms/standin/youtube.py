"""YouTube: the Data API v3, with videos:batchGetStats, which was introduced on 2026-06-03, and the quota buckets of
2026-06-01."""
import datetime

from .state import Rejected, Standin
from .wire import Response, read_pairs

COUNT_FIELDS = {"viewCount": "views", "likeCount": "likes", "commentCount": "comments"}
IDS_MAX = 50               # [V] for videos.list, [P] for batchGetStats
SCOPE = "https://www.googleapis.com/auth/youtube.readonly"
READ_SCOPES = {SCOPE, "https://www.googleapis.com/auth/youtube", "https://www.googleapis.com/auth/youtube.force-ssl",
               "https://www.googleapis.com/auth/youtubepartner"}         # [V] any of these
# [V] reason -> (status, domain, text).
ERRORS = {
    "quotaExceeded": (403, "youtube.quota", "The request cannot be completed because you have exceeded your quota."),
    "dailyLimitExceeded": (403, "usageLimits", "Daily Limit Exceeded."),
    "rateLimitExceeded": (403, "usageLimits", "Rate Limit Exceeded"),
    "authError": (401, "global", "Invalid Credentials"),
    "forbidden": (403, "global", "Access forbidden."),
    "authenticatedUserAccountClosed": (401, "youtube.common", "The YouTube account of the authenticated user is closed."),
    "authenticatedUserAccountSuspended": (403, "youtube.common", "The YouTube account of the authenticated user is suspended."),
    "badRequest": (400, "global", "Bad Request"),
    "invalidParameter": (400, "global", "Invalid value"),
    "backendError": (503, "global", "Backend Error"),
    "internalError": (500, "global", "Internal error"),
}
OAUTH_ERRORS = {"invalid_grant": (400, "Token has been expired or revoked."),      # [V]; `error` is a string here
                "invalid_client": (401, "The OAuth client was not found."),
                "invalid_request": (400, "Missing or wrong parameter."), "server_error": (503, "Try again later.")}


def first_sunday(year, month):
    day = datetime.date(year, month, 1)
    return day + datetime.timedelta((6 - day.weekday()) % 7)


def pacific_day(ms):
    """Returns the date in Los Angeles, by which quotas are counted [V], with the daylight saving rule since 2007."""
    utc = datetime.datetime.utcfromtimestamp(ms / 1000)
    begin = datetime.datetime.combine(first_sunday(utc.year, 3) + datetime.timedelta(7), datetime.time(10))
    end = datetime.datetime.combine(first_sunday(utc.year, 11), datetime.time(9))
    return (utc - datetime.timedelta(hours=7 if begin <= utc < end else 8)).date()


class YouTube(Standin):
    NAME = "youtube"
    HOSTS = ("youtube", "google_auth", "google_oauth")
    SCOPES = (SCOPE,)
    PREFIX = ("ya29.", "1//")
    ACCESS_SECONDS, REFRESH_SECONDS = 3599, None
    ONE_CALL_PER_ACCOUNT = False

    def __init__(self, clock):
        super().__init__(clock)
        self.units = {"batch": 10_000, "list": 10_000}           # [V] per day in Pacific time
        self.used = {}
        self.daily_as = "daily"                                  # the error for a spent quota: daily [live 2026] or quotaExceeded [V]
        self.as_integers = False                                 # [P] counts as numbers, not strings
        self.with_summary = True                                 # [P] the summary may be missing
        self.rotates = False                                     # a refresh normally returns no new refresh token [V]

    def error(self, name):
        if name in OAUTH_ERRORS:
            status, text = OAUTH_ERRORS[name]
            return Response(status, {"error": name, "error_description": text})
        if name == "RATE_LIMIT_EXCEEDED":                        # [V] the newer form
            return Response(429, {"error": {"code": 429, "message": "Quota exceeded.", "status": "RESOURCE_EXHAUSTED", "details": [
                {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": name, "domain": "youtube.googleapis.com"}]}})
        if name == "daily":                                      # [live 2026] the reason is that of a rate limit; only quota_unit shows that it is the daily quota
            text = "Quota exceeded for quota metric 'Queries' and limit 'Queries per day' of service 'youtube.googleapis.com' for consumer 'project_number:1'."
            return Response(429, {"error": {"code": 429, "message": text, "errors": [{"message": text, "domain": "global", "reason": "rateLimitExceeded"}],
                                          "status": "RESOURCE_EXHAUSTED", "details": [
                {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "RATE_LIMIT_EXCEEDED", "domain": "googleapis.com", "metadata": {
                    "quota_location": "global", "window_start_time": "1790319600", "quota_limit": "defaultPerDayPerProject", "consumer": "projects/1",
                    "quota_unit": "1/d/{project}", "service": "youtube.googleapis.com", "quota_limit_value": "10000"}}]}})
        status, domain, text = ERRORS[name]
        detail = {"message": text, "domain": domain, "reason": name}
        error = {"code": status, "message": text, "errors": [detail]}
        if name == "authError":
            detail.update(location="Authorization", locationType="header")
            error.update(message="Request had invalid authentication credentials.", status="UNAUTHENTICATED")
        return Response(status, {"error": error})

    def readable_counts(self, post):
        if post.state not in ("public", "unlisted", "private"):
            return {}
        return {name: post.counts[name] for name in COUNT_FIELDS.values() if name not in post.hidden}

    def respond(self, host, request):
        if host == "google_auth":
            if request.path != "/o/oauth2/v2/auth":
                self.reject(f"no such page: {request.path}", "badRequest")
            if request.query.get("access_type") != "offline":
                self.violation("access_type is not offline, so there is no refresh token")     # [V]
            return self.authorize(request)
        if host == "google_oauth":
            return self.token(request)
        if request.method != "GET":
            self.reject(f"{request.method} {request.path}", "badRequest")
        if request.path == "/youtube/v3/videos:batchGetStats":
            return self.read(request, "youtube.batch", "batch", {"id", "snippet", "statistics", "contentDetails"}, self.batch_body)
        if request.path == "/youtube/v3/videos":
            return self.read(request, "youtube.list", "list", {"id", "statistics", "status", "snippet"}, self.list_body)
        if request.path == "/youtube/v3/channels":
            return self.channels(request)
        self.route("youtube.unknown")
        self.reject(f"no such endpoint: {request.path}", "badRequest")

    def caller(self, request):
        """Returns the token, or None for an API key. YouTube accepts both together; we never send both."""
        text, key = self.bearer(request), request.query.get("key")
        if (text is None) == (key is None):
            self.violation("either a token or an API key is required")
        if key is not None:
            if key != self.api_key:
                raise Rejected(self.error("badRequest"))
            return None
        token = self.find_token(text)
        if not token:
            raise Rejected(self.error("authError"))
        if not token.scopes & READ_SCOPES:
            raise Rejected(self.error("forbidden"))
        return token

    def spend(self, bucket):
        day = pacific_day(self.clock.wall_ms)
        used = self.used.setdefault((day, bucket), 0)
        if used >= self.units[bucket]:
            raise Rejected(self.error(self.daily_as))
        self.used[day, bucket] = used + 1                        # [V] an invalid request costs 1 too

    def read(self, request, route, bucket, parts, body):
        ids = request.query.get("id", "").split(",")
        text = self.bearer(request)
        known = self.tokens.get(text)
        self.route(route, known and known.account.id, ids)
        self.spend(bucket)
        token = self.caller(request)
        requested = request.query.get("part", "").split(",")
        if not set(requested) <= parts or len(set(requested)) < len(requested) or "statistics" not in requested:
            self.reject(f"part: {request.query.get('part')}", "invalidParameter")
        if not set(request.query) <= {"part", "id", "key", "fields"}:
            self.reject(f"parameters: {sorted(request.query)}", "invalidParameter")
        if not ids or len(ids) > IDS_MAX or len(set(ids)) < len(ids) or not all(ids):
            self.reject(f"{len(ids)} ids, {len(set(ids))} different", "invalidParameter")
        found, served = [], {}
        for id in ids:
            post = self.posts.get(id)
            is_owner = post and token and post.account is token.account
            if post and (post.state in ("public", "unlisted") or (post.state == "private" and is_owner)):
                served[id] = {name: post.counts[name] for name in COUNT_FIELDS.values() if name not in post.hidden}
                found.append(post)
        return Response(200, body(found, ids, requested, token), served=served)

    def statistics(self, post):
        write = int if self.as_integers else str                 # [V] strings; [P] integers occur too
        return {field: write(post.counts[name]) for field, name in COUNT_FIELDS.items() if name not in post.hidden}

    def batch_body(self, found, ids, requested, _):
        """[V 2026-06-03]"""
        items = [{"kind": "youtube#videoStats", "etag": "e", "id": post.id, "statistics": self.statistics(post)} for post in found]
        result = {"kind": "youtube#batchGetStatsResponse", "etag": "e", "items": items}
        if self.with_summary:
            readable = {post.id for post in found}
            missing = [id for id in ids if id not in readable]
            result["summary"] = {"requestedVideoCount": len(ids), "succeededVideoCount": len(found), "failedVideoCount": len(missing), "failedVideoIds": missing}
        return result

    def list_body(self, found, ids, requested, token):
        """[V]"""
        items = []
        for post in found:
            item = {"kind": "youtube#video", "etag": "e", "id": post.id, "statistics": {**self.statistics(post), "favoriteCount": "0"}}
            if "status" in requested and token and post.account is token.account:
                item["status"] = {"uploadStatus": "processed", "privacyStatus": post.state}
            items.append(item)
        return {"kind": "youtube#videoListResponse", "etag": "e", "items": items, "pageInfo": {"totalResults": len(items), "resultsPerPage": len(items)}}

    def channels(self, request):
        """GET /youtube/v3/channels?part=id&mine=true [K]"""
        token = self.tokens.get(self.bearer(request))
        self.route("youtube.channels", token and token.account.id)
        self.spend("list")
        token = self.caller(request)
        if not token or request.query.get("mine") != "true" or "id" not in request.query.get("part", "").split(","):
            self.reject(f"channels: {request.query}", "invalidParameter")
        return Response(200, {"kind": "youtube#channelListResponse", "etag": "e", "pageInfo": {"totalResults": 1, "resultsPerPage": 5},
                            "items": [{"kind": "youtube#channel", "etag": "e", "id": token.account.id, "snippet": {"title": token.account.name}}]}, served={})

    def token(self, request):
        """POST https://oauth2.googleapis.com/token [V]"""
        form, repeated, broken = read_pairs(request.body.decode("utf-8", "replace"))
        kind = form.get("grant_type")
        owner, _ = self.refreshes.get(form.get("refresh_token"), (None, None))
        self.route(f"youtube.token.{kind}", owner and owner.id)
        if request.path != "/token" or request.method != "POST" or request.content_type != "application/x-www-form-urlencoded" or broken or repeated:
            self.reject(f"{request.method} {request.path} {request.content_type}", "invalid_request")
        if form.get("client_id") != self.client_id or form.get("client_secret") != self.client_secret:
            raise Rejected(self.error("invalid_client"))
        if kind == "refresh_token":
            if set(form) != {"client_id", "client_secret", "refresh_token", "grant_type"}:
                self.reject(f"fields of a refresh: {sorted(form)}", "invalid_request")
            account = self.refresh_owner(form["refresh_token"])
            if not account:
                raise Rejected(self.error("invalid_grant"))
        elif kind == "authorization_code":
            grant = self.redeem_code(form.get("code"), form.get("redirect_uri"), form.get("code_verifier"))
            if not grant:
                raise Rejected(self.error("invalid_grant"))
            account, account.scopes = grant[0], grant[1]
        else:
            self.reject(f"grant_type {kind}", "invalid_request")
        result = {"access_token": self.issue(account), "expires_in": self.access_seconds, "scope": " ".join(sorted(account.scopes)), "token_type": "Bearer"}
        if kind == "authorization_code" or self.rotates:
            result["refresh_token"] = self.issue_refresh(account)
        return Response(200, result, served={})

    def scope_text(self, account):
        return " ".join(sorted(account.scopes))
