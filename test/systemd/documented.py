"""The commands of docs/install.md for the static binary, run literally in a fresh machine: install, upgrade, go back, remove."""
import hashlib
import re
import shutil
import subprocess

from machine import ROOT, wait_in

SECTION = "## Static binary"
NAME = "viewtally-0.2.0-linux-x86_64"
RELEASE = ROOT / "build/documented-release"
# The commands run as root. The release of this test is not signed.
PRELUDE = "set -e; sudo() { \"$@\"; }; gpg() { :; }; cd /root/release\n"


def section():
    return (ROOT / "docs/install.md").read_text(encoding="utf-8").split(f"{SECTION}\n")[1].split("\n## ")[0]


def commands():
    """The commands of each code block of the section that has the prompt `$`."""
    blocks = [re.findall(r"^\$ (.*)$", block, re.M) for block in re.findall(r"^```\n(.*?)^```", section(), re.M | re.S)]
    return ["\n".join(block) + "\n" for block in blocks if block]


def make_release():
    """Makes the archive as scripts/release does, with the static binary if it is built."""
    binary = next(path for path in (ROOT / "build/static/viewtally", ROOT / "build/release/viewtally") if path.exists())
    shutil.rmtree(RELEASE, ignore_errors=True)
    tree = RELEASE / NAME
    tree.mkdir(parents=True)
    subprocess.run([ROOT / "scripts/binary-tree", binary, tree], check=True)
    subprocess.run(["tar", "-C", RELEASE, "-czf", RELEASE / f"{NAME}.tar.gz", NAME], check=True)
    shutil.rmtree(tree)
    digest = hashlib.sha256((RELEASE / f"{NAME}.tar.gz").read_bytes()).hexdigest()
    (RELEASE / "SHA256SUMS").write_text(f"{digest}  {NAME}.tar.gz\n{digest}  viewtally-0.2.0.tar.gz\n", encoding="utf-8")


def pid(machine):
    return machine.run("systemctl show --property MainPID --value viewtally").stdout.strip()


def check_documented_install(machine):
    install, start, upgrade = commands()
    make_release()
    machine.run(f"mkdir -p /root/release && cp /source/{RELEASE.relative_to(ROOT).as_posix()}/* /root/release/")
    printed = machine.run(PRELUDE + install).stdout
    assert f"{NAME}.tar.gz: OK" in printed, printed
    machine.run(PRELUDE + start)
    assert machine.run("stat -c '%U %a' /var/lib/viewtally/viewtally.db").stdout == "viewtally 640\n"
    author = machine.run("viewtally author add --name Ada").stdout
    before = pid(machine)

    # The new release is the old one in another directory, with a changed document.
    machine.run(f"cd /root/release && cp -r {NAME} viewtally-NEW-linux-x86_64 && echo new >>viewtally-NEW-linux-x86_64/README.md")
    machine.run(PRELUDE + f"cd {NAME}\n" + upgrade)
    assert pid(machine) not in ("", "0", before)
    document = "/usr/local/share/doc/viewtally/README.md"
    assert machine.run(f"tail -1 {document}").stdout == "new\n"
    assert author.strip() in machine.run("viewtally author list").stdout
    assert "every page is intact" in machine.run("viewtally backup verify /var/lib/viewtally/before-upgrade.db").stdout

    back = re.search(r"`sudo (scripts/install viewtally)` in the directory of the old\s+release", section())
    machine.run(PRELUDE + f"cd {NAME}\n{back[1]}\n" + upgrade.splitlines()[-1])
    assert machine.run(f"tail -1 {document}").stdout != "new\n"
    wait_in(machine, "viewtally healthcheck", "the old release to serve")

    remove = re.search(r"\*\*Remove\*\*: `(.*?)`", section(), re.S)
    machine.run(PRELUDE + f"cd {NAME}\n" + remove[1].replace("\n", " "))
    assert machine.run("ls /usr/local/bin/viewtally", check=False).returncode
    assert machine.run("ls /etc/viewtally/config.ini /var/lib/viewtally/viewtally.db && id viewtally").returncode == 0
    print("  docs/install.md, static binary: installed, upgraded, went back, removed", flush=True)
    return True
