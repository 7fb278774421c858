#!/usr/bin/python3
"""Runs the container image alone, and compose.yaml with nginx and Redis. `make test-image` runs it, as root.

Usage: containers.py ARCHIVE [DIRECTORY]

The storage of podman and the images are in DIRECTORY (a new one below /var/tmp by default) and are deleted at the end. The images
of Redis and nginx are built from Debian under the names that compose.yaml uses, so no registry is needed. runc and cgroupfs also
work if this machine is itself a container.
"""
import contextlib
import http.client
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "test"))
from lib import wait                # noqa: E402

PORT, ADMIN_PORT = 18480, 18481
STORE = ["podman", "--runtime", "runc", "--cgroup-manager", "cgroupfs", "--storage-driver", "vfs"]
HARDENED = ["--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges"]
DEBIAN = "FROM scratch\nADD root.tar /\n"
SIZE_MAX = 20_000_000


def check(is_true, what):
    print(("ok    " if is_true else "FAIL  ") + what, flush=True)
    if not is_true:
        sys.exit(1)


class Podman:
    def __init__(self, directory):
        self.directory = directory
        self.command = [*STORE, "--root", f"{directory}/storage", "--runroot", f"{directory}/run", "--network-config-dir", f"{directory}/networks"]
        # podman's own limits are higher than a container in a container may set.
        limits = directory / "containers.conf"
        limits.write_text('[containers]\ndefault_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]\n', encoding="utf-8")
        os.environ["CONTAINERS_CONF"] = str(limits)
        self.wrapper = directory / "podman"         # what podman-compose calls
        self.wrapper.write_text("#!/bin/sh\nexec " + " ".join(self.command) + ' "$@"\n', encoding="utf-8")
        self.wrapper.chmod(0o755)

    def run(self, *arguments, check_status=True):
        done = subprocess.run([*self.command, *arguments], capture_output=True, text=True, check=False)
        if check_status and done.returncode:
            sys.exit(f"podman {' '.join(arguments)}: {done.stderr}")
        return done

    def out(self, *arguments):
        return self.run(*arguments).stdout.strip()

    def build(self, tag, context):
        store = ["--root", f"{self.directory}/storage", "--runroot", f"{self.directory}/run", "--storage-driver", "vfs"]
        subprocess.run(["buildah", *store, "build", "-q", "--isolation", "chroot", "--tag", tag, str(context)], check=True, stdout=subprocess.DEVNULL)

    def compose(self, *arguments):
        return subprocess.run(["podman-compose", "--podman-path", str(self.wrapper), *arguments], cwd=self.directory / "compose",
                              env={**os.environ, "PORT": str(PORT), "BASE_URL": f"http://127.0.0.1:{PORT}"}, capture_output=True, text=True, check=False)


def get(path, key=None, port=PORT, timeout=70):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    with contextlib.closing(connection):
        connection.request("GET", path, headers={"Authorization": f"Bearer {key}"} if key else {})
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()


def responds(path, port=PORT):
    try:
        return get(path, port=port, timeout=5)[0]
    except OSError:
        return None


def start(podman, *options):
    podman.run("run", "-d", "--name", "viewtally", *HARDENED, "-p", f"127.0.0.1:{PORT}:8080", *options, "-v", "data:/var/lib/viewtally", IMAGE)
    wait.until(lambda: podman.run("healthcheck", "run", "viewtally", check_status=False).returncode == 0, "the container to be healthy", 60)


def add_key(podman, container):
    author = podman.out("exec", container, "viewtally", "author", "add", "--name", "Ada")
    return podman.out("exec", container, "viewtally", "key", "create", "--author", author, "--name", "test").split()[-1]


def check_container(podman):
    start(podman, "-e", "VIEWTALLY_ADMIN_LISTEN=0.0.0.0:9187", "-p", f"127.0.0.1:{ADMIN_PORT}:9187")
    check(True, "starts with a read-only root and no capabilities, creates its database, and is healthy")
    facts = json.loads(podman.out("inspect", "viewtally"))[0]
    pid = facts["State"]["Pid"]
    uids = [line for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("Uid:")]
    check(uids[0].split()[1:] == ["65532"] * 4, "does not run as root")
    check(podman.run("exec", "viewtally", "viewtally", "backup", "/backup.db", check_status=False).returncode != 0, "cannot write to its root")
    key = add_key(podman, "viewtally")
    check(get("/v1/account", key)[0] == 200, "serves an author that was added with podman exec")
    check_drain(podman, key)
    podman.run("rm", "viewtally")
    start(podman)
    check(get("/v1/account", key)[0] == 200, "a new container on the same volume has the data")
    podman.run("rm", "-f", "-t", "15", "viewtally")
    check_unhealthy(podman)


