"""contrib/grafana and contrib/prometheus against a real Prometheus that scrapes running servers, and Grafana's own types.

`make test-watch` runs it: it needs Prometheus, Redis and packages from the npm registry.
"""
import copy
import datetime
import json
import re
import shutil
import threading
import urllib.parse

import pytest

from lib import npm, postgres, wait
from lib.client import Client
from lib.lines import author, reading, uid, video
from lib.pages import Browser, sign_up
from lib.services import Redis, Service
from lib.viewtally import ROOT

DASHBOARD = json.loads((ROOT / "contrib/grafana/viewtally.json").read_text(encoding="utf-8"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
QUERIES = [(panel["title"], target["expr"]) for panel in PANELS for target in panel["targets"]]
DATA_SECONDS = 120
FAILURES_MOST = 20          # far below the number at which ViewtallyAuthenticationFailures fires


# -- the dashboard itself ------------------------------------------------------------------------------------------------

def compile_dashboards(dashboards):
    """Checks the types of the dashboards against those of Grafana. Returns the messages of the compiler for each dashboard."""
    directory = npm.install("watch")
    shutil.copy(ROOT / "test/watch/dashboard.ts", directory / "dashboard.ts")
    for number, dashboard in enumerate(dashboards):
        (directory / f"check{number}.ts").write_text(
            f"import type {{ ViewtallyDashboard }} from './dashboard';\nexport const dashboard: ViewtallyDashboard = {json.dumps(dashboard, indent=1)};\n")
    files = [f"check{number}.ts" for number in range(len(dashboards))]
    status, output = npm.run(["npx", "--no-install", "tsc", "--noEmit", "--strict", "--exactOptionalPropertyTypes", "false", "--skipLibCheck",
                              "--module", "esnext", "--moduleResolution", "bundler", *files], directory, 300)
    assert "dashboard.ts(" not in output, output
    messages = [[line for line in output.splitlines() if line.startswith(f"{name}(")] for name in files]
    assert (status == 0) == (not any(messages)), output
    return messages


def test_dashboard_has_grafanas_types():
    assert compile_dashboards([DASHBOARD]) == [[]]


def test_grafanas_types_detect_mistakes_in_the_dashboard():
    def changed(change):
        dashboard = copy.deepcopy(DASHBOARD)
        panels = {panel["type"]: panel for panel in dashboard["panels"]}
        change(dashboard, panels["timeseries"], panels["stat"])
        return dashboard

    mistakes = [lambda d, series, stat: d.update(schemaVersion="39"),
                lambda d, series, stat: d.update(titel="x"),
                lambda d, series, stat: d["templating"]["list"][0].update(type="data-source"),
                lambda d, series, stat: series["fieldConfig"]["defaults"]["custom"].update(drawStyle="dots"),
                lambda d, series, stat: series["fieldConfig"]["defaults"]["custom"].update(fillOpacty=1),
                lambda d, series, stat: series["options"]["legend"].update(displayMode="inline"),
                lambda d, series, stat: series["options"].pop("tooltip"),
                lambda d, series, stat: series["targets"][0].pop("expr"),
                lambda d, series, stat: series["gridPos"].update(w="8"),
                lambda d, series, stat: stat["options"].update(colorMode="red"),
                lambda d, series, stat: stat["fieldConfig"]["defaults"]["thresholds"].update(mode="relative"),
                lambda d, series, stat: stat.update(type="gauge")]
    assert compile_dashboards([changed(lambda *_: None)]) == [[]]
    for number, messages in enumerate(compile_dashboards([changed(mistake) for mistake in mistakes])):
        assert messages, f"mistake {number} is not detected"


def test_panels_have_ids_of_their_own_and_do_not_overlap():
    identifiers = [panel["id"] for panel in DASHBOARD["panels"]]
    assert len(set(identifiers)) == len(identifiers)
    cells = [(x, y) for panel in DASHBOARD["panels"] for pos in [panel["gridPos"]] for x in range(pos["x"], pos["x"] + pos["w"])
             for y in range(pos["y"], pos["y"] + pos["h"])]
    assert len(set(cells)) == len(cells) and max(x for x, _ in cells) < 24
    for panel in PANELS:
        assert [target["refId"] for target in panel["targets"]] == [chr(65 + number) for number in range(len(panel["targets"]))]
        assert all(target["datasource"] == panel["datasource"] == {"type": "prometheus", "uid": "${datasource}"} for target in panel["targets"])


# -- a real Prometheus -----------------------------------------------------------------------------------------------------

class Prometheus(Service):
    """A Prometheus that scrapes the targets every second and evaluates contrib/prometheus/alerts.yml."""

    program = "prometheus"

    def __init__(self, directory, targets):
        super().__init__(directory)
        config = {"global": {"scrape_interval": "1s", "evaluation_interval": "1s"}, "rule_files": [str(ROOT / "contrib/prometheus/alerts.yml")],
                  "scrape_configs": [{"job_name": "viewtally", "static_configs": [{"targets": targets}]}]}
        (self.directory / "prometheus.yml").write_text(json.dumps(config))

    def arguments(self):
        return ["--config.file", str(self.directory / "prometheus.yml"), "--storage.tsdb.path", str(self.directory / "data"),
                "--web.listen-address", f"127.0.0.1:{self.port}", "--log.level", "warn"]

    def ready(self):
        """Returns True if Prometheus answers queries. It accepts connections earlier."""
        if not self._accepts():
            return False
        with Client(f"127.0.0.1:{self.port}", base="", timeout=30) as client:
            return client.request("GET", "/-/ready").status == 200

    def get(self, path, **parameters):
        with Client(f"127.0.0.1:{self.port}", base="", timeout=30) as client:
            response = client.request("GET", f"/api/v1/{path}?{urllib.parse.urlencode(parameters)}")
        answer = response.json()
        assert answer["status"] == "success", (path, parameters, answer)
        return answer["data"]

    def values(self, expression):
        """Returns the values of an instant query that are numbers."""
        result = self.get("query", query=expression)["result"]
        return [item["value"][1] for item in result if item["value"][1] != "NaN"]


class Traffic(threading.Thread):
    """Sends requests of all kinds until it is stopped."""

    def __init__(self, servers, key):
        super().__init__()
        self.servers = servers
        self.key = key
        self.ending = threading.Event()
        self.failure = None
        self.failures = 0

    def run(self):
        try:
            while not self.ending.is_set():
                for server in self.servers:
                    self.send(server)
                self.ending.wait(0.1)
        except Exception as failure:        # reported by stop()
            self.failure = failure

    def send(self, server):
        with server.client(self.key) as client:
            for path in ("/account", "/videos", "/books", "/stats", "/stats", "/stats", "/openapi.json", "/nowhere"):
                client.get(path)
            client.get("/events", {"after": "evt_0"})
        server.exchange(b"GET nonsense HTTP/1.1\r\nHost: x\r\n\r\n")
        if self.failures < FAILURES_MOST:
            self.failures += 1
            server.client().get("/account", key="service_live_nonsense")
            Browser(server.client()).get("/invite/" + "x" * 43)

    def stop(self):
        self.ending.set()
        self.join()
        assert self.failure is None, self.failure


AUTHOR = uid("Ann")


@pytest.fixture(scope="module")
def watched(tmp_path_factory):
    """A Prometheus that scrapes two servers on one database file and a server on PostgreSQL with a standby, with everything that has
    metrics."""
    from lib.viewtally import Viewtally
    directory = tmp_path_factory.mktemp("watched")
    (directory / "backups").mkdir()
    with Redis(directory / "redis") as redis, postgres.Postgres(schema="") as cluster, cluster.standby():
        config = {"redis": {"url": redis.url}, "limits": {"requests_per_minute": 600}, "events": {"history_start": "2020-01-01"},
                  "store": {"path": str(directory / "viewtally.db")}, "refresh": {"source": "simulated", "interval_s": 2},
                  "backup": {"directory": str(directory / "backups")}, "log": {"access": str(directory / "access.log")}}
        servers = [Viewtally(directory / f"server-{number}", config) for number in (1, 2)]
        on_postgresql = Viewtally(directory / "server-3", {**config, "store": {"url": cluster.url(cluster.database("template0"))}, "backup": {}})
        on_postgresql.run("migrate")
        servers.append(on_postgresql)
        for server in (servers[0], on_postgresql):
            server.import_lines(world())
        for server in servers:
            server.start()
        sign_up(servers[0], AUTHOR, "ann@example.com", "correct horse battery")
        traffic = [Traffic(group, group[0].create_key(AUTHOR)) for group in (servers[:2], servers[2:])]
        with Prometheus(directory / "prometheus", [server.admin_addresses[0] for server in servers]) as prometheus:
            for thread in traffic:
                thread.start()
            wait.until(lambda: prometheus.values("sum(up)") == ["3"], "all servers to be scraped")
            yield prometheus
            for thread in traffic:
                thread.stop()
        for server in servers:
            server.stop()


def world():
    now = datetime.datetime.now(datetime.timezone.utc)
    posted, read = ((now - datetime.timedelta(days=days)).strftime("%Y-%m-%dT%H:%M:%SZ") for days in (3, 2))
    yield author("Ann")
    for number in range(20):
        yield video(f"video {number}", "Ann", posted)
        yield reading(f"video {number}", read, 5000)


def concrete(expression):
    """Replaces the variables of a query, as Grafana does."""
    return expression.replace("$__rate_interval", "15s").replace("$job", "viewtally").replace("$instance", ".*")


def test_every_query_of_the_dashboard_returns_data(watched):
    waiting = set(QUERIES)

    def all_have_data():
        for query in list(waiting):
            if watched.values(concrete(query[1])):
                waiting.discard(query)
        return not waiting

    try:
        wait.until(all_have_data, "data of every query", seconds=DATA_SECONDS, pause_most=1)
    except wait.TimedOut:
        pytest.fail("no data: " + "\n".join(f"{title}: {expression}" for title, expression in sorted(waiting)))


def test_a_query_of_an_unknown_metric_returns_nothing(watched):
    assert watched.values(concrete('sum(rate(viewtally_no_such_total{job=~"$job"}[$__rate_interval]))')) == []


def test_variables_have_values(watched):
    for variable in DASHBOARD["templating"]["list"][1:]:
        series, label = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"]).groups()
        found = watched.get("series", **{"match[]": concrete(series)})
        assert len({item[label] for item in found}) == {"job": 1, "instance": 3}[label]


def test_alerts_are_evaluated_and_none_fires(watched):
    def rules():
        found = [rule for group in watched.get("rules")["groups"] for rule in group["rules"]]
        return found and all(rule["health"] != "unknown" for rule in found) and found

    found = wait.until(rules, "all rules to be evaluated")
    assert {rule["health"] for rule in found} == {"ok"}
    assert [rule["name"] for rule in found if rule["state"] == "firing"] == []


def test_alert_fires_if_a_target_is_missing(watched):
    expression = next(rule["query"] for group in watched.get("rules")["groups"] for rule in group["rules"] if rule["name"] == "ViewtallyDown")
    assert watched.values(expression) == []
    assert watched.values(expression.replace('job="viewtally"', 'job="missing"')) == ["1"]
