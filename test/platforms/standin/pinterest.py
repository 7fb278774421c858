"""Pinterest v5 (platforms page §6). OpenAPI 5.23.0 of 2025-12-11; rate page and headers of 2026."""
import base64
import datetime

from .state import Bucket, DAY, Refused, Standin
from .wire import Answer, read_pairs

# [V] what may be asked of a pin; where each number is was measured 2026-07-29 [P].
LIFETIME = {"TOTAL_COMMENTS": "comments", "TOTAL_REACTIONS": "likes"}
SUMMARY = {"SAVE": "saves", "VIDEO_MRC_VIEW": "views"}
KNOWN = {*LIFETIME, *SUMMARY, "IMPRESSION", "OUTBOUND_CLICK", "PIN_CLICK", "SAVE_RATE", "USER_FOLLOW", "PROFILE_VISIT", "VIDEO_AVG_WATCH_TIME",
         "VIDEO_V50_WATCH_TIME", "QUARTILE_95_PERCENT_VIEW", "VIDEO_10S_VIEW", "VIDEO_START", "ALL"}
BULK_MOST = 100             # [V]
DAYS_MOST = 90              # [V]
# name -> (status, code, message) [V, but where noted]
ERRORS = {
    "bad_parameters": (400, 400, "Invalid parameters"), "bad_parameters_bulk": (400, 1, "Invalid parameters."),
    "authentication_failed": (401, 2, "Authentication failed."),
    "not_authorized_bulk": (401, 7, "Not authorized to access board or Pin."),
    "restricted": (401, 3, "Your application does not have access to this restricted feature."),        # [P]
    "forbidden": (403, 403, "Not authorized to access board or Pin."), "not_permitted": (403, 29, "You are not permitted to access that resource."),
    "not_found": (404, 404, "Pin not found."), "not_found_50": (404, 50, "Pin not found."),              # 50 for one pin: [P]
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
        self.mixing = True                                      # [P] whether both kinds go into one request: True, False (400), or "silent": lifetime metrics are left out
        self.fractions = False                                  # 20.0 for 20
        self.rate_text = None
        self.data_status = "READY"

    def error(self, name):
        status, code, text = ERRORS[name]
        return Answer(status, {"code": code, "message": text})

    def measurable(self, post):
        if post.state not in ("public", "private"):
            return {}
        return {name: post.counts[name] for name in ("views", "likes", "comments", "saves") if name not in post.hidden}

    def answer(self, host, request):
        path = request.path
        if host == "pinterest_auth":
            if path != "/oauth/":                               # [V]
                self.refuse(f"no such page: {path}", "bad_parameters")
            return self.authorize(request, separator=",")
        if path == "/v5/oauth/token":
            return self.token(request)
        if request.method != "GET":
            self.refuse(f"{request.method} {path}", "bad_parameters")
        if path == "/v5/user_account":
            token = self.signed_in(request, "pinterest.user_account", ())
            # [V: the fields we use are of the specification's Account]
            return Answer(200, {"account_type": token.account.kind, "id": token.account.id, "username": token.account.name}, served={})
        parts = path.split("/")
        if path == "/v5/pins/analytics":
            return self.many(request)
        if len(parts) == 5 and parts[2] == "pins" and parts[4] == "analytics":
            return self.one(request, parts[3])
        self.route("pinterest.unknown")
        self.refuse(f"no such endpoint: {path}", "bad_parameters")

    def signed_in(self, request, route, ids):
        text = self.bearer(request)
        known = self.tokens.get(text)
        self.route(route, known and known.account.id, ids)
        if text is None:
            self.violation("no Authorization: Bearer")
        token = self.find_token(text)
        if not token:
            raise Refused(self.error("authentication_failed"))
        return token

    def take(self, token, answer_error):
        if token.account.kind == "PINNER":                      # [V] analytics are for business accounts
            raise Refused(self.error("not_permitted"))
        bucket = self.buckets.setdefault(token.account.id, Bucket(self.analytics_per_minute, 60_000))
        bucket.most = self.analytics_per_minute
        if not bucket.take(self.clock.mono_ms):
            refused = self.error("rate")
            refused.headers += self.rate_headers(bucket)
            raise Refused(refused)
        return self.rate_headers(bucket)

    def rate_headers(self, bucket):
        """[P, live 2026-07-29] structured text, seconds until it begins anew"""
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
            self.refuse(f"parameters: {query}", error)
        if not begin or not end or begin > end or (today - begin).days > DAYS_MOST or (end - begin).days > DAYS_MOST or end > today:
            self.refuse(f"dates: {query}", error)
        if not set(metrics) <= KNOWN or len(set(metrics)) < len(metrics):
            self.refuse(f"metric_types: {metrics}", error)
        mixed = bool(set(metrics) & set(LIFETIME) and set(metrics) - set(LIFETIME))
        self.record["mixed"] = mixed
        if mixed and self.mixing == "silent":
            return begin, end, [metric for metric in metrics if metric not in LIFETIME]
        if mixed and not self.mixing:
            raise Refused(self.error(error))                    # no violation: the evidence conflicts
        return begin, end, metrics

    def number(self, value):
        return float(value) if self.fractions else value

    def analytics(self, post, begin, end, metrics):
        """All of a pin's numbers are of the day it was posted: a window that leaves it out has none of them."""
        day = datetime.date(1970, 1, 1) + datetime.timedelta(days=post.posted_at // DAY)
        inside = begin <= day <= end
        served = {}
        summary, lifetime = {}, {}
        for metric in metrics:
            where, name = (lifetime, LIFETIME[metric]) if metric in LIFETIME else (summary, SUMMARY.get(metric))
            if name and name not in post.hidden:
                value = post.counts[name] if where is lifetime or inside else 0
                where[metric] = self.number(value)
                served[name] = value
        days = [{"data_status": self.data_status, "date": day.isoformat(), "metrics": dict(summary)}] if inside else []
        return {"all": {"daily_metrics": days, "lifetime_metrics": lifetime, "summary_metrics": summary}}, served

    def one(self, request, id):
        """GET /v5/pins/{pin_id}/analytics [V]"""
        token = self.signed_in(request, "pinterest.pin", [id])
        headers = self.take(token, "rate")
        begin, end, metrics = self.read_query(request, (), "bad_parameters")
        if not {"boards:read", "pins:read"} <= token.scopes:
            raise Refused(self.error("forbidden"))
        post = self.posts.get(id)
        if not id.isdigit():
            self.refuse(f"no id of a pin: {id}", "bad_parameters")
        if not post or post.state == "deleted":
            raise Refused(self.error("not_found"))
        if post.account is not token.account:
            raise Refused(self.error("forbidden"))
        if post.state == "early":                               # [P] metrics of videos may give 400 on a pin with an image
            raise Refused(self.error("bad_parameters"))
        body, served = self.analytics(post, begin, end, metrics)
        return Answer(200, body, headers, {id: served})

    def many(self, request):
        """GET /v5/pins/analytics?pin_ids=… [V], granted per app"""
        ids = request.query.get("pin_ids", "").split(",")
        token = self.signed_in(request, "pinterest.bulk", ids)
        if not self.bulk_granted:
            raise Refused(self.error("restricted"))
        begin, end, metrics = self.read_query(request, ("pin_ids",), "bad_parameters_bulk")
        if not 1 <= len(ids) <= BULK_MOST or len(set(ids)) < len(ids) or not all(id.isdigit() for id in ids):
            self.refuse(f"{len(ids)} ids, {len(set(ids))} different", "bad_parameters_bulk")
        if any(id in self.posts and self.posts[id].account is not token.account for id in ids):
            raise Refused(self.error("not_authorized_bulk"))
        body, served = {}, {}
        for id in ids:
            post = self.posts.get(id)
            if post and post.state in ("public", "private"):    # [V] pins without data are left out
                found, numbers = self.analytics(post, begin, end, metrics)
                if numbers:
                    body[id], served[id] = found, numbers
        # [P] a bucket of its own
        return Answer(200, body, [("x-ratelimit-limit", '100, 100;w=1;name="multi_pins_analytics"'), ("x-ratelimit-remaining", "99"), ("x-ratelimit-reset", "1")], served)

    def token(self, request):
        """POST /v5/oauth/token [V; the values P]"""
        form, twice, broken = read_pairs(request.body.decode("utf-8", "replace"))
        kind = form.get("grant_type")
        owner, _ = self.refreshes.get(form.get("refresh_token"), (None, None))
        self.route(f"pinterest.token.{kind}", owner and owner.id)
        if request.method != "POST" or request.content_type != "application/x-www-form-urlencoded" or broken or twice:
            self.refuse(f"no form: {request.method} {request.content_type}", "invalid_request")
        basic = base64.b64encode(f"{self.client_id}:{self.client_secret}".encode()).decode()
        if not request.header("authorization").startswith("Basic "):
            self.violation("no Authorization: Basic at the token endpoint")
        if request.header("authorization") != f"Basic {basic}":
            raise Refused(self.error("invalid_client"))
        if kind == "refresh_token":
            if not {"grant_type", "refresh_token"} <= set(form) or not set(form) <= {"grant_type", "refresh_token", "scope", "continuous_refresh"}:
                self.refuse(f"fields of a refresh: {sorted(form)}", "invalid_request")
            account = self.refresh_owner(form["refresh_token"])
        elif kind == "authorization_code":
            taken = self.take_code(form.get("code"), form.get("redirect_uri"))
            account = taken and taken[0]
            if account:
                account.scopes = taken[1]
        else:
            self.refuse(f"grant_type {kind}", "invalid_request")
        if not account:
            raise Refused(self.error("invalid_grant"))
        return Answer(200, {"response_type": kind, "access_token": self.issue(account), "token_type": "bearer", "expires_in": self.access_seconds,
                            "scope": " ".join(sorted(account.scopes)), "refresh_token": self.issue_refresh(account),
                            "refresh_token_expires_in": self.refresh_seconds,
                            "refresh_token_expires_at": self.clock.wall_ms // 1000 + self.refresh_seconds}, served={})

    def scope_text(self, account):
        return " ".join(sorted(account.scopes))