def check_drain(podman, key):
    """A long poll is in flight while the container is stopped."""
    results = []
    poll = threading.Thread(target=lambda: results.append(get("/v1/events?after=latest&wait=55", key)))
    poll.start()
    wait.until(lambda: b"\nviewtally_http_requests_in_flight 1\n" in get("/metrics", port=ADMIN_PORT)[2], "the long poll to arrive", 20)
    begin = time.monotonic()
    podman.run("stop", "-t", "15", "viewtally")
    seconds = time.monotonic() - begin
    poll.join(30)
    check(results and results[0][0] == 200, f"SIGTERM completes a long poll ({seconds:.1f} s)")
    check(podman.out("inspect", "-f", "{{.State.ExitCode}}", "viewtally") == "0", "and exits with 0")


def check_unhealthy(podman):
    podman.run("run", "-d", "--name", "viewtally", *HARDENED, "-e", "VIEWTALLY_ADMIN_LISTEN=127.0.0.1:9188", "-v", "data:/var/lib/viewtally", IMAGE)
    done = podman.run("exec", "-e", "VIEWTALLY_ADMIN_LISTEN=127.0.0.1:9187", "viewtally", "viewtally", "healthcheck", check_status=False)
    check(done.returncode != 0, "the health check fails if nothing listens")
    podman.run("rm", "-f", "-t", "15", "viewtally")
    podman.run("volume", "rm", "data")


def build_debian(podman, directory):
    """One system with Redis and nginx, tagged as both images."""
    root = directory / "root"
    subprocess.run(["debootstrap", "--variant=minbase", "--include=redis-server,nginx-light", "bookworm", str(root)], check=True, stdout=subprocess.DEVNULL)
    (root / "etc/nginx/sites-enabled/default").unlink()
    shutil.rmtree(root / "var/cache/apt/archives")
    context = directory / "debian"
    context.mkdir()
    (context / "Containerfile").write_text(DEBIAN, encoding="utf-8")
    subprocess.run(["tar", "-C", str(root), "--numeric-owner", "--exclude=./dev/*", "--exclude=./proc/*", "-cf", str(context / "root.tar"), "."], check=True)
    shutil.rmtree(root)
    podman.build("docker.io/library/nginx:1.28", context)
    podman.run("tag", "docker.io/library/nginx:1.28", "docker.io/library/redis:7")
    shutil.rmtree(context)


def check_compose(podman, directory):
    build_debian(podman, directory)
    compose = directory / "compose"
    compose.mkdir()
    for file in ("packaging/container/compose.yaml", "packaging/nginx/viewtally.conf"):
        shutil.copy(ROOT / file, compose)
    done = podman.compose("up", "-d")
    check(done.returncode == 0, "podman-compose up" + (": " + done.stdout + done.stderr if done.returncode else ""))
    name = next(name for name in podman.out("ps", "--format", "{{.Names}}").split() if "viewtally" in name)
    wait.until(lambda: responds("/v1/account") == 401, "nginx to reach viewtally", 60)
    key = add_key(podman, name)
    status, fields, _ = get("/v1/account", key)
    check(status == 200, "nginx serves the API")
    check("up" in podman.out("exec", name, "viewtally", "status"), "Redis is found by its name")
    check(re.fullmatch(r"[0-9.]+", seen_address(podman, name)), "viewtally trusts the address that nginx forwards")
    podman.run("rm", "-f", "-t", "15", name)
    done = podman.compose("up", "-d")
    wait.until(lambda: responds("/v1/account") == 401, "nginx to reach the new container", 60)
    check(get("/v1/account", key)[0] == 200, "after an upgrade of viewtally alone, nginx finds it and the data is there")
    podman.compose("down", "-v")


def seen_address(podman, name):
    get("/v1/account", "service_live_" + "x" * 32)
    lines = [line for line in podman.run("logs", name).stderr.splitlines() if "authentication failed" in line]
    return lines[-1].rsplit("from ", 1)[1].split('"')[0].split()[0] if lines else "no line in the log"


def main():
    global IMAGE
    archive = pathlib.Path(sys.argv[1])
    directory = pathlib.Path(sys.argv[2] if len(sys.argv) > 2 else tempfile.mkdtemp(prefix="viewtally-image-", dir="/var/tmp"))
    directory.mkdir(exist_ok=True)
    podman = Podman(directory)
    try:
        check(archive.stat().st_size < SIZE_MAX, f"the image has {archive.stat().st_size} bytes")
        IMAGE = podman.out("load", "-q", "-i", str(archive)).split(": ")[-1].strip()
        check_container(podman)
        check_compose(podman, directory)
    finally:
        podman.run("rm", "-f", "-a", "-t", "1", check_status=False)
        podman.run("volume", "rm", "-a", "-f", check_status=False)
        podman.run("network", "prune", "-f", check_status=False)
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
