"""Meta: the Graph API as Instagram (both logins) and Facebook use it. Sources: the reference v26.0 of 2026-07-29,
insights of 2026-06-18, and the pages about rate limits, batch requests and access tokens; read November 2026."""
import json

from .state import DAY, Rejected, Standin
from .wire import Response, Request, read_pairs, corrupt

VERSIONS = {"v21.0", "v22.0", "v23.0", "v24.0", "v25.0", "v26.0"}       # [V] the versions valid in November 2026
BATCH_MAX = 50                                                         # [V]
SIXTY_DAYS = 5_183_944                                                  # [V] the number in the samples
REFRESH_AGE_MS = DAY                                                    # [V] only tokens of at least 24 hours are refreshed

# code[.subcode] -> (status, type, text). A program must classify errors by code and not by status: that most of
# them have status 400 is only general knowledge [K].
ERRORS = {
    "1": (500, "OAuthException", "An unknown error occurred"), "2": (500, "OAuthException", "Service temporarily unavailable"),
    "4": (400, "OAuthException", "(#4) Application request limit reached"), "17": (400, "OAuthException", "(#17) User request limit reached"),
    "32": (400, "OAuthException", "(#32) Page request limit reached"), "341": (400, "OAuthException", "(#341) Application limit reached"),
    "613": (400, "OAuthException", "(#613) Calls to this api have exceeded the rate limit."),
    "613.1996": (400, "OAuthException", "(#613) Calls to this api have exceeded the rate limit."),
    "80001": (400, "OAuthException", "(#80001) There have been too many calls to this Page account. Wait a bit and try again."),
    "80002": (400, "OAuthException", "(#80002) There have been too many calls to this Instagram account. Wait a bit and try again."),
    "368": (400, "OAuthException", "(#368) The action attempted has been deemed abusive or is otherwise disallowed"),
    "102": (400, "OAuthException", "(#102) Session key invalid or no longer valid"),
    "190.458": (400, "OAuthException", "Error validating access token: The user has not authorized application."),
    "190.460": (400, "OAuthException", "Error validating access token: The session has been invalidated because the user changed their password …"),
    "190.463": (400, "OAuthException", "Error validating access token: Session has expired."),
    "190.467": (400, "OAuthException", "Error validating access token: The session is invalid."),
    "3": (400, "OAuthException", "(#3) Application does not have the capability to make this API call."),
    "10": (400, "OAuthException", "(#10) Application does not have permission for this action"),
    "10.viewers": (400, "OAuthException", "(#10) Not enough viewers for the media to show insights"),
    "200": (400, "OAuthException", "(#200) Requires extended permission"),
    # [live, July to October 2026] the fields of a post need a permission of their own; its insights do not
    "10.user_content": (400, "OAuthException", "(#10) This endpoint requires the 'pages_read_user_content' permission or the 'Page Public Content Access' "
                                               "feature. Refer to https://developers.facebook.com/docs/apps/review/login-permissions#manage-pages for details."),
    "200.insights": (400, "OAuthException", "(#200) read_insights permission missing"),
    # [live] a deleted post, and any object that the grant does not cover; the same text also with code 100 and no subcode
    "10.gone": (400, "OAuthException", "(#10) Object does not exist, cannot be loaded due to missing permission or reviewable feature, or does not support "
                                       "this operation. This endpoint requires the 'pages_read_engagement' permission or the 'Page Public Content Access' feature."),
    "100.gone": (400, "OAuthException", "(#100) Object does not exist, cannot be loaded due to missing permission or reviewable feature, or does not support "
                                        "this operation. This endpoint requires the 'pages_read_engagement' permission."),
    "100.33": (400, "GraphMethodException", "Unsupported get request. Object with ID '{id}' does not exist, cannot be loaded due to missing permissions, "
                                            "or does not support this operation."),
    "100.2108006": (400, "OAuthException", "(#100) Media posted before business account conversion"),
    "100.metric": (400, "OAuthException", "(#100) metric[{index}] must be one of the following values: {values}"),
    "100.type": (400, "OAuthException", "(#100) The Media Insights API does not support the {metric} metric for this media product type."),
    "100.field": (400, "OAuthException", "(#100) Tried accessing nonexisting field ({field})"),         # [P]
    "100": (400, "OAuthException", "(#100) Invalid parameter"),
    "101": (400, "OAuthException", "Error validating application. Cannot get application info due to a system error."),   # [K]: wrong client id or secret
    "1.reduce": (500, "OAuthException", "Please reduce the amount of data you're asking for, then retry your request"),   # [P]
    "1.101": (400, "OAuthException", "Error validating client secret."),                                                  # [K]
    "transient": (400, "OAuthException", "An unexpected error has occurred. Please retry your request later."),
}

