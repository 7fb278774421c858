"""The servers that `make bench` compares, on the same data, and the files with the requests that each is asked."""
import datetime
import json
import os
import pathlib

import bench_data as data
import measure
import report
from lib import wait
from lib.client import Client
from lib.services import Nginx, Redis, Service
from lib.viewtally import Viewtally

# Days of its own, so that midnight may fall into a bench.
WEEK = data.last_days(7)
# name: what is asked for with each key.
ANSWERS = {"/account": "/v1/account", "/videos/{id}": "/v1/videos/{id}", "/events?limit=100": "/v1/events?limit=100",
           "/stats, 7 days": f"/v1/stats?{WEEK}", "/videos?limit=50": "/v1/videos?limit=50"}
NOT_MODIFIED, POLL, REFUSED = "304, /videos?limit=50", "/events, nothing new", "429"
NEVER_TWICE, SPELLINGS = "/videos?limit=50, never twice", 300
# Two processors are too few for a server, its clients and a Redis: it shares one with either.
AWAY, BESIDE = "Redis beside wrk", "Redis beside the server"
CACHE_BYTES = 512 << 20     # all answers of a row fit, and those of the rows before
REFUSED_KEYS = 5           # each is admitted 60 times first

# A file server at its best: descriptors cached, no log, connections kept for ever. /limited/ refuses with its own page, and
# /worded/ with a body of our size; each key is admitted once a minute there.
NGINX = """
%(user)s
pid @DIR@/nginx.pid; error_log @DIR@/error.log crit; worker_processes 1;
events { worker_connections 1024; }
http {
  access_log off; client_body_temp_path @DIR@/b; proxy_temp_path @DIR@/p; fastcgi_temp_path @DIR@/f; uwsgi_temp_path @DIR@/u; scgi_temp_path @DIR@/s;
  sendfile %(sendfile)s; tcp_nopush on; keepalive_requests 1000000000; default_type application/json;
  open_file_cache max=20000 inactive=300s; open_file_cache_valid 300s;
  limit_req_zone $http_authorization zone=keys:10m rate=1r/m; limit_req_status 429; limit_req_log_level info;
  server { listen 127.0.0.1:@PORT@; root %(root)s;
    location /limited/ { limit_req zone=keys; try_files /0/account =404; }
    location /worded/ { limit_req zone=keys; error_page 429 @refused; try_files /0/account =404; }
    location @refused { default_type application/json; return 429 '%(refusal)s'; }
  }
}
"""


class Floor(Service):
    program = "floor"

    def __init__(self, directory, keys, bodies, redis=None):
        super().__init__(directory)
        self.options = [str(keys), str(bodies)] + ([str(redis.port), "60"] if redis else [])

    @classmethod
    def _find(cls):
        return report.bench_program("floor")

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    def arguments(self):
        return [str(self.port), *self.options]

    def ready(self):
        return self._accepts()


class Contender:
    """A server under measurement: its address, its own processes, and for each question the file with the requests."""

    def __init__(self, name, address, pids, requests, budget=None, redis=None, server=None):
        self.name = name
        self.address = address
        self.pids = pids
        self.requests = requests
        self.budget = budget            # of its keys; None: it has no limit
        self.redis = redis
        self.server = server            # a Viewtally: it tells how many answers were kept


