"""A Debian with systemd, nginx and Redis in a container (systemd-nspawn), for tests of the units.

The root directory is built once with debootstrap below VIEWTALLY_MACHINES (default /var/tmp/viewtally-machines) and kept. Every
machine starts from it with an overlay in memory, has a network of its own, and needs root.
"""
import os
import pathlib
import shlex
import shutil
import subprocess

from lib import wait

MIRROR = os.environ.get("VIEWTALLY_MIRROR", "http://deb.debian.org/debian")
PACKAGES = ("systemd,systemd-sysv,dbus,libpam-systemd,nginx,redis-server,wrk,python3,"
            "fail2ban,python3-systemd,nftables,iptables,iproute2")
BOOT_SECONDS = 120
ROOT = pathlib.Path(__file__).resolve().parents[2]


def roots():
    return pathlib.Path(os.environ.get("VIEWTALLY_MACHINES", "/var/tmp/viewtally-machines"))


def build_root(suite):
    """Returns the path of the root directory of `suite`, and builds it first if it is missing or lacks a package."""
    root = roots() / suite
    complete = root / ".complete"
    if not complete.exists() or complete.read_text(encoding="utf-8") != PACKAGES:
        shutil.rmtree(root, ignore_errors=True)
        root.parent.mkdir(parents=True, exist_ok=True)
        print(f"building {root} with debootstrap …", flush=True)
        subprocess.run(["debootstrap", "--variant=minbase", f"--include={PACKAGES}", suite, str(root), MIRROR],
                       check=True, stdout=subprocess.DEVNULL)
        complete.write_text(PACKAGES, encoding="utf-8")
    return root


class Failed(Exception):
    """A command in the machine has failed."""

    def __init__(self, command, done):
        super().__init__(f"{command}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        self.status = done.returncode
        self.text = done.stdout + done.stderr


class Machine:
    """A booted machine. The tree of this project is at /source, read-only."""

    def __init__(self, suite, log):
        self.suite = suite
        self.log = log
        self._process = None
        self._leader = None

    def __enter__(self):
        environment = {**os.environ, "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1"}
        with open(self.log, "wb") as log:
            self._process = subprocess.Popen(
                ["systemd-nspawn", "--quiet", f"--directory={build_root(self.suite)}", "--volatile=overlay", "--private-network",
                 "--register=no", "--keep-unit", f"--bind-ro={ROOT}:/source", "--boot", "systemd.unit=multi-user.target"],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment, start_new_session=True)
        wait.until(self._booted, "the machine to boot", seconds=BOOT_SECONDS)
        return self

    def __exit__(self, *_):
        self._process.terminate()       # systemd-nspawn shuts the machine down
        try:
            self._process.wait(30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _booted(self):
        if self._process.poll() is not None:
            raise AssertionError(f"systemd-nspawn has ended:\n{self.log.read_text(errors='replace')[-3000:]}")
        children = pathlib.Path(f"/proc/{self._process.pid}/task/{self._process.pid}/children").read_text().split()
        if not children:
            return False
        self._leader = children[0]
        done = self.run("systemctl is-system-running", check=False)
        return done.stdout.strip() in ("running", "degraded")

    def _enter(self, command):
        return ["nsenter", f"--target={self._leader}", "--mount", "--uts", "--ipc", "--net", "--pid", "--root", "env", "-i",
                "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "sh", "-c", "cd / && " + command]

    def run(self, command, check=True):
        """Runs a shell command as root in the machine. Raises Failed if its exit status is not 0, unless check is False."""
        done = subprocess.run(self._enter(command), capture_output=True, text=True, check=False)
        if check and done.returncode:
            raise Failed(command, done)
        return done

    def start(self, command):
        """Starts a shell command in the machine. Returns the Popen object with a pipe for its output."""
        return subprocess.Popen(self._enter(command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def write(self, path, text):
        subprocess.run(self._enter(f"mkdir -p $(dirname {shlex.quote(path)}) && cat >{shlex.quote(path)}"), input=text, text=True, check=True)


def wait_in(machine, command, what, seconds=60):
    """Waits until a command in the machine succeeds."""
    wait.until(lambda: machine.run(command, check=False).returncode == 0, what, seconds=seconds)