# ---- Instagram ----
IG_METRICS = {"views": "views", "likes": "likes", "comments": "comments", "shares": "shares", "saved": "saves"}
IG_KNOWN = {*IG_METRICS, "reach", "total_interactions", "ig_reels_avg_watch_time", "ig_reels_video_view_total_time"}
IG_NODE = {"id", "timestamp", "like_count", "comments_count", "saved_count", "shares_count", "reposts_count", "media_type", "media_product_type",
           "permalink", "username", "owner"}
IG_NODE_FACEBOOK = {"total_like_count", "total_comments_count", "total_views_count"}        # [V 2026-04-22] with Facebook Login only
IG_NODE_COUNTS = {"like_count": "likes", "comments_count": "comments", "saved_count": "saves", "shares_count": "shares", "total_like_count": "likes",
                  "total_comments_count": "comments", "total_views_count": "views"}
IG_SCOPES = {"instagram": {"instagram_business_basic", "instagram_business_manage_insights"},
             "facebook": {"instagram_basic", "instagram_manage_insights", "pages_read_engagement"}}
# ---- Facebook ----
FB_SCOPES = {"read_insights", "pages_read_engagement", "pages_read_user_content", "pages_show_list"}
FB_LINK_SCOPES = FB_SCOPES | {"instagram_basic", "instagram_manage_insights", "business_management"}
FB_REEL = {"blue_reels_play_count", "fb_reels_total_plays", "fb_reels_replay_count", "post_video_likes_by_reaction_type", "post_video_social_actions"}
FB_VIDEO = {"total_video_views", "total_video_reactions_by_type_total"}
FB_POST = {"post_media_view", "post_reactions_by_type_total"}
FB_VIDEO_FIELDS = {"id", "created_time", "views", "length", "permalink_url", "likes", "comments"}
FB_POST_FIELDS = {"id", "created_time", "shares", "reactions", "comments", "permalink_url", "attachments"}
FB_USER_CONTENT = {"likes", "reactions", "comments", "shares"}          # [live] fields that need pages_read_user_content


def split_fields(text):
    """Splits the value of `fields=…`. Returns {name without modifiers and subfields: text of the field}."""
    names, depth, name = [], 0, ""
    for character in text:
        if character in "({":
            depth += 1
        if character in ")}":
            depth -= 1
        if character == "," and not depth:
            names.append(name)
            name = ""
        else:
            name += character
    names.append(name)
    return {name.split(".")[0].split("{")[0].split("(")[0]: name for name in names}


