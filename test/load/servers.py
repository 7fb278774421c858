"""The servers that `make bench` compares, with the same data, and the files with the requests that each of them gets."""
import contextlib
import json
import os
import pathlib
import statistics

import bench_data as data
import measure
import report
from lib import wait
from lib.client import Client
from lib.services import Nginx, Redis
from lib.viewtally import Viewtally

# Fixed dates, so that midnight may pass during a bench.
WEEK = data.last_days(7)
RESPONSES = {"/account": "/v1/account", "/videos/{id}": "/v1/videos/{id}", "/events?limit=100": "/v1/events?limit=100",
             "/stats, 7 days": f"/v1/stats?{WEEK}", "/videos?limit=50": "/v1/videos?limit=50"}
PAGE = "/videos?limit=50"
NOT_MODIFIED, POLL = "304, " + PAGE, "/events, nothing new"
CACHE_BYTES = 512 << 20     # all responses of a row fit

NGINX = """
%(user)s
pid @DIR@/nginx.pid; error_log @DIR@/error.log crit; worker_processes 1;
events { worker_connections 1024; }
http {
  access_log off; client_body_temp_path @DIR@/b; proxy_temp_path @DIR@/p; fastcgi_temp_path @DIR@/f; uwsgi_temp_path @DIR@/u; scgi_temp_path @DIR@/s;
  sendfile on; tcp_nopush on; keepalive_requests 1000000000; default_type application/json;
  open_file_cache max=20000 inactive=300s; open_file_cache_valid 300s;
  server { listen 127.0.0.1:@PORT@; root %(root)s; }
}
"""


class Contender:
    """A server under measurement: its address, its processes, and for each request name the file with the requests."""

    def __init__(self, name, address, pids, requests, budget=None, rendered=False):
        self.name = name
        self.address = address
        self.pids = pids
        self.requests = requests
        self.budget = budget            # of its keys; None: no limit
        self.rendered = rendered        # has no response cache


class Build:
    """One viewtally binary with a database of its own, and the requests for it."""

    def __init__(self, directory, binary, options):
        self.directory = directory
        self.binary = binary
        self.sizes = {}             # (author, request name): size of the body
        self.etags = {}
        self.targets = {}
        base = self.make_installation("data", {"events": {"history_start": "2020-01-01"}})
        base.run("migrate")
        lines = directory / "lines.ndjson"
        data.write_lines(lines, options.authors)
        base.run("import", str(lines), timeout=600)
        lines.unlink()
        self.database = base.settings["store"]["path"]
        self.keys = data.add_keys(self.database, options.keys)

    def make_installation(self, name, config):
        instance = Viewtally(self.directory / name, config)
        instance.binary = self.binary
        return instance

    def fetch(self, client, key, author, name, target):
        response = client.request("GET", target, key=key)
        assert response.status == 200, response
        self.targets[author, name] = target
        self.sizes[author, name] = len(response.body)
        self.etags[author, name] = response.headers["ETag"]
        return response

    def fetch_all(self, address, authors, files):
        """Fetches every response for every author, and writes it into `files` for nginx. /account comes last, because it shows that
        the key has been used."""
        with Client(address, base="") as client:
            for key, author in self.keys[:authors]:
                page = self.fetch(client, key, author, PAGE, RESPONSES[PAGE])
                responses = {PAGE: page}
                for name in ("/videos/{id}", "/events?limit=100", "/stats, 7 days"):
                    responses[name] = self.fetch(client, key, author, name, RESPONSES[name].replace("{id}", page.json()["data"][0]["id"]))
                self.fetch(client, key, author, POLL, f"/v1/events?after={self.end_of_feed(client, key)}")
                (files / str(author)).mkdir(parents=True, exist_ok=True)
                for name, response in responses.items():
                    (files / str(author) / file_of(name)).write_bytes(response.body)
            for key, author in self.keys[:authors]:
                account = self.fetch(client, key, author, "/account", "/v1/account")
                (files / str(author) / "account").write_bytes(account.body)

    def end_of_feed(self, client, key):
        after = None
        while True:
            page = json.loads(client.request("GET", "/v1/events?limit=100" + (f"&after={after}" if after else ""), key=key).body)
            after = page["next_cursor"] or after
            if not page["has_more"]:
                return after

    def write_requests(self):
        """{request name: file with a line "KEY TARGET [ETAG]" for each key}"""
        requests = {name: self.write_lines(str(i), lambda author, n=name: self.targets[author, n])
                    for i, name in enumerate([*RESPONSES, POLL])}
        requests[NOT_MODIFIED] = self.write_lines("304", lambda author: f"{self.targets[author, PAGE]} {self.etags[author, PAGE]}")
        return requests

    def write_lines(self, name, target_of):
        path = self.directory / f"{name}.requests"
        path.write_text("".join(f"{key} {target_of(author)}\n" for key, author in self.keys))
        return path


