"""TikTok: the Display API. Sources: the documentation of 2026-08-24 (video object), 2026-08-04 (rate limits),
2026-11-05 (tokens)."""
import json

from .state import Bucket, Rejected, Standin
from .wire import Response, read_pairs

# [V] all fields of the video object, 2026-08-24.
VIDEO_FIELDS = {"id", "create_time", "cover_image_url", "share_url", "video_description", "duration", "height", "width", "title", "embed_html",
                "embed_link", "like_count", "comment_count", "share_count", "view_count", "is_aigc"}
COUNT_FIELDS = {"view_count": "views", "like_count": "likes", "comment_count": "comments", "share_count": "shares"}
LOG_ID = "20220829194722CBE87ED59D524E727021"
IDS_MAX = 20               # [V]
# [V] the codes and their statuses; the texts differ between pages.
ERRORS = {
    "access_token_invalid": (401, "The access token is invalid or not found in the request."),
    "scope_not_authorized": (401, "The user did not authorize the scope required for completing this request."),
    "scope_permission_missed": (401, "The scope is missing."),
    "invalid_params": (400, "One or more fields in request is invalid."),
    "rate_limit_exceeded": (429, "The API rate limit was exceeded. Please try again later."),
    "internal_error": (500, "Something went wrong. Please try again later."),
    # The status is undocumented; an error may have status 200, so a program must always check the code.
    "reached_active_user_cap": (403, "The app has reached its cap of users."),
    "error_with_200": (200, "Something went wrong. Please try again later."),
}
# [V] another form, in which `error` is a string. The statuses are [K].
OAUTH_ERRORS = {
    "invalid_grant": (400, "Refresh token is invalid or expired."),
    "invalid_client": (401, "Client key or secret is incorrect."),
    "invalid_request": (400, "The request parameters are malformed."),
    "unsupported_grant_type": (400, "The grant type is not supported."),
    "server_error": (503, "The server is not available."),
}


