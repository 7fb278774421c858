"""viewtally, installed in a machine as docs/operating.md describes, with nginx and Redis; and load on it."""
import json
import re
import uuid

from machine import wait_in

AUTHOR = str(uuid.UUID(int=1))
VIDEO = str(uuid.UUID(int=2))
CONFIG = """[server]
base_url = http://127.0.0.1/v1
trusted_proxies = 127.0.0.1, unix
[store]
path = /var/lib/viewtally/viewtally.db
[redis]
url = redis://127.0.0.1:6379/0
[limits]
requests_per_minute = 0
"""
INSTALL = """set -e
install -m 755 /source/build/release/viewtally /usr/bin/viewtally
cp /source/packaging/systemd/*.service /source/packaging/systemd/*.socket /usr/lib/systemd/system/
cp /source/packaging/systemd/viewtally.sysusers /usr/lib/sysusers.d/viewtally.conf
cp /source/packaging/systemd/viewtally.tmpfiles /usr/lib/tmpfiles.d/viewtally.conf
systemd-sysusers
systemd-tmpfiles --create viewtally.conf
cp /source/packaging/nginx/nginx.conf /etc/nginx/nginx.conf
cp /source/packaging/nginx/viewtally.conf /etc/nginx/conf.d/viewtally.conf
rm -f /etc/nginx/sites-enabled/default
systemctl daemon-reload
systemctl restart nginx redis-server
"""


class Installed:
    def __init__(self, machine):
        self.machine = machine
        machine.run(INSTALL)
        self.configure(CONFIG)
        self.viewtally("migrate")
        self.viewtally(f"author add --name Ada --id {AUTHOR}")
        self.key = json.loads(self.viewtally(f"key create --author {AUTHOR} --name load --json"))["key"]
        self.app = json.loads(self.viewtally("app add --name Planner --redirect-uri https://planner.example/connected --json"))["client_id"]

    def configure(self, text):
        self.machine.write("/etc/viewtally/config.ini", text)
        self.machine.run("chown root:viewtally /etc/viewtally/config.ini && chmod 640 /etc/viewtally/config.ini")

    def viewtally(self, arguments):
        return self.machine.run(f"viewtally {arguments} --config /etc/viewtally/config.ini").stdout

    def enable(self, *units):
        """Stops and disables all services of viewtally, then enables and starts these."""
        self.machine.run("systemctl stop viewtally.socket 'viewtally*.service'")
        self.machine.run("systemctl disable viewtally.socket viewtally.service viewtally@1.service viewtally@2.service 2>&1")
        self.machine.run("systemctl enable --now " + " ".join(units))
        wait_in(self.machine, f"/usr/bin/python3 -c '{PROBE}' {self.key}", "viewtally to serve")

    def journal(self):
        return self.machine.run("journalctl --no-pager -o cat -u 'viewtally*' | grep -v info | tail -n 120; tail -n 5 /var/log/nginx/error.log").stdout


PROBE = ("import sys, urllib.request as r; "
         "r.urlopen(r.Request(\"http://127.0.0.1/v1/account\", headers={\"Authorization\": \"Bearer \" + sys.argv[1]}), timeout=5)")


class Load:
    """GET and POST requests and long polls, from start to stop. `failed` and `succeeded` count the requests by
    kind.

    Port 80 is that of nginx. `key` is an API key, `app` the client_id of a public app.
    """

    def __init__(self, machine, key, app, port=80):
        self.machine = machine
        wrk = "wrk --latency --timeout 30s -d 3600s -t 1"
        script = f"-s /source/test/systemd/load.lua http://127.0.0.1:{port}"
        self.commands = {
            "GET": f"{wrk} -c 16 {script}/v1/account -- get {key}",
            "POST": f"{wrk} -c 8 {script}/v1/oauth/revoke -- post {app}",
            "long poll": f"python3 /source/test/systemd/longpolls.py {port} {key} 8",
        }
        self.succeeded, self.failed, self.slowest, self.output = {}, {}, {}, {}

    def __enter__(self):
        self.processes = {kind: self.machine.start(f"{command} & echo $! >'/run/load {kind}'; wait")
                          for kind, command in self.commands.items()}
        for kind in self.commands:
            wait_in(self.machine, f"test -s '/run/load {kind}'", "the load to start")
        return self

    def __exit__(self, *_):
        for kind, process in self.processes.items():
            self.machine.run(f"kill -INT $(cat '/run/load {kind}'); rm '/run/load {kind}'")
            self.output[kind] = process.communicate(timeout=60)[0]
        for kind in ("GET", "POST"):
            self.read_wrk(kind, self.output[kind])
        match = re.search(r"(\d+) succeeded, (\d+) failed", self.output["long poll"])
        self.succeeded["long poll"], self.failed["long poll"] = int(match[1]), int(match[2])

    def read_wrk(self, kind, text):
        """Reads the numbers of wrk. Its total includes requests with another status, but not requests that failed
        because of the connection."""
        assert "requests in" in text, text
        total = int(re.search(r"(\d+) requests in", text)[1])
        bad = re.search(r"Non-2xx or 3xx responses: (\d+)", text)
        errors = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", text)
        statuses = int(bad[1]) if bad else 0
        self.failed[kind] = statuses + (sum(map(int, errors.groups())) if errors else 0)
        self.succeeded[kind] = total - statuses
        self.slowest[kind] = re.search(r"Latency\s+\S+\s+\S+\s+(\S+)", text)[1]

    def describe(self):
        parts = [f"{self.succeeded[kind]} {kind}" + (f" (slowest {self.slowest[kind]})" if kind in self.slowest else "") for kind in self.commands]
        return f"{sum(self.failed.values())} failed of {', '.join(parts)}"