def file_of(name):
    return name.strip("/").partition("?")[0].partition(",")[0].replace("/{id}", "-one")


class Servers:
    """Starts everything below `directory`: `viewtally` is a list of contenders, `nginx` is one."""

    def __init__(self, directory, options, server_cpu, wrk_cpu):
        self.directory = pathlib.Path(directory)
        self.options = options
        self.server_cpu, self.wrk_cpu = server_cpu, wrk_cpu
        self.started = []
        self.viewtally = []

    def size(self, name):
        return statistics.median(size for (_, n), size in self.build.sizes.items() if n == name)

    def start(self):
        self.redis = Redis(self.directory / "redis").start()
        self.started.append(self.redis)
        measure.pin(self.redis.pid, self.wrk_cpu)
        self.build = self.start_build("viewtally", report.bench_binary())
        if self.options.against:
            self.start_build("against", self.options.against)
        self.nginx = self.start_nginx()

    def start_build(self, name, binary):
        directory = self.directory / name
        directory.mkdir()
        build = Build(directory, binary, self.options)
        cached = {"cache": {"max_bytes": CACHE_BYTES}}
        limited = {**cached, "limits": {"requests_per_minute": "60"},
                   "redis": {"url": f"unix:{self.redis.socket_path}", "key_prefix": f"{name}:"}}
        unlimited = self.start_viewtally(build, "unlimited", cached)
        build.fetch_all(unlimited.address, self.options.authors, self.directory / f"files-{name}")
        requests = build.write_requests()
        for title, server, budget in (
                ("exact window", self.start_viewtally(build, "limited", limited), measure.Budget(len(build.keys) * 60)),
                ("no limit", unlimited, None),
                ("rendered", self.start_viewtally(build, "rendered", {"cache": {"max_bytes": 0}}), None)):
            self.viewtally.append(Contender(f"{name}, {title}", server.address, [server.pid], requests, budget, title == "rendered"))
        return build

    def start_viewtally(self, build, name, config):
        server = build.make_installation(name, {"store": {"path": build.database}, **config}).start()
        self.started.append(server)
        measure.pin(server.pid, self.server_cpu)
        return server

    def start_nginx(self):
        files = self.directory / "files-viewtally"
        server = Nginx(self.directory / "nginx", NGINX % {"user": "user root;" if os.getuid() == 0 else "", "root": files}).start()
        self.started.append(server)
        wait.until(lambda: measure.children(server.pid), "nginx's worker")
        workers = measure.children(server.pid)
        for pid in workers:
            measure.pin(pid, self.server_cpu)
        requests = {name: self.build.write_lines(f"nginx-{file_of(name)}", lambda author, n=name: f"/{author}/{file_of(n)}") for name in RESPONSES}
        return Contender("nginx", server.address, workers, requests)

    def stop(self):
        with contextlib.ExitStack() as stack:       # stops all servers even if one fails to stop
            for server in self.started:
                stack.callback(server.stop)
