#!/usr/bin/python3
"""Duration of delivering events to many webhooks. `make bench-webhooks`; needs nginx.

Several events of each of 5,000 authors go to their webhooks, which share one origin: an nginx that responds at once. A second origin
accepts messages and never responds. At the end, every event was delivered exactly once and in order, and the silent origin has delayed
no other webhook. `--endpoints 200` is a quick try. Prints JSON.

At most 64 messages are in flight to one origin, so at most 64 are delivered per round trip. Here the round trip is so short that the
processor is the limit.
"""
import argparse
import collections
import contextlib
import json
import pathlib
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "test"), str(ROOT / "scripts")]
sys.dont_write_bytecode = True

import programs                                             # noqa: E402
from lib import wait                                        # noqa: E402
from lib.receiver import Receiver                           # noqa: E402
from lib.services import Nginx                              # noqa: E402
from lib.viewtally import Viewtally                         # noqa: E402
from lib.webhooks import connect_authors, sql               # noqa: E402

EVENTS, SLOW, PER_SECOND_MIN = 3, 70, 500                   # SLOW exceeds the deliveries in flight to one origin
CONFIGURATION = """
worker_processes 1; pid @DIR@/pid; error_log stderr; events { worker_connections 1000; }
http { log_format ids '$http_webhook_id'; access_log @DIR@/ids.log ids; keepalive_requests 1000000;
  client_body_temp_path @DIR@/body; proxy_temp_path @DIR@/p; fastcgi_temp_path @DIR@/f; uwsgi_temp_path @DIR@/u; scgi_temp_path @DIR@/s;
  server { listen 127.0.0.1:@PORT@ ssl; ssl_certificate CERT; ssl_certificate_key KEY; location / { return 204; } } }
"""


class Site:
    """The nginx as a receiver for connect_authors()."""

    def __init__(self, directory, receiver):
        certificate, key = receiver.authority.issue("site", "DNS:localhost,IP:127.0.0.1")
        self.receiver, self.ids = receiver, directory / "ids.log"
        self.nginx = Nginx(directory, CONFIGURATION.replace("CERT", str(certificate)).replace("KEY", str(key)))

    def url(self, path):
        return f"https://localhost:{self.nginx.port}{path}"

    def config(self):
        return self.receiver.config()


def is_done(instance, idents):
    count, = sql(instance, "SELECT count(*) FROM webhook_endpoints e JOIN authors a ON a.id = e.author_id WHERE a.name LIKE 'fast%' "
                           "AND e.position = a.last_event_id")[0]
    return count == len(idents)


def check(site, idents):
    """Checks that every event was delivered once, and the events of each endpoint in order."""
    found = collections.defaultdict(list)
    for line in site.ids.read_text(encoding="ascii").split():
        endpoint, event = line.split(".")
        found[endpoint].append(int(event.removeprefix("evt_")))
    assert set(found) == set(idents), (len(found), len(idents))
    wrong = [ident for ident, events in found.items() if len(events) != EVENTS or events != sorted(set(events))]
    assert not wrong, (len(wrong), found[wrong[0]])


def measure(directory, endpoints):
    receiver = Receiver(directory / "receiver")
    instance = Viewtally(directory / "viewtally")
    held = receiver.answers["/silent"] = threading.Event()
    (directory / "nginx").mkdir()
    site = Site(directory / "nginx", receiver)
    with contextlib.closing(receiver), site.nginx:
        connect_authors(instance, receiver, SLOW, "/silent", "slow")        # first, so that each scan finds them first
        idents = connect_authors(instance, site, endpoints, "/hook", "fast")
        begin = time.monotonic()
        with instance:
            wait.until(lambda: is_done(instance, idents), "all deliveries", 600)
            seconds = time.monotonic() - begin
            held.set()
        check(site, idents)
        assert receiver.received("/silent")
    return {"endpoints": endpoints, "deliveries": EVENTS * endpoints, "seconds": round(seconds, 2), "per_second": round(EVENTS * endpoints / seconds)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--endpoints", type=int, default=5000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="viewtally-bench-") as directory:
        result = measure(pathlib.Path(directory), options.endpoints)
    print(json.dumps(result))
    if options.endpoints >= 5000 and result["per_second"] < PER_SECOND_MIN:
        sys.exit(f"fewer than {PER_SECOND_MIN} deliveries per second")


if __name__ == "__main__":
    programs.exit_on_signals(main)
