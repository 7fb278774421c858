"""A bare Debian in a directory, in which the package is built as `make deb` does on a user's machine. Needs root.

The directory is made once with debootstrap below VIEWTALLY_MACHINES and kept. Builds run in their own mount and process namespaces
with the network access of this machine: resolver, proxy variables, apt's Acquire settings and TLS authorities.
"""
import os
import pathlib
import re
import shutil
import subprocess

from machine import MIRROR, ROOT, roots

TREE = "/root/viewtally"
CROSS = "crossbuild-essential-arm64 libssl-dev:arm64 libsodium-dev:arm64 libzstd-dev:arm64 zlib1g-dev:arm64 qemu-user-static curl"
ENTER = """mount --make-rprivate / &&
mount -t proc proc "$0/proc" && mount --rbind /dev "$0/dev" && mount --bind /sys "$0/sys" &&
mount -t tmpfs tmpfs "$0/tmp" && chmod 1777 "$0/tmp" &&
exec chroot "$0" sh -euc "$1"
"""


class Builder:
    def __init__(self, suite):
        self.suite = suite
        self.root = roots() / f"{suite}-build"
        if not (self.root / ".complete").exists():
            shutil.rmtree(self.root, ignore_errors=True)
            self.root.parent.mkdir(parents=True, exist_ok=True)
            print(f"building {self.root} with debootstrap …", flush=True)
            subprocess.run(["debootstrap", "--variant=minbase", "--include=make,git,ca-certificates", suite, str(self.root), MIRROR],
                           check=True, stdout=subprocess.DEVNULL)
            (self.root / ".complete").touch()
        self._prepare_network()

    def _prepare_network(self):
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
        acquire = re.findall(r"^Acquire::(?:http|https|Check-|Retries|ForceIPv|Languages).*$",
                             subprocess.run(["apt-config", "dump"], capture_output=True, text=True, check=True).stdout, re.M)
        (self.root / "etc/apt/apt.conf.d/90network").write_text("\n".join(acquire) + "\n", encoding="utf-8")
        shutil.copy("/etc/ssl/certs/ca-certificates.crt", self.root / "etc/trusted.crt")

    def run(self, script):
        """Runs a shell script in the tree. Returns its output; raises CalledProcessError after printing it if it fails."""
        inherited = {name: value for name, value in os.environ.items() if re.match(r"(?i)(https?|no|all)_proxy$|npm_config_", name)}
        environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive",
                       **dict.fromkeys(("CURL_CA_BUNDLE", "SSL_CERT_FILE", "NODE_EXTRA_CA_CERTS"), "/etc/trusted.crt"), **inherited}
        done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", ENTER, str(self.root),
                               f"mkdir -p {TREE}; cd {TREE}; {script}"],
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode:
            print(done.stdout[-6000:])
            raise subprocess.CalledProcessError(done.returncode, script)
        return done.stdout

    def copy_tree(self):
        """Copies the committed and changed files of this tree, and the fetched sources if there are any."""
        tree = self.root / TREE[1:]
        shutil.rmtree(tree, ignore_errors=True)
        tree.mkdir(parents=True)
        files = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, check=True).stdout
        packed = subprocess.run(["tar", "-C", str(ROOT), "--null", "-T", "-", "-cf", "-"], input=files, capture_output=True, check=True)
        subprocess.run(["tar", "-C", str(tree), "-xf", "-"], input=packed.stdout, check=True)
        cache = pathlib.Path(os.environ.get("VENDOR_CACHE", ROOT / "vendor/cache"))
        if cache.is_dir():
            shutil.copytree(cache, tree / "vendor/cache", dirs_exist_ok=True)

    def build(self, architecture="amd64"):
        """Runs `make deb`, in which lintian must find nothing. Returns the path of the package on this machine."""
        if architecture != "amd64":
            self.run(f"dpkg --add-architecture {architecture}; apt-get -q update; apt-get -q -y --no-install-recommends install {CROSS}")
        output = self.run(f"make deb DEB_ARCH={architecture}")
        return self.root / output.splitlines()[-1].lstrip("/")