class Servers:
    """Starts everything in `directory`. Contenders: off, limited (Redis on the clients' processor), beside (Redis on the server's), cold,
    changing, nginx (two), floors (without Redis, and like limited and beside)."""

    def __init__(self, directory, options, server_cpu, wrk_cpu):
        self.directory = pathlib.Path(directory)
        self.options = options
        self.server_cpu, self.wrk_cpu = server_cpu, wrk_cpu
        self.started = []
        self.bodies = {}            # (author, question): size of the body
        self.etags = {}
        self.targets = {}           # (author, question): what viewtally is asked

    # -- data ----------------------------------------------------------------------------------------------------------

    def make_data(self):
        base = Viewtally(self.directory / "data", {"events": {"history_start": "2020-01-01"}})
        base.run("migrate")
        lines = self.directory / "lines.ndjson"
        data.write_lines(lines, self.options.authors)
        base.run("import", "--create", str(lines), timeout=600)
        lines.unlink()
        self.database = base.settings["store"]["path"]
        self.keys = data.add_keys(self.database, self.options.keys)
        self.refused_keys = data.add_keys(self.database, REFUSED_KEYS)

    def ask(self, client, key, author, question, target):
        answer = client.request("GET", target, key=key)
        assert answer.status == 200, answer
        self.targets[author, question] = target
        self.bodies[author, question] = len(answer.body)
        self.etags[author, question] = answer.headers["ETag"]
        return answer

    def write_files(self, address):
        """Every answer to every author as a file; /account last, which shows that the key has been used."""
        self.files = self.directory / "files"
        with Client(address, base="") as client:
            for key, author in self.keys[:self.options.authors]:
                place = self.files / str(author)
                place.mkdir(parents=True)
                page = self.ask(client, key, author, "/videos?limit=50", ANSWERS["/videos?limit=50"])
                answers = {"/videos?limit=50": page}
                for question in ("/videos/{id}", "/events?limit=100", "/stats, 7 days"):
                    target = ANSWERS[question].replace("{id}", page.json()["data"][0]["id"])
                    answers[question] = self.ask(client, key, author, question, target)
                self.ask(client, key, author, POLL, f"/v1/events?after={self.end_of_feed(client, key)}")
                for question, answer in answers.items():
                    (place / self.file_of(question)).write_bytes(answer.body)
            for key, author in self.keys[:self.options.authors]:
                account = self.ask(client, key, author, "/account", "/v1/account")
                (self.files / str(author) / "account").write_bytes(account.body)

    def end_of_feed(self, client, key):
        after = None
        while True:
            page = json.loads(client.request("GET", "/v1/events?limit=100" + (f"&after={after}" if after else ""), key=key).body)
            after = page["next_cursor"] or after
            if not page["has_more"]:
                return after

    def file_of(self, question):
        return question.strip("/").partition("?")[0].partition(",")[0].replace("/{id}", "-one")

    # -- requests ------------------------------------------------------------------------------------------------------

    def write_requests(self, name, keys, target_of):
        path = self.directory / f"{name}.requests"
        path.write_text("".join(f"{key} {target_of(author)}\n" for key, author in keys))
        return path

    def write_all_requests(self):
        self.own, self.of_files = {}, {}
        for i, question in enumerate([*ANSWERS, POLL]):
            self.own[question] = self.write_requests(f"own-{i}", self.keys, lambda author, q=question: self.targets[author, q])
            if question in ANSWERS:
                name = self.file_of(question)
                self.of_files[question] = self.write_requests(f"files-{i}", self.keys, lambda author, n=name: f"/{author}/{n}")
        page = "/videos?limit=50"
        self.own[NOT_MODIFIED] = self.write_requests("own-304", self.keys, lambda author: f"{self.targets[author, page]} {self.etags[author, page]}")
        self.own[REFUSED] = self.write_requests("own-429", self.refused_keys, lambda _: "/v1/account")
        # One page, asked for in so many spellings that none comes twice in a bench: all videos are younger than these dates.
        self.own[NEVER_TWICE] = self.directory / "own-once.requests"
        with self.own[NEVER_TWICE].open("w") as file:
            for n in range(SPELLINGS):
                day = datetime.date(2001, 1, 1) + datetime.timedelta(days=n)
                for key, author in self.keys[:self.options.authors]:
                    file.write(f"{key} {self.targets[author, page]}&start_date={day}\n")
        for way in ("limited", "worded"):
            self.of_files[way] = self.write_requests(f"files-429-{way}", self.refused_keys, lambda _, w=way: f"/{w}/")

    # -- servers -------------------------------------------------------------------------------------------------------

    def start_viewtally(self, name, config, environment=None):
        server = Viewtally(self.directory / name, {"store": {"path": self.database}, **config}).start(environment)
        self.started.append(server)
        measure.pin(server.pid, self.server_cpu)
        return server

    def start_redis(self, name, cpu):
        redis = Redis(self.directory / name).start()
        self.started.append(redis)
        measure.pin(redis.pid, cpu)
        return redis

    def start_limited(self, name, redis, config):
        limits = {"limits": {"requests_per_minute": "60"}, "redis": {"url": f"unix:{redis.socket_path}"}}
        return self.start_viewtally(name, {**limits, **config})

    def start(self):
        self.make_data()
        kept = {"cache": {"max_bytes": CACHE_BYTES}}
        off = self.start_viewtally("off", kept)
        self.write_files(off.address)
        self.write_all_requests()
        away, near = self.start_redis("redis", self.wrk_cpu), self.start_redis("redis-beside", self.server_cpu)
        limited, beside = self.start_limited("limited", away, kept), self.start_limited("beside", near, kept)
        self.refusal = self.make_refusal(limited.address)
        cold = self.start_viewtally("cold", {"cache": {"max_bytes": 0}})
        self.changing_database = self.directory / "changing.db"     # of its own, so that the others' answers stay kept
        off.run("backup", str(self.changing_database))
        changing = self.start_viewtally("changing", {"store": {"path": self.changing_database}, **kept})
        count = len(self.keys)
        self.off = Contender("viewtally, no limit", off.address, [off.pid], self.own, server=off)
        self.limited = Contender(f"viewtally, {AWAY}", limited.address, [limited.pid], self.own, measure.Budget(count * 60), away, limited)
        self.beside = Contender(f"viewtally, {BESIDE}", beside.address, [beside.pid], self.own, measure.Budget(count * 60), near, beside)
        self.cold = Contender("viewtally, no cache", cold.address, [cold.pid], self.own)
        self.changing = Contender("viewtally, data changes", changing.address, [changing.pid], self.own, server=changing)
        self.off_server = off
        self.nginx = [self.start_nginx(sendfile) for sendfile in ("on", "off")]
        self.floors = [self.start_floor("no limit"), self.start_floor(AWAY, away), self.start_floor(BESIDE, near)]

    def make_refusal(self, address):
        """What a key gets that has used its limit up."""
        with Client(address, base="") as client:
            # The first may be counted here, before Redis is connected.
            for _ in range(2 * 60 + 1):
                answer = client.request("GET", "/v1/account", key=self.refused_keys[0][0])
                if answer.status == 429:
                    return answer.body.decode()
        raise SystemExit("bench: the limit does not refuse")

    def start_nginx(self, sendfile):
        user = "user root;" if os.getuid() == 0 else ""
        settings = {"user": user, "sendfile": sendfile, "root": self.files, "refusal": self.refusal.replace("'", "’")}
        server = Nginx(self.directory / f"nginx-{sendfile}", NGINX % settings).start()
        self.started.append(server)
        wait.until(lambda: measure.children(server.pid), "nginx's worker")      # the port was open before
        workers = measure.children(server.pid)
        for pid in workers:
            measure.pin(pid, self.server_cpu)
        return Contender(f"nginx, files, sendfile {sendfile}", server.address, workers, self.of_files)

    def start_floor(self, title, redis=None):
        keys, bodies = self.directory / "floor.keys", self.directory / "floor.bodies"
        keys.write_text("".join(f"{key} {author}\n" for key, author in self.keys))
        bodies.write_text("".join(f"{author} {target} {self.files / str(author) / self.file_of(question)}\n"
                                  for (author, question), target in self.targets.items() if question in ANSWERS))
        server = Floor(self.directory / f"floor-{len(self.started)}", keys, bodies, redis).start()
        self.started.append(server)
        measure.pin(server.pid, self.server_cpu)
        return Contender(f"floor, {title}", server.address, [server.pid], self.own, measure.Budget(len(self.keys) * 60) if redis else None, redis)

    def stop(self):
        for server in reversed(self.started):
            server.stop()
