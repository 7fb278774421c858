"""Pinterest v5. Sources: OpenAPI 5.23.0 of 2025-12-11; rate page and headers of 2026."""
import base64
import datetime

from .state import Bucket, DAY, Rejected, Standin
from .wire import Response, read_pairs

# [V] the metrics of a pin; in which object each one is returned was observed on 2026-07-29 [P].
LIFETIME = {"TOTAL_COMMENTS": "comments", "TOTAL_REACTIONS": "likes"}
SUMMARY = {"SAVE": "saves", "VIDEO_MRC_VIEW": "views"}
KNOWN = {*LIFETIME, *SUMMARY, "IMPRESSION", "OUTBOUND_CLICK", "PIN_CLICK", "SAVE_RATE", "USER_FOLLOW", "PROFILE_VISIT", "VIDEO_AVG_WATCH_TIME",
         "VIDEO_V50_WATCH_TIME", "QUARTILE_95_PERCENT_VIEW", "VIDEO_10S_VIEW", "VIDEO_START", "ALL"}
BULK_MAX = 100             # [V]
DAYS_MAX = 90              # [V]
# name -> (status, code, message) [V unless noted]
ERRORS = {
    "bad_parameters": (400, 400, "Invalid parameters"), "bad_parameters_bulk": (400, 1, "Invalid parameters."),
    "authentication_failed": (401, 2, "Authentication failed."),
    "not_authorized_bulk": (401, 7, "Not authorized to access board or Pin."),
    "restricted": (401, 3, "Your application does not have access to this restricted feature."),        # [P]
    "forbidden": (403, 403, "Not authorized to access board or Pin."), "not_permitted": (403, 29, "You are not permitted to access that resource."),
    "not_found": (404, 404, "Pin not found."), "not_found_50": (404, 50, "Pin not found."),              # code 50 for a single pin: [P]
    "rate": (429, 8, "This request exceeded a rate limit. Please retry later."),
    "server_error": (500, 0, "Something went wrong."),
    # Errors of the token endpoint have the same form; the codes are not documented [K].
    "invalid_grant": (400, 283, "Invalid refresh token"), "invalid_client": (401, 2, "Authentication failed."), "invalid_request": (400, 1, "Invalid request"),
}


def day_of(text):
    try:
        return datetime.date.fromisoformat(text) if len(text) == 10 else None
    except ValueError:
        return None