class TikTok(Standin):
    NAME = "tiktok"
    HOSTS = ("tiktok", "tiktok_auth")
    SCOPES = ("user.info.basic", "video.list")
    PREFIX = ("act.", "rft.")
    ACCESS_SECONDS, REFRESH_SECONDS = 7200, 15_552_000          # [V] 2026-11-05; older pages: 86400 and 31536000

    def __init__(self, clock):
        super().__init__(clock)
        self.bucket = Bucket(600, 60_000)                       # [V] sliding, per endpoint; we assume per app

    def error(self, name):
        if name in OAUTH_ERRORS:
            status, text = OAUTH_ERRORS[name]
            return Response(status, {"error": name, "error_description": text, "log_id": LOG_ID})
        status, text = ERRORS[name]
        return Response(status, {"data": {}, "error": {"code": "internal_error" if name == "error_with_200" else name, "message": text, "log_id": LOG_ID}})

    def readable_counts(self, post):
        if post.state != "public" or post.publish_id:
            return {}
        return {name: post.counts[name] for name in COUNT_FIELDS.values() if name not in post.hidden}

    def respond(self, host, request):
        if host == "tiktok_auth":
            if request.path.rstrip("/") != "/v2/auth/authorize":                # [V] Login Kit for Web
                self.reject(f"no such page: {request.path}", "invalid_params")
            return self.authorize(request, query_id="client_key", separator=",")
        handler = {"/v2/video/query/": self.query, "/v2/oauth/token/": self.token, "/v2/post/publish/status/fetch/": self.publish_status,
                   "/v2/user/info/": self.user_info}.get(request.path)
        if not handler:
            self.route("tiktok.unknown")
            self.reject(f"no such endpoint: {request.method} {request.path}", "invalid_params")
        if request.method != ("GET" if handler == self.user_info else "POST"):
            self.reject(f"{request.method} {request.path}", "invalid_params")
        return handler(request)

    def user_info(self, request):
        """GET /v2/user/info/?fields=… [V: scope user.info.basic, fields open_id, union_id, avatar_url, display_name]"""
        self.route("tiktok.user_info")
        token = self.signed_in(request)
        if not token:
            raise Rejected(self.error("access_token_invalid"))
        if "user.info.basic" not in token.scopes:
            raise Rejected(self.error("scope_not_authorized"))
        fields = request.query.get("fields", "").split(",")
        if set(request.query) != {"fields"} or not set(fields) <= {"open_id", "union_id", "avatar_url", "display_name"}:
            self.reject(f"fields: {request.query}", "invalid_params")
        values = {"open_id": token.account.id, "display_name": token.account.name}
        return Response(200, {"data": {"user": {name: values.get(name, "") for name in fields}}, "error": {"code": "ok", "message": "", "log_id": LOG_ID}})

    def shows_consent(self, query):
        # [P] without this parameter TikTok authorizes the previous account without showing its page
        return query.get("disable_auto_auth") == "1"

    def signed_in(self, request):
        text = self.bearer(request)
        if text is None:
            self.violation("no Authorization: Bearer")
        return self.find_token(text)

    def read_json(self, request):
        if request.content_type != "application/json":
            self.reject(f"the content type is {request.content_type}", "invalid_params")
        try:
            return json.loads(request.body)
        except ValueError:
            self.reject("the body is not JSON", "invalid_params")

    def query(self, request):
        """POST /v2/video/query/?fields=… [V 2026-08-24]"""
        text = self.bearer(request)
        known = self.tokens.get(text)
        body = self.read_json(request)
        ids = body.get("filters", {}).get("video_ids") if isinstance(body, dict) and set(body) == {"filters"} else None
        self.route("tiktok.query", known and known.account.id, ids if isinstance(ids, list) else ())
        if not self.bucket.acquire(self.clock.mono_ms):
            raise Rejected(self.error("rate_limit_exceeded"))
        token = self.signed_in(request)
        if not token:
            raise Rejected(self.error("access_token_invalid"))
        if "video.list" not in token.scopes:
            raise Rejected(self.error("scope_not_authorized"))
        if not isinstance(ids, list) or not ids or set(body["filters"]) != {"video_ids"} or not all(isinstance(id, str) for id in ids):
            self.reject(f"not {{filters: {{video_ids: […]}}}}: {body}", "invalid_params")
        if len(ids) > IDS_MAX or len(set(ids)) < len(ids):
            self.reject(f"{len(ids)} ids, {len(set(ids))} different", "invalid_params")
        if not all(id.isdigit() for id in ids):
            self.reject(f"not video ids: {ids}", "invalid_params")
        fields = request.query.get("fields", "").split(",")
        if set(request.query) != {"fields"} or not set(fields) <= VIDEO_FIELDS or "id" not in fields or len(set(fields)) < len(fields):
            self.reject(f"fields: {request.query}", "invalid_params")
        videos, served = [], {}
        for id in ids:
            post = self.posts.get(id)
            if not post or post.account is not token.account or post.state != "public":
                continue                                        # [P] the response omits it
            video = {"id": id}
            served[id] = {}
            for field in fields:
                name = COUNT_FIELDS.get(field)
                if name and name not in post.hidden:
                    video[field] = served[id][name] = post.counts[name]
            videos.append(video)
        return Response(200, {"data": {"videos": videos}, "error": {"code": "ok", "message": "", "log_id": LOG_ID}}, served=served)

    def publish_status(self, request):
        """POST /v2/post/publish/status/fetch/ [V: including the misspelled field]"""
        body = self.read_json(request)
        id = body.get("publish_id") if isinstance(body, dict) else None
        token = self.tokens.get(self.bearer(request))
        self.route("tiktok.publish_status", token and token.account.id, [id] if id else [])
        if not self.signed_in(request):
            raise Rejected(self.error("access_token_invalid"))
        if not {"video.publish", "video.upload"} & self.tokens[self.bearer(request)].scopes:       # [V]
            raise Rejected(self.error("scope_not_authorized"))
        post = next((post for post in self.posts.values() if post.publish_id == id and post.account is token.account), None)
        if not post:
            raise Rejected(self.error("invalid_params"))
        done = post.state == "public"
        data = {"status": "PUBLISH_COMPLETE" if done else "PROCESSING_UPLOAD"}
        if done:
            data["publicaly_available_post_id"] = [int(post.id)]
        return Response(200, {"data": data, "error": {"code": "ok", "message": "", "log_id": LOG_ID}}, served={})

    def token(self, request):
        """POST /v2/oauth/token/ [V 2026-11-02]"""
        form, repeated, broken = read_pairs(request.body.decode("utf-8", "replace"))
        kind = form.get("grant_type")
        owner, _ = self.refreshes.get(form.get("refresh_token"), (None, None))
        self.route(f"tiktok.token.{kind}", owner and owner.id)
        if request.content_type != "application/x-www-form-urlencoded" or broken or repeated:
            self.reject(f"not a form: {request.content_type}", "invalid_request")
        if request.query:
            self.violation(f"a query at the token endpoint: {sorted(request.query)}")
        if form.get("client_key") != self.client_id or form.get("client_secret") != self.client_secret:
            raise Rejected(self.error("invalid_client"))
        if kind == "refresh_token":
            if set(form) != {"client_key", "client_secret", "grant_type", "refresh_token"}:
                self.reject(f"fields of a refresh: {sorted(form)}", "invalid_request")
            account = self.refresh_owner(form["refresh_token"])
            if not account:
                raise Rejected(self.error("invalid_grant"))
        elif kind == "authorization_code":
            if not {"code", "redirect_uri"} <= set(form) or not set(form) <= {"client_key", "client_secret", "grant_type", "code", "redirect_uri", "code_verifier"}:
                self.reject(f"fields of an exchange: {sorted(form)}", "invalid_request")
            grant = self.redeem_code(form["code"], form["redirect_uri"], form.get("code_verifier"))
            if not grant:
                raise Rejected(self.error("invalid_grant"))
            account, account.scopes = grant[0], grant[1]
        else:
            raise Rejected(self.error("unsupported_grant_type"))
        return Response(200, {"access_token": self.issue(account), "expires_in": self.access_seconds, "open_id": account.id,
                            "refresh_expires_in": self.refresh_seconds, "refresh_token": self.issue_refresh(account),
                            "scope": self.scope_text(account), "token_type": "Bearer"}, served={})