class Meta(Standin):
    NAME = "meta"
    HOSTS = ("facebook", "facebook_auth", "instagram", "instagram_auth", "instagram_oauth")
    SCOPES = ("several",)
    PREFIX = ("EAA", None)
    ACCESS_SECONDS, REFRESH_SECONDS = SIXTY_DAYS, None

    def __init__(self, clock):
        super().__init__(clock)
        # An app has a separate client id for Instagram Login [V].
        self.instagram_client_id, self.instagram_client_secret = "client-of-instagram", self.client_secret.replace("meta", "instagram")
        self.dead_metrics = set()               # removed metrics
        self.social_actions = "upper"           # the format of post_video_social_actions is disputed [P]
        self.instagram_batch = False            # whether graph.instagram.com accepts batches is undocumented
        self.app_percent = 1
        self.regain_minutes = 0
        self.usage_headers = True
        self.deleted_as = "10.gone"             # the error for a deleted post: also 100.gone and 100.33 [live]
        self.replays = 0                        # percentage of a Reel's plays that are replays, which blue_reels_play_count excludes [live]
        self.portfolios = {}                    # name -> {"owned": ids of pages, "client": …}: these are not in me/accounts [live]
        self.configuration = None               # the config_id that replaces the scope with Facebook Login for Business [live]
        self.me_in_data = False                 # Instagram's /me is documented as a list in `data`, but live responses are flat
        self.long_lived_expires = True          # expires_in may be absent from the response to the exchange [V]

    def error(self, name, **more):
        if name == "body_not_json":
            return Response(200, b"oops")
        if name in ("app", "code"):             # [P] errors of api.instagram.com have another form
            return Response(400, {"error_type": "OAuthException", "code": 400, "error_message": {
                "app": "Invalid platform app", "code": "Invalid authorization code"}[name]})
        status, kind, text = ERRORS[name]
        code, _, subcode = ("2" if name == "transient" else name).partition(".")
        error = {"message": text.format(**{"id": "179", "index": 0, "values": "reach, views", "metric": "views", "field": "x", **more}), "type": kind, "code": int(code)}
        if name == "transient":
            error["is_transient"] = True
        if subcode.isdigit() and name != "1.101":
            error["error_subcode"] = int(subcode)
        error["fbtrace_id"] = "EJplcsCHuLu"
        return Response(status, {"error": error})

    def platform(self, account):
        return "instagram" if account.login else "facebook"

    def readable_counts(self, post):
        if post.state != "public":
            return {}
        names = IG_METRICS.values() if self.platform(post.account) == "instagram" else ("views", "likes", "comments", "shares")
        return {name: post.counts[name] for name in names if name not in post.hidden}

    # -- requests to both hosts ----------------------------------------------------------------------------------

    def respond(self, host, request):
        if host == "facebook_auth":
            if self.versioned(request.path)[0] != "dialog/oauth":           # [V]
                self.reject(f"no such page: {request.path}", "100")
            required = ("response_type", "redirect_uri", "state", "config_id" if self.configuration else "scope")
            if self.configuration and (request.query.get("config_id") != self.configuration or "scope" in request.query):
                self.violation(f"config_id is required in place of scope: {request.query}")
            return self.authorize(request, required=required)
        if host == "instagram_auth":
            if request.path.rstrip("/") != "/oauth/authorize":                  # [V]
                self.reject(f"no such page: {request.path}", "100")
            return self.authorize_instagram(request)
        if host == "instagram_oauth":
            return self.instagram_code(request)
        path, version = self.versioned(request.path)
        if host == "facebook" and path == "oauth/access_token":
            return self.facebook_tokens(request)
        if host == "instagram" and path in ("access_token", "refresh_access_token"):
            return self.instagram_tokens(request, path)
        if "access_token" in request.query:
            self.violation(f"token in the URL: {request.path}")
        if version is None:
            self.violation(f"no version in {request.path}: Meta would use the oldest")
        if request.method == "POST" and path == "":
            return self.batch(host, request)
        token = self.caller(host, request, self.bearer(request), path)
        response = self.get(host, request, token)
        response.headers += self.usage(token.account)
        return response

    def versioned(self, path):
        """Returns (path after the version, version)."""
        parts = path.strip("/").split("/", 1)
        if parts[0][:1] == "v" and parts[0][1:2].isdigit():
            if parts[0] not in VERSIONS:
                self.violation(f"version {parts[0]} has expired or does not exist")
            return (parts[1] if len(parts) > 1 else ""), parts[0]
        return path.strip("/"), None

    def caller(self, host, request, text, path):
        """Records the route. Returns the token if it is valid at this host, else raises an error response."""
        known = self.tokens.get(text)
        account = known and known.account
        ids = [path.split("/")[0]] if path[:1].isdigit() else []
        name = self.platform(account) if account else host
        what = "insights" if path.endswith("insights") else "node" if ids else path.replace("/", ".") or "batch"
        self.route(f"{name}.{what}", account and account.id, ids)
        if text is None:
            self.violation(f"no Authorization: Bearer for {path}")
        token = self.find_token(text)
        if not token:
            raise Rejected(self.error("190.463" if known else "190.460"))
        if (host == "instagram") != (account.login == "instagram"):
            self.reject(f"token of {account.login or 'a page'} at the host {host}", "190.467")
        return token

    def usage(self, account):
        """Returns the usage headers, in percent [V]; the type of a Page is [K]."""
        if not self.usage_headers:
            return []
        percent = account.usage_percent if account.usage_percent is not None else 1
        of_app = {"call_count": self.app_percent, "total_time": self.app_percent, "total_cputime": self.app_percent}
        of_account = {account.id: [{"type": "instagram" if account.login else "pages", "call_count": percent, "total_cputime": min(percent, 23), "total_time": min(percent, 23),
                                    "estimated_time_to_regain_access": self.regain_minutes}]}
        return [("X-App-Usage", json.dumps(of_app, separators=(",", ":"))),
                ("X-Business-Use-Case-Usage", json.dumps(of_account, separators=(",", ":")))]

    def get(self, host, request, token):
        if request.method != "GET":
            self.reject(f"{request.method} {request.path}", "100")
        path, _ = self.versioned(request.path)
        parts = path.split("/")
        if path in ("me", "me/accounts", "me/permissions", "me/businesses"):
            return self.me(path, request, token)
        post = self.posts.get(parts[0])
        video = post
        if not post and "_" in parts[0]:                        # the {page}_{post} id of a video
            video = next((other for other in self.posts.values() if other.post_id == parts[0]), None)
        facebook = self.platform(token.account) == "facebook"
        if facebook and "pages_read_engagement" not in token.scopes:
            return self.error("10.gone")                        # [live] the same text as for a deleted post
        if facebook and parts == [token.account.id]:
            return Response(200, {"id": token.account.id}, served={})
        if not video or video.account is not token.account or video.state in ("deleted", "private"):
            return self.error(self.deleted_as if facebook else "100.33", id=parts[0])
        if not facebook and not self.has_required_scopes(token):
            return self.error("10")
        if not facebook:
            if parts[1:] == ["insights"]:
                return self.ig_insights(request, video)
            if parts[1:] == []:
                return self.ig_node(request, video, token)
        else:
            insights = "read_insights" in token.scopes
            if parts[1:] == ["video_insights"] and post:
                if not insights:
                    return self.error("200.insights")           # [live]
                return self.fb_insights(request, video, FB_REEL if video.kind == "reel" else FB_VIDEO)
            if parts[1:] == ["insights"] and not post:
                if not insights:
                    return Response(200, {"data": [], "paging": {}}, served={})   # [live] without an error
                return self.fb_insights(request, video, FB_POST)
            if parts[1:] == []:
                return self.fb_node(request, video, bool(post), token)
        self.reject(f"no such edge: {path}", "100")

    def has_required_scopes(self, token):
        account = token.account
        return IG_SCOPES[account.login] <= token.scopes

    def batch(self, host, request):
        """POST /v26.0/ with batch=[…] [V]"""
        form, repeated, broken = read_pairs(request.body.decode("utf-8", "replace"))
        text = form.get("access_token") or self.bearer(request)
        known = self.tokens.get(text)
        try:
            operations = json.loads(form.get("batch", ""))
        except ValueError:
            operations = None
        well_formed = isinstance(operations, list) and all(isinstance(op, dict) and set(op) <= {"method", "relative_url"} for op in operations)
        ids = [self.versioned(op.get("relative_url", "").split("?")[0])[0].split("/")[0] for op in operations] if well_formed else []
        name = self.platform(known.account) if known else host
        self.route(f"{name}.batch", known and known.account.id, dict.fromkeys(ids))
        if host == "instagram" and not self.instagram_batch:
            self.reject("a batch at graph.instagram.com is undocumented", "100")
        if request.content_type != "application/x-www-form-urlencoded" or broken or repeated:
            self.reject(f"not a form: {request.content_type}", "100")
        if not set(form) <= {"access_token", "include_headers", "batch", "appsecret_proof"} or not well_formed or not 1 <= len(operations) <= BATCH_MAX:
            self.reject(f"invalid batch: {sorted(form)}, {len(operations) if isinstance(operations, list) else operations} operations", "100")
        token = self.find_token(text)
        if not token:
            raise Rejected(self.error("190.463" if known else "190.460"))
        if (host == "instagram") != (token.account.login == "instagram"):
            self.reject(f"token of {token.account.login or 'a page'} at the host {host}", "190.467")
        entries, served = [], {}
        for index, operation in enumerate(operations):
            entry = self.operate(host, name, operation, token, ids[index], index, served)
            if entry is not None and form.get("include_headers") != "false":
                headers = [("Content-Type", "application/json"), *self.usage(token.account)]
                entry["headers"] = [{"name": name, "value": value} for name, value in headers]
            entries.append(entry)
        # If one of its operations failed, the counts of a post are unknown.
        for id in ids:
            if served.get(id) is None:
                served.pop(id, None)
                self.record_failure([id], "operation")
        # [P] the entries have the usage headers, the response itself has none
        return Response(200, entries, [], served)

    def operate(self, host, name, operation, token, id, index, served):
        fault = self.next_operation_fault(f"{name}.op", token.account.id, id, index)
        url = operation.get("relative_url", "")
        if operation.get("method") != "GET" or url.startswith("http") or "access_token" in url:
            self.reject(f"operation: {operation}", "100")
        inner = Request("GET", "/" + url.lstrip("/"), {})
        if inner.broken or inner.repeated:
            self.reject(f"operation: {operation}", "100")
        try:
            response = self.get(host, inner, token)
        except Rejected as rejected:
            response = rejected.response
        if fault:
            self.record["fault"] = fault.get("name") or fault["kind"]
            if fault["kind"] == "null":                         # [V] null: the operation timed out
                served[id] = None
                return None
            if fault["kind"] == "error":
                response = self.error(fault["name"])
            else:
                corrupt(response, fault)
        if response.served is None:
            served.setdefault(id, {}) if response.status == 200 else None
            if fault:
                served[id] = None
        elif served.get(id, {}) is not None:
            for post, counts in response.served.items():
                served.setdefault(post, {}).update(counts)
        return {"code": response.status, "body": response.text().decode("utf-8", "surrogateescape")}

    def next_operation_fault(self, route, account, id, index):
        return self.next_fault(route, account, [id]) if self.faults else None

    # -- Instagram -------------------------------------------------------------------------------------------------

    def ig_insights(self, request, post):
        """GET /{ig-media-id}/insights?metric=… [V 2026-06-18]"""
        if set(request.query) - {"appsecret_proof"} != {"metric"}:
            self.reject(f"parameters of insights: {sorted(request.query)}", "100")
        metrics = request.query["metric"].split(",")
        known = IG_KNOWN - self.dead_metrics
        for index, metric in enumerate(metrics):
            if metric not in known:
                if metric not in self.dead_metrics:
                    self.violation(f"no metric of Instagram: {metric}")
                return self.error("100.metric", index=index, values=", ".join(sorted(known)))
            if metric in post.refuses:
                return self.error("100.type", metric=metric)
        if post.state == "early":
            return self.error("100.2108006")
        if post.state == "few":
            return self.error("10.viewers")
        if post.state == "processing":                          # [V] an empty list, not 0
            return Response(200, {"data": []}, served={})
        data, served = [], {}
        for metric in metrics:
            name = IG_METRICS.get(metric)
            if name and name not in post.hidden:
                served[name] = post.counts[name]
                data.append({"name": metric, "period": "lifetime", "values": [{"value": post.counts[name]}], "title": metric.capitalize(),
                             "description": "…", "id": f"{post.id}/insights/{metric}/lifetime"})
        return Response(200, {"data": data}, served={post.id: served})

    def ig_node(self, request, post, token):
        """GET /{ig-media-id}?fields=… [V 2026-06-22]"""
        fields = split_fields(request.query.get("fields", "id"))
        facebook = token.account.login == "facebook"
        body, served = {}, {}
        for field in fields:
            if field in IG_NODE_FACEBOOK and not facebook:
                return self.error("100.field", field=field)     # [P]
            if field not in IG_NODE | IG_NODE_FACEBOOK:
                self.violation(f"no field of Instagram media: {field}")
                return self.error("100.field", field=field)
            name = IG_NODE_COUNTS.get(field)
            if name and name not in post.hidden:
                body[field] = served[name] = post.counts[name]
        body["id"] = post.id
        return Response(200, body, served={post.id: served})

    # -- Facebook --------------------------------------------------------------------------------------------------

    def fb_insights(self, request, post, valid):
        """GET /{video-id}/video_insights?metric=… and /{page}_{post}/insights?metric=… [V v25.0, v26.0]"""
        if set(request.query) - {"appsecret_proof", "period", "metric"}:
            self.reject(f"parameters of insights: {sorted(request.query)}", "100")
        # [V] without names a default set. Its members are not documented; we use all valid metrics that are not removed.
        metrics = request.query["metric"].split(",") if "metric" in request.query else sorted(valid - self.dead_metrics)
        for index, metric in enumerate(metrics):
            if metric not in FB_REEL | FB_VIDEO | FB_POST:      # names that exist for no kind of object
                self.violation(f"no metric of Facebook: {metric}")
            # [P, probed 2026-09-18] one invalid metric fails the request, except that total_video_views of a Reel gives an empty list.
            if metric in self.dead_metrics or (metric not in valid and not (valid is FB_REEL and metric == "total_video_views")):
                return self.error("100.metric", index=index, values=", ".join(sorted(valid - self.dead_metrics)))
        if post.state == "processing":
            return Response(200, {"data": []}, served={})
        data, served = [], {}
        for metric in metrics:
            value = self.fb_value(metric, post, served)
            if value is not None and metric in valid:
                data.append({"name": metric, "period": "lifetime", "values": [{"value": value}], "title": "…", "description": "…",
                             "id": f"{self.versioned(request.path)[0]}/{metric}/lifetime"})
        return Response(200, {"data": data}, served={post.id: served})

    def fb_value(self, metric, post, served):
        counts = post.counts
        if metric == "fb_reels_replay_count":
            return counts["views"] * self.replays // 100
        if metric in ("blue_reels_play_count", "fb_reels_total_plays", "total_video_views", "post_media_view"):
            if "views" in post.hidden:
                return None
            if metric == "post_media_view" and post.kind == "reel":
                return 0                                        # [live] a Reel requested by its composite id
            plays = counts["views"]
            if metric == "blue_reels_play_count":
                plays -= plays * self.replays // 100
            served["views"] = max(plays, served.get("views", 0))
            return plays
        if "reaction" in metric:
            served["likes"] = counts["likes"]
            return {"REACTION_LIKE": counts["likes"] - counts["likes"] // 4, "REACTION_LOVE": counts["likes"] // 4}
        if self.social_actions == "number":
            return counts["comments"] + counts["shares"]
        names = ("COMMENT", "SHARE") if self.social_actions == "upper" else ("comment", "share")
        served.update(comments=counts["comments"], shares=counts["shares"])
        return dict(zip(names, (counts["comments"], counts["shares"])))

    def fb_node(self, request, post, is_video, token):
        """GET /{video-id}?fields=… and /{page}_{post}?fields=… [P: several projects]"""
        fields = split_fields(request.query.get("fields", "id"))
        body, served, counts = {}, {}, post.counts
        if FB_USER_CONTENT & fields.keys() and "pages_read_user_content" not in token.scopes:
            return self.error("10.user_content")
        for field, written in fields.items():
            if field not in (FB_VIDEO_FIELDS if is_video else FB_POST_FIELDS):
                self.violation(f"no field of a {'video' if is_video else 'post'}: {field}")
                return self.error("100.field", field=field)
            if field in ("likes", "reactions", "comments"):
                # Without filter(stream) the count excludes replies [V].
                if not written.endswith((".filter(stream)" if field == "comments" else "") + ".summary(true).limit(0)"):
                    self.violation(f"not the documented form: {written}")
                name = "comments" if field == "comments" else "likes"
                if name not in post.hidden:
                    summary = {"order": "ranked"} if name == "comments" else {}
                    body[field] = {"data": [], "summary": {**summary, "total_count": counts[name]}}
                    served[name] = counts[name]
            elif field == "attachments":                        # [P] the object that the post shares
                url = f"https://www.facebook.com/reel/{post.id}/" if post.kind == "reel" else f"https://www.facebook.com/1/videos/{post.id}/"
                body[field] = {"data": [{"media_type": "video", "type": "video_inline", "target": {"id": post.id, "url": url}}]}
            elif field == "views" and "views" not in post.hidden:
                body[field] = served["views"] = counts["views"]
            elif field == "shares":
                served["shares"] = counts["shares"]
                if counts["shares"]:                            # [P] absent if 0
                    body[field] = {"count": counts["shares"]}
        body["id"] = post.id if is_video else post.post_id
        return Response(200, body, served={post.id: served})

    # -- accounts and sign-in ---------------------------------------------------------------------------------------

    def shows_consent(self, query):
        return query.get("auth_type") == "rerequest" or query.get("force_reauth") == "true"     # [V]

    def requested_scopes(self, query):
        return set(FB_LINK_SCOPES) if "config_id" in query else super().requested_scopes(query)

    def me(self, path, request, token):
        fields = split_fields(request.query.get("fields", ""))
        account = token.account
        if path == "me/permissions":                            # [V]
            rows = [{"permission": name, "status": "granted"} for name in sorted({*token.scopes, "public_profile"})]
            rows += [{"permission": name, "status": "declined"} for name in sorted(account.declined or ())]
            return Response(200, {"data": rows}, served={})
        if path == "me/businesses":                             # [live]
            return self.businesses(fields, token)
        if path == "me":
            if account.login == "instagram":                    # [P: seen in Postiz]
                me = {name: {"user_id": account.id, "username": account.name, "id": f"app-scoped-{account.id}"}[name]
                      for name in fields if name in ("user_id", "username", "id")}
                return Response(200, {"data": [me]} if self.me_in_data else me, served={})
            return Response(200, {"id": f"user-{account.id}", "name": account.name}, served={})
        hidden = {id for portfolio in self.portfolios.values() for ids in portfolio.values() for id in ids}
        pages = [page for page in self.accounts.values() if page.login != "instagram" and page.name == account.name and page.id not in hidden]
        return Response(200, {"data": self.pages(pages, fields, token), "paging": {"cursors": {"before": "b", "after": "a"}}}, served={})

    def businesses(self, fields, token):
        """GET /me/businesses with owned_pages{…} and client_pages{…}"""
        if "business_management" not in token.scopes:
            return self.error("100")
        rows = []
        for name, portfolio in self.portfolios.items():
            row = {"id": f"20{len(rows)}"}
            for edge, ids in (("owned_pages", portfolio.get("owned", ())), ("client_pages", portfolio.get("client", ()))):
                if edge in fields and ids:
                    inner = split_fields(fields[edge].split("{", 1)[1].rsplit("}", 1)[0])
                    row[edge] = {"data": self.pages([self.accounts[id] for id in ids], inner, token), "paging": {"cursors": {"before": "b", "after": "a"}}}
            rows.append(row)
        return Response(200, {"data": rows, "paging": {"cursors": {"before": "b", "after": "a"}}}, served={})

    def pages(self, accounts, fields, token):
        """Returns entries of me/accounts [V]; the Instagram account of a page is [K]."""
        pages = []
        for page in accounts:
            is_page = not page.login
            entry = {"id": page.id if is_page else f"10{page.id}", "name": page.name, "access_token": self.issue(page, token.scopes, seconds=None, kind="page")}
            if not is_page and "instagram_business_account" in fields:
                entry["instagram_business_account"] = {"id": page.id, "username": page.name}
            pages.append({name: entry[name] for name in fields if name in entry})
        return pages

    def authorize_instagram(self, request):
        meta_id, self.client_id = self.client_id, self.instagram_client_id
        try:
            return self.authorize(request, tail="#_")           # [V] appended to the URL, not part of the code
        finally:
            self.client_id = meta_id

    def app_is_invalid(self, values, instagram=False):
        id, secret = (self.instagram_client_id, self.instagram_client_secret) if instagram else (self.client_id, self.client_secret)
        return values.get("client_secret") != secret or ("client_id" in values and values["client_id"] != id)

    def facebook_tokens(self, request):
        """GET /oauth/access_token: exchanges a code for a token, or a short-lived for a long-lived token [V]"""
        values = request.query
        if request.method == "POST":
            values = read_pairs(request.body.decode("utf-8", "replace"))[0]
        kind = values.get("grant_type", "authorization_code")
        self.route(f"facebook.token.{kind}")
        if self.app_is_invalid(values) or "client_id" not in values:
            raise Rejected(self.error("101"))
        if kind == "fb_exchange_token":
            if set(values) != {"grant_type", "client_id", "client_secret", "fb_exchange_token"}:
                self.reject(f"fields of the exchange: {sorted(values)}", "100")
            token = self.find_token(values["fb_exchange_token"])
            if not token:
                raise Rejected(self.error("190.463"))
            result = {"access_token": self.issue(token.account, token.scopes), "token_type": "bearer", "expires_in": SIXTY_DAYS}
            if not self.long_lived_expires:
                del result["expires_in"]
            return Response(200, result, served={})
        grant = self.redeem_code(values.get("code"), values.get("redirect_uri"))
        if not grant:
            raise Rejected(self.error("100"))
        account, account.scopes = grant
        return Response(200, {"access_token": self.issue(account, seconds=5400, kind="short"), "token_type": "bearer", "expires_in": 5400}, served={})

    def instagram_code(self, request):
        """POST https://api.instagram.com/oauth/access_token The response is a list in `data` [V]."""
        form = read_pairs(request.body.decode("utf-8", "replace"))[0]
        self.route("instagram.token.authorization_code")
        if request.path != "/oauth/access_token" or request.method != "POST" or form.get("grant_type") != "authorization_code":
            self.reject(f"{request.method} {request.path} {sorted(form)}", "100")
        if self.app_is_invalid(form, instagram=True) or "client_id" not in form:
            raise Rejected(self.error("app"))
        grant = self.redeem_code(form.get("code"), form.get("redirect_uri"))
        if not grant:
            raise Rejected(self.error("code"))
        account, account.scopes = grant
        result = {"access_token": self.issue(account, seconds=3600, kind="short", prefix="IGAA"), "user_id": account.id,
                "permissions": ",".join(sorted(account.scopes))}
        return Response(200, {"data": [result]}, served={})

    def instagram_tokens(self, request, path):
        """GET /access_token and /refresh_access_token of graph.instagram.com [V]"""
        query = request.query
        kind = query.get("grant_type")
        known = self.tokens.get(query.get("access_token"))
        self.route(f"instagram.token.{kind}", known and known.account.id)
        token = self.find_token(query.get("access_token"))
        if (path, kind) == ("access_token", "ig_exchange_token"):
            if self.app_is_invalid(query, instagram=True):
                raise Rejected(self.error("101"))
            if not token or token.kind != "short":
                raise Rejected(self.error("190.463"))
        elif (path, kind) == ("refresh_access_token", "ig_refresh_token"):
            if set(query) != {"grant_type", "access_token"}:
                self.violation(f"fields of a refresh: {sorted(query)}")
            if not token:
                raise Rejected(self.error("190.463"))
            if token.obtained_at > self.clock.wall_ms - REFRESH_AGE_MS:
                self.reject("refresh of a token that is younger than 24 hours", "10")
        else:
            self.reject(f"{path} {kind}", "100")
        return Response(200, {"access_token": self.issue(token.account, token.scopes, SIXTY_DAYS, prefix="IGAA"), "token_type": "bearer",
                            "expires_in": SIXTY_DAYS}, served={})

    def connect(self, account, login=None):
        account = self.accounts[account]
        if account.login != "instagram":                        # [V] a Page token from a long-lived user token does not expire
            return {"access_token": self.issue(account, seconds=None, kind="page"), "scope": self.scope_text(account)}
        return {"access_token": self.issue(account, seconds=self.access_seconds, prefix="IGAA"), "expires_in": self.access_seconds,
                "scope": self.scope_text(account)}

    def default_scopes(self, login):
        return IG_SCOPES[login] if login else FB_SCOPES