class Pinterest(Standin):
    NAME = "pinterest"
    HOSTS = ("pinterest", "pinterest_auth")
    SCOPES = ("boards:read", "pins:read", "user_accounts:read")
    PREFIX = ("pina_", "pinr.")
    ACCESS_SECONDS, REFRESH_SECONDS = 2_592_000, 5_184_000      # [V]

    def __init__(self, clock):
        super().__init__(clock)
        self.buckets = {}                                       # [V] org_analytics, per user per app
        self.analytics_per_minute = 60
        self.bulk_granted = False                               # [V] granted per app
        self.mixing = True                                      # [P] whether one request may have both kinds: True, False (400), or "silent": lifetime metrics are omitted
        self.fractions = False                                  # counts as 20.0 instead of 20
        self.rate_text = None
        self.data_status = "READY"

    def error(self, name):
        status, code, text = ERRORS[name]
        return Response(status, {"code": code, "message": text})

    def readable_counts(self, post):
        if post.state not in ("public", "private"):
            return {}
        return {name: post.counts[name] for name in ("views", "likes", "comments", "saves") if name not in post.hidden}

    def respond(self, host, request):
        path = request.path
        if host == "pinterest_auth":
            if path != "/oauth/":                               # [V]
                self.reject(f"no such page: {path}", "bad_parameters")
            return self.authorize(request, separator=",")
        if path == "/v5/oauth/token":
            return self.token(request)
        if request.method != "GET":
            self.reject(f"{request.method} {path}", "bad_parameters")
        if path == "/v5/user_account":
            token = self.signed_in(request, "pinterest.user_account", ())
            # [V: the fields that we use are in Account of the specification]
            return Response(200, {"account_type": token.account.kind, "id": token.account.id, "username": token.account.name}, served={})
        parts = path.split("/")
        if path == "/v5/pins/analytics":
            return self.bulk_analytics(request)
        if len(parts) == 5 and parts[2] == "pins" and parts[4] == "analytics":
            return self.pin_analytics(request, parts[3])
        self.route("pinterest.unknown")
        self.reject(f"no such endpoint: {path}", "bad_parameters")

    def signed_in(self, request, route, ids):
        text = self.bearer(request)
        known = self.tokens.get(text)
        self.route(route, known and known.account.id, ids)
        if text is None:
            self.violation("no Authorization: Bearer")
        token = self.find_token(text)
        if not token:
            raise Rejected(self.error("authentication_failed"))
        return token

    def acquire(self, token):
        if token.account.kind == "PINNER":                      # [V] only business accounts have analytics
            raise Rejected(self.error("not_permitted"))
        bucket = self.buckets.setdefault(token.account.id, Bucket(self.analytics_per_minute, 60_000))
        bucket.most = self.analytics_per_minute
        if not bucket.acquire(self.clock.mono_ms):
            rejected = self.error("rate")
            rejected.headers += self.rate_headers(bucket)
            raise Rejected(rejected)
        return self.rate_headers(bucket)

    def rate_headers(self, bucket):
        """[P, live 2026-07-29] structured text; reset is in seconds"""
        most = bucket.most or 60
        limit = self.rate_text or f'{most}, 100;w=1;name="safety_net_app_id_user_id", {most};w=60;name="org_analytics_app_id_user_id"'
        return [("x-ratelimit-limit", limit), ("x-ratelimit-remaining", str(bucket.left() if bucket.most else 59)), ("x-ratelimit-reset", "12")]

    def read_query(self, request, more, error):
        query = request.query
        allowed = {"start_date", "end_date", "metric_types", "app_types", "split_field", *more}
        begin, end = day_of(query.get("start_date", "")), day_of(query.get("end_date", ""))
        metrics = query.get("metric_types", "").split(",")
        today = datetime.date(1970, 1, 1) + datetime.timedelta(days=self.clock.wall_ms // DAY)
        if not set(query) <= allowed or query.get("app_types", "ALL") != "ALL" or query.get("split_field", "NO_SPLIT") != "NO_SPLIT":
            self.reject(f"parameters: {query}", error)
        if not begin or not end or begin > end or (today - begin).days > DAYS_MAX or (end - begin).days > DAYS_MAX or end > today:
            self.reject(f"dates: {query}", error)
        if not set(metrics) <= KNOWN or len(set(metrics)) < len(metrics):
            self.reject(f"metric_types: {metrics}", error)
        mixed = bool(set(metrics) & set(LIFETIME) and set(metrics) - set(LIFETIME))
        self.record["mixed"] = mixed
        if mixed and self.mixing == "silent":
            return begin, end, [metric for metric in metrics if metric not in LIFETIME]
        if mixed and not self.mixing:
            raise Rejected(self.error(error))                    # not a violation, because the evidence conflicts
        return begin, end, metrics

    def format_count(self, value):
        return float(value) if self.fractions else value

    def analytics(self, post, begin, end, metrics):
        """All views and saves of a pin count for the day of its posting: a date range without this day has none."""
        day = datetime.date(1970, 1, 1) + datetime.timedelta(days=post.posted_at // DAY)
        inside = begin <= day <= end
        served = {}
        summary, lifetime = {}, {}
        for metric in metrics:
            where, name = (lifetime, LIFETIME[metric]) if metric in LIFETIME else (summary, SUMMARY.get(metric))
            if name and name not in post.hidden:
                value = post.counts[name] if where is lifetime or inside else 0
                where[metric] = self.format_count(value)
                served[name] = value
        days = [{"data_status": self.data_status, "date": day.isoformat(), "metrics": dict(summary)}] if inside else []
        return {"all": {"daily_metrics": days, "lifetime_metrics": lifetime, "summary_metrics": summary}}, served

    def pin_analytics(self, request, id):
        """GET /v5/pins/{pin_id}/analytics [V]"""
        token = self.signed_in(request, "pinterest.pin", [id])
        headers = self.acquire(token)
        begin, end, metrics = self.read_query(request, (), "bad_parameters")
        if not {"boards:read", "pins:read"} <= token.scopes:
            raise Rejected(self.error("forbidden"))
        post = self.posts.get(id)
        if not id.isdigit():
            self.reject(f"not a pin id: {id}", "bad_parameters")
        if not post or post.state == "deleted":
            raise Rejected(self.error("not_found"))
        if post.account is not token.account:
            raise Rejected(self.error("forbidden"))
        if post.state == "early":                               # [P] video metrics of an image pin may give 400
            raise Rejected(self.error("bad_parameters"))
        body, served = self.analytics(post, begin, end, metrics)
        return Response(200, body, headers, {id: served})

    def bulk_analytics(self, request):
        """GET /v5/pins/analytics?pin_ids=… [V], granted per app"""
        ids = request.query.get("pin_ids", "").split(",")
        token = self.signed_in(request, "pinterest.bulk", ids)
        if not self.bulk_granted:
            raise Rejected(self.error("restricted"))
        begin, end, metrics = self.read_query(request, ("pin_ids",), "bad_parameters_bulk")
        if not 1 <= len(ids) <= BULK_MAX or len(set(ids)) < len(ids) or not all(id.isdigit() for id in ids):
            self.reject(f"{len(ids)} ids, {len(set(ids))} different", "bad_parameters_bulk")
        if any(id in self.posts and self.posts[id].account is not token.account for id in ids):
            raise Rejected(self.error("not_authorized_bulk"))
        body, served = {}, {}
        for id in ids:
            post = self.posts.get(id)
            if post and post.state in ("public", "private"):    # [V] pins without data are omitted
                found, numbers = self.analytics(post, begin, end, metrics)
                if numbers:
                    body[id], served[id] = found, numbers
        # [P] the bulk endpoint has a rate limit of its own
        return Response(200, body, [("x-ratelimit-limit", '100, 100;w=1;name="multi_pins_analytics"'), ("x-ratelimit-remaining", "99"), ("x-ratelimit-reset", "1")], served)

    def token(self, request):
        """POST /v5/oauth/token [V; values P]"""
        form, repeated, broken = read_pairs(request.body.decode("utf-8", "replace"))
        kind = form.get("grant_type")
        owner, _ = self.refreshes.get(form.get("refresh_token"), (None, None))
        self.route(f"pinterest.token.{kind}", owner and owner.id)
        if request.method != "POST" or request.content_type != "application/x-www-form-urlencoded" or broken or repeated:
            self.reject(f"not a form: {request.method} {request.content_type}", "invalid_request")
        basic = base64.b64encode(f"{self.client_id}:{self.client_secret}".encode()).decode()
        if not request.header("authorization").startswith("Basic "):
            self.violation("no Authorization: Basic at the token endpoint")
        if request.header("authorization") != f"Basic {basic}":
            raise Rejected(self.error("invalid_client"))
        if kind == "refresh_token":
            if not {"grant_type", "refresh_token"} <= set(form) or not set(form) <= {"grant_type", "refresh_token", "scope", "continuous_refresh"}:
                self.reject(f"fields of a refresh: {sorted(form)}", "invalid_request")
            account = self.refresh_owner(form["refresh_token"])
        elif kind == "authorization_code":
            grant = self.redeem_code(form.get("code"), form.get("redirect_uri"))
            account = grant and grant[0]
            if account:
                account.scopes = grant[1]
        else:
            self.reject(f"grant_type {kind}", "invalid_request")
        if not account:
            raise Rejected(self.error("invalid_grant"))
        return Response(200, {"response_type": kind, "access_token": self.issue(account), "token_type": "bearer", "expires_in": self.access_seconds,
                            "scope": " ".join(sorted(account.scopes)), "refresh_token": self.issue_refresh(account),
                            "refresh_token_expires_in": self.refresh_seconds,
                            "refresh_token_expires_at": self.clock.wall_ms // 1000 + self.refresh_seconds}, served={})

    def scope_text(self, account):
        return " ".join(sorted(account.scopes))
