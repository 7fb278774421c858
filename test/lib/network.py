"""A network in which services run as on another machine, and which a test can cut. Needs root and iproute2.

A namespace is connected to that of the test by a pair of virtual Ethernet devices. While the network is cut, each side
sends to a wrong link-layer address, so the other side ignores the packets: both wait as after the loss of a cable
between two switches. No FIN, RST or ICMP message arrives, and neither side notices that an interface is down.

The namespace has no name: it and the devices end with its last process, also if the test is killed.
"""
import os
import pathlib
import random
import shutil
import socket
import subprocess

from . import wait

NUMBERS = range(1, 16_000)          # each has four addresses of 198.18.0.0/16, which is reserved for tests of networks
OUR_LINK, THEIR_LINK, NOBODY = "02:00:00:00:00:01", "02:00:00:00:00:02", "02:00:00:00:00:03"


class Unavailable(Exception):
    """This machine cannot create the namespace; the text is the reason."""


class Network:
    """`address` is the address of the services, `command` the words before the command of a process that runs there."""

    def __init__(self):
        self._holder = self._reservation = None
        if os.getuid() != 0 or not shutil.which("ip"):
            raise Unavailable("a network namespace needs root and iproute2")
        number = self._reserve()
        self.our_address, self.address = (f"198.18.{number // 64}.{number % 64 * 4 + host}" for host in (1, 2))
        self.subnet = f"{self.our_address}/30"
        self._ours, self._theirs = f"vt-{number}", f"vt-{number}-peer"
        try:
            self._create()
            self._configure()
        except BaseException:
            self.close()
            raise

    def _create(self):
        self._holder = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "unshare", "--net", "sleep", "infinity"], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        namespace = f"/proc/{self._holder.pid}/ns/net"
        self.command = ["nsenter", f"--net={namespace}"]
        wait.until(lambda: self._holder.poll() is not None or os.readlink(namespace) != os.readlink("/proc/self/ns/net"), "the namespace")
        if self._holder.poll() is not None:
            raise Unavailable(f"no network namespace can be created: {self._holder.stderr.read().decode().strip()}")
        try:
            _run("ip", "link", "add", self._ours, "address", OUR_LINK, "type", "veth",
                 "peer", "name", self._theirs, "address", THEIR_LINK, "netns", self._holder.pid)
        except subprocess.CalledProcessError as error:
            raise Unavailable(f"no virtual Ethernet devices can be created: {error.stderr.decode().strip()}") from error

    def _configure(self):
        self._run_there("ip", "link", "set", "lo", "up")
        for run, address, device in ((_run, self.our_address, self._ours), (self._run_there, self.address, self._theirs)):
            run("ip", "address", "add", f"{address}/30", "dev", device)
            run("ip", "link", "set", device, "up")
        self.restore()

    def _reserve(self):
        """Returns a number that no other test process uses at the same time, as free_port() in services.py does."""
        while True:
            number = random.choice(NUMBERS)
            reservation = socket.socket(socket.AF_UNIX)
            try:
                reservation.bind(f"\0viewtally-test-network-{number}")
            except OSError:
                reservation.close()
                continue
            self._reservation = reservation
            return number

    def _run_there(self, *words):
        _run(*self.command, *words)

    def _send_to(self, our_link, their_link):
        _run("ip", "neighbor", "replace", self.address, "lladdr", their_link, "dev", self._ours, "nud", "permanent")
        self._run_there("ip", "neighbor", "replace", self.our_address, "lladdr", our_link, "dev", self._theirs, "nud", "permanent")

    def cut(self):
        """Drops all packets in both directions."""
        self._send_to(NOBODY, NOBODY)

    def cut_replies(self):
        """Drops only the packets that the services send."""
        self._send_to(NOBODY, THEIR_LINK)

    def restore(self):
        self._send_to(OUR_LINK, THEIR_LINK)

    def open_ports(self):
        """Returns our ports of the connections to the services that are established on our side."""
        rows = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
        address = socket.inet_aton(self.our_address)[::-1].hex().upper()        # the file has the bytes in the order of the processor
        return {int(ours.split(":")[1], 16) for _, ours, _, state, *_ in rows if ours.startswith(f"{address}:") and state == "01"}

    def close(self):
        """Removes the devices and the namespace. Stop the services before."""
        holder, self._holder = self._holder, None
        if holder:
            # Also deletes the device in the namespace. It does not exist if _create() has failed.
            subprocess.run(["ip", "link", "delete", self._ours], capture_output=True, check=False)
            holder.kill()
            holder.wait()
            holder.stderr.close()
        if self._reservation:
            self._reservation.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def _run(*words):
    subprocess.run(list(map(str, words)), capture_output=True, check=True, stdin=subprocess.DEVNULL)
