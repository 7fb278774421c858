"""Memory of an idle server and of idle connections, for `make bench`."""
import contextlib
import resource
import socket
import statistics

import measure
import report
import tail
from undisturbed import undisturbed

IDLE_GOAL_MB, CONNECTION_GOAL_KB, P99_GOAL_MS = 20, 4, 0.3
CONNECTIONS, RATE = 64, 5000
SPARE = 500                 # descriptors and connections for all else


def allow_open_files(count):
    """What this process, and what it starts, may open; False: the system allows fewer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < count:
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))
            return True
        return False
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count), hard))
    return True


def open_idle(address, count, key):
    """So many kept connections, each of which has had an answer."""
    host, _, port = address.rpartition(":")
    request = f"GET /v1/account HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {key}\r\n\r\n".encode()
    socks = []
    for _ in range(count):
        sock = socket.create_connection((host, int(port)))
        sock.sendall(request)
        socks.append(sock)
        if b"200 OK" not in sock.recv(65536):
            raise SystemExit("bench: an idle connection got no answer")
    return socks


def p99_ms(server, servers, options, cpu):
    """Of small requests at a moderate rate."""
    run = undisturbed(lambda: tail.paced(server.address, servers.own["/account"], CONNECTIONS, RATE, max(1, options.seconds), cpu), max(1, options.seconds))
    return run["p99_us"] / 1000


def section(servers, options, cpu):
    idle = options.idle
    if not allow_open_files(idle + SPARE):
        raise SystemExit(f"bench: {idle + SPARE:,} open files are not allowed here: raise `ulimit -n`, or --idle fewer")
    config = {"server": {"max_connections": idle + SPARE, "idle_timeout_ms": 600_000}}
    server, alone = servers.start_viewtally("memory", config), servers.start_viewtally("alone", config)
    start_own, start_all = measure.resident_mb([server.pid])
    for each in (server, alone):
        p99_ms(each, servers, options, cpu)                   # fills the cache, so that it does not grow later
    before, _ = measure.resident_mb([server.pid])
    socks = open_idle(server.address, idle, servers.keys[0][0])
    after, _ = measure.resident_mb([server.pid])
    # One with and one without them take turns.
    rounds = [(p99_ms(alone, servers, options, cpu), p99_ms(server, servers, options, cpu)) for _ in range(tail.MORE_ROUNDS * options.rounds)]
    before_p99, after_p99 = (statistics.median(side) for side in zip(*rounds))
    for sock in socks:
        sock.close()
    each = (after - before) * 1024 / idle
    head = ["<what", "measured", "<goal"]
    rows = [["resident after the start, empty cache, MB", f"{start_all:.1f} ({start_own:.1f} own)", report.verdict(start_all < IDLE_GOAL_MB, f"< {IDLE_GOAL_MB}")],
            [f"for each of {idle:,} idle connections, KB", f"{each:.2f}", report.verdict(each <= CONNECTION_GOAL_KB, f"≤ {CONNECTION_GOAL_KB}")],
            [f"p99 of /account, {CONNECTIONS} connections, {RATE:,} requests/s, none idle, ms", f"{before_p99:.2f}", ""],
            ["the same beside them, ms", f"{after_p99:.2f}", report.verdict(after_p99 - before_p99 <= P99_GOAL_MS, f"≤ {P99_GOAL_MS} later")]]
    return f"""
## Memory

{report.table(head, rows)}

The idle connections have had an answer each. Memory is VmRSS and, for the connections, RssAnon of the server; what the system itself takes for a socket is not in it.
"""
