"""Executes commands of a test: `POST /_ctl` with a list of {"op": …, "of": stand-in, …}. The response is the list of results."""
import json

from .state import Account, Clock, COUNTS, Post
from .wire import ALL, Response


def grown(standin, seed, most):
    """Increases the counts of every post by an amount of its own, which depends on the seed."""
    import random
    chance = random.Random(seed)
    for post in standin.posts.values():
        more = chance.randrange(1, most)
        counts = post.counts
        counts["views"] += more
        counts["likes"] += more // 20
        counts["comments"] += more // 200
        counts["shares"] += more // 300
        counts["saves"] += more // 100


class Control:
    def __init__(self, standins, clock):
        self.standins, self.clock = standins, clock
        self._by_name = {}
        for standin in standins:
            for name in {standin.NAME, *(host for host in standin.HOSTS if "_" not in host)}:
                self._by_name[name] = standin

    def handle(self, request):
        try:
            operations = json.loads(request.body)
            result = [self.do(op) for op in operations]
        except Exception as reason:                             # report the error to the test
            return Response(500, {"error": f"{type(reason).__name__}: {reason}"})
        return Response(200, result)

    def do(self, op):
        name = op.pop("op")
        if name == "clock":
            self.clock.advance(op["advance_ms"])
            return self.clock.wall_ms
        if name == "begin":
            return self.begin(op["clock"])
        standin = self._by_name[op.pop("of")]
        return getattr(self, "do_" + name)(standin, **op)

    def begin(self, clock):
        """Resets all stand-ins for the next test. The time comes from the file `clock`."""
        for connection in list(ALL):
            if connection.of_platform:
                connection.abort()
        self.clock = Clock(clock)
        for standin in self.standins:
            standin.__init__(self.clock)

    def do_account(self, standin, id, name=None, login="", scopes=None):
        if scopes is None:
            scopes = standin.default_scopes(login) if hasattr(standin, "default_scopes") else standin.SCOPES
        standin.accounts[id] = Account(id, name or f"name of {id}", login, scopes)

    def do_posts(self, standin, account, posts):
        """`posts`: [[id, kind, posted_at, views, likes, comments, shares, saves], …]"""
        for id, kind, posted_at, *counts in posts:
            standin.posts[id] = Post(id, standin.accounts[account], kind, posted_at, dict(zip(COUNTS, counts)))

    def do_post(self, standin, id, **changes):
        post = standin.posts[id]
        for name, value in changes.items():
            if name in COUNTS:
                post.counts[name] = value
            elif name in ("hidden", "refuses"):
                setattr(post, name, set(value))
            elif name == "account":
                post.account = standin.accounts[value]
            else:
                getattr(post, name)
                setattr(post, name, value)

    def do_grow(self, standin, seed, most=1000):
        grown(standin, seed, most)

    def do_connect(self, standin, account):
        return standin.connect(account)

    def do_token(self, standin, account, what):
        """`what`: expire (the access tokens), refresh (the refresh token) or revoke (both)."""
        for text, token in list(standin.tokens.items()):
            if token.account.id == account and what in ("expire", "revoke"):
                token.expires_at = 0
        owner = standin.accounts[account]
        if what in ("revoke", "refresh") and owner.refresh:
            standin.refreshes.pop(owner.refresh, None)

    def do_scopes(self, standin, account, scopes):
        standin.accounts[account].scopes = set(scopes)
        for token in standin.tokens.values():
            if token.account.id == account:
                token.scopes = set(scopes)

    def do_account_set(self, standin, account, **values):
        for name, value in values.items():
            getattr(standin.accounts[account], name)
            setattr(standin.accounts[account], name, value)

    def do_set(self, standin, **values):
        """Sets an attribute of the stand-in: access_seconds, bulk_granted, consent, …"""
        for name, value in values.items():
            before = getattr(standin, name)
            setattr(standin, name, set(value) if isinstance(before, set) else value)

    def do_limit(self, standin, most):
        if hasattr(standin, "bucket"):
            standin.bucket.most = most
        if hasattr(standin, "analytics_per_minute"):
            standin.analytics_per_minute = most

    def do_fault(self, standin, **fault):
        """Adds a fault of a `kind`. It applies to requests that match route, account and id; `skip`, `times`
        and `probability` select among these. latency_ms delays the response. With `after`, the request takes effect
        before the fault."""
        standin.faults.append(fault)

    def do_clear(self, standin):
        standin.faults.clear()

    def do_seed(self, standin, seed):
        standin.random.seed(seed)

    def do_calls(self, standin):
        return dict(standin.calls)

    def do_statuses(self, standin):
        return {f"{route} {status}": count for (route, status), count in standin.statuses.items()}

    def do_hits(self, standin):
        """Returns how often each fault has occurred."""
        return dict(standin.hits)

    def do_log(self, standin, clear=False):
        result = [{name: value for name, value in record.items() if name != "pending"} for record in standin.log]
        if clear:
            self.do_forget(standin)
        return result

    def do_forget(self, standin):
        """Resets the log and the counters, but not the posts."""
        standin.log.clear()
        standin.calls.clear()
        standin.statuses.clear()
        standin.in_flight_max = sum(standin.in_flight.values())

    def do_violations(self, standin):
        return standin.violations

    def do_clear_violations(self, standin):
        result = list(standin.violations)
        standin.violations.clear()
        return result

    def do_truth(self, standin):
        """Returns the counts of each post that its owner can read now."""
        return {id: standin.readable_counts(post) for id, post in standin.posts.items()}

    def do_served(self, standin):
        """Returns the last counts sent for each post, and the fault of the last response if it failed."""
        return {"served": standin.served, "failed": standin.failed}

    def do_state(self, standin):
        return {"in_flight": sum(standin.in_flight.values()), "in_flight_max": standin.in_flight_max, "connections": standin.connections,
                "connections_max": standin.connections_max, "used": {f"{day} {bucket}": used for (day, bucket), used in getattr(standin, "used", {}).items()},
                "refresh": {id: account.refresh for id, account in standin.accounts.items()}, "spent": sorted(standin.spent)}

    def do_app(self, standin):
        """Returns values for the configuration: client id and secret, API key."""
        result = {"client_id": standin.client_id, "client_secret": standin.client_secret, "api_key": standin.api_key}
        if hasattr(standin, "instagram_client_id"):
            result.update(instagram_client_id=standin.instagram_client_id, instagram_client_secret=standin.instagram_client_secret)
        return result
