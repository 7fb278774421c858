"""vendor/fetch with fake apt-get, npm and curl: what it accepts, what it rejects, and its messages."""
import hashlib
import os
import pathlib
import shutil
import subprocess

import pytest

FETCH = pathlib.Path(__file__).resolve().parent.parent.parent / "vendor/fetch"
GOOD = b"the pinned source\n"
GOOD_SUM = hashlib.sha256(GOOD).hexdigest()
PINNED = f"libx 1.0 source trixie/libx libx_1.0.orig.tar.gz {GOOD_SUM}\n"
FROM_NPM = f"sqlite 3.0 npm better@1.0.0 better-1.0.0.tgz {GOOD_SUM}\n"
MOVING = "llhttp >=9.4.2 deb sid/libllhttp-source libllhttp-source_*_all.deb index\n"


class Checkout:
    """A copy of vendor/fetch beside a manifest of one line, with fake tools first in PATH."""

    def __init__(self, directory):
        self.vendor = directory / "vendor"
        self.tools = directory / "tools"
        self.cache = directory / "cache"
        self.calls = directory / "calls"
        self.home = directory / "home"
        self.lists = directory / "lists"
        for made in (self.vendor, self.tools, self.cache, self.home):
            made.mkdir()
        shutil.copy(FETCH, self.vendor / "fetch")
        for tool in ("apt-get", "curl"):
            self.tool(tool, "exit 100")
        self.path = f"{self.tools}:/usr/bin:/bin"

    def tool(self, name, script):
        """Creates a fake tool that records its arguments; `$PART` is the directory where fetched files are expected."""
        (self.tools / name).write_text(f'#!/bin/sh\necho "{name} $*" >>"{self.calls}"\nPART={self.cache}/part\n{script}\n')
        (self.tools / name).chmod(0o755)

    def apt(self, fetched):
        """Creates an apt-get with a mirror; a download runs `fetched` (shell) in `$PART`."""
        self.tool("apt-get", 'case "$*" in *indextargets*) echo "mirror://here bookworm main" ;; *" update"*) '
                             f"cat {self.cache}/apt/*.list >>{self.lists} ;;\n"
                             f"*) {fetched} ;; esac")

    def run(self, manifest, without=(), **env):
        (self.vendor / "manifest").write_text(manifest)
        environment = {**os.environ, "PATH": self.path, "HOME": str(self.home), **env}
        done = subprocess.run([self.vendor / "fetch", self.cache], capture_output=True, text=True, check=False,
                              env={name: value for name, value in environment.items() if name not in without})
        return done.returncode, done.stderr

    def called(self):
        return self.calls.read_text() if self.calls.exists() else ""

    def indexes(self):
        """Returns the types (deb, deb-src) of sid's package lists that apt-get has read."""
        return sorted({line.split()[0] for line in self.lists.read_text().splitlines() if line.endswith(" sid main")})


@pytest.fixture
def checkout(tmp_path):
    return Checkout(tmp_path)


@pytest.fixture
def without_npm(checkout):
    """A PATH with the fakes and the tools that the script needs, without the machine's npm."""
    for tool in ("sh", "awk", "basename", "cat", "cut", "dirname", "env", "flock", "grep", "head", "id", "ls", "mkdir", "mv",
                 "rm", "sed", "sha256sum", "tail", "tar", "tr", "dpkg", "dpkg-deb"):
        os.symlink(shutil.which(tool, path="/usr/bin:/bin"), checkout.tools / tool)
    checkout.path = str(checkout.tools)
    return checkout


def test_filled_cache_needs_no_network(checkout):
    (checkout.cache / "libx_1.0.orig.tar.gz").write_bytes(GOOD)
    assert checkout.run(PINNED)[0] == 0
    assert checkout.called() == ""


def test_missing_source_is_fetched_by_apt(checkout):
    checkout.apt('printf "the pinned source\\n" >$PART/libx_1.0.orig.tar.gz')
    assert checkout.run(PINNED)[0] == 0
    assert (checkout.cache / "libx_1.0.orig.tar.gz").read_bytes() == GOOD
    assert "source --download-only --tar-only libx" in checkout.called()


def test_tarball_is_fetched_from_the_newest_revision_if_the_pinned_one_has_gone(checkout):
    pinned = PINNED.replace("trixie/libx ", "trixie/libx=1.0-1 ")
    checkout.tool("apt-get", 'case "$*" in *indextargets*) echo "mirror://here bookworm main" ;; *" update"*) ;; *=1.0-1) exit 100 ;;\n'
                          '*" libx") printf "the pinned source\\n" >$PART/libx_1.0.orig.tar.gz ;; esac')
    assert checkout.run(pinned)[0] == 0
    assert (checkout.cache / "libx_1.0.orig.tar.gz").read_bytes() == GOOD
    checkout.calls.unlink()
    patches = pinned.replace(" source ", " patches ").replace(".orig.tar.gz", "-1.debian.tar.xz")
    status, output = checkout.run(patches)
    assert status == 1 and "cannot get libx_1.0-1.debian.tar.xz" in output
    assert " libx\n" not in checkout.called(), "patches belong to one revision"


def test_damaged_file_is_fetched_again(checkout):
    (checkout.cache / "libx_1.0.orig.tar.gz").write_bytes(b"half of")
    checkout.apt('printf "the pinned source\\n" >$PART/libx_1.0.orig.tar.gz')
    assert checkout.run(PINNED)[0] == 0
    assert (checkout.cache / "libx_1.0.orig.tar.gz").read_bytes() == GOOD


def test_wrong_checksum_is_rejected(checkout):
    checkout.apt('echo evil >$PART/libx_1.0.orig.tar.gz')
    status, output = checkout.run(PINNED)
    assert status == 1 and "wrong checksum" in output and GOOD_SUM in output
    assert not (checkout.cache / "libx_1.0.orig.tar.gz").exists()


def test_message_for_a_missing_version_names_the_fix(checkout):
    checkout.apt('echo newer >$PART/libx_2.0.orig.tar.gz')
    status, output = checkout.run(PINNED)
    assert status == 1 and "now has libx_2.0.orig.tar.gz" in output and "any copy with sha256 " + GOOD_SUM in output
    assert "vendor/manifest" in output


def test_message_without_network_names_the_fix(checkout):
    status, output = checkout.run(PINNED)
    assert status == 1 and "put the file into " + str(checkout.cache) in output


def package(directory, version):
    """A real Debian package of that version, built for the test."""
    root = directory / f"package-{version}"
    (root / "DEBIAN").mkdir(parents=True)
    (root / "DEBIAN/control").write_text(f"Package: libllhttp-source\nVersion: {version}\nArchitecture: all\n"
                                         "Maintainer: test <test@example.org>\nDescription: test\n")
    file = directory / f"libllhttp-source_{version}_all.deb"
    subprocess.run(["dpkg-deb", "-b", root, file], check=True, capture_output=True)
    return file


def test_newer_indexed_source_is_accepted_and_cached(checkout, tmp_path):
    checkout.apt(f"cp {package(tmp_path, '9.5.0~x-1')} $PART/")
    assert checkout.run(MOVING)[0] == 0
    checkout.tool("apt-get", "exit 100")
    assert checkout.run(MOVING)[0] == 0, "the second run works offline"


def test_older_indexed_source_is_rejected(checkout, tmp_path):
    checkout.apt(f"cp {package(tmp_path, '9.3.0-1')} $PART/")
    status, output = checkout.run(MOVING)
    assert status == 1 and "older than 9.4.2" in output


def test_damaged_indexed_source_is_fetched_again(checkout, tmp_path):
    built = package(tmp_path, "9.5.0-1")
    checkout.apt(f"cp {built} $PART/")
    assert checkout.run(MOVING)[0] == 0
    (checkout.cache / built.name).write_bytes(b"half")
    assert checkout.run(MOVING)[0] == 0
    assert (checkout.cache / built.name).read_bytes() == built.read_bytes()


MOVING_TARBALL = "libpq >=17 source sid/postgresql-18 postgresql-18_*.orig.tar.bz2 index\n"


def test_tarball_of_the_package_index_may_be_newer_than_the_minimum_and_is_cached(checkout):
    checkout.apt("echo source >$PART/postgresql-18_18.6.orig.tar.bz2")
    assert checkout.run(MOVING_TARBALL)[0] == 0
    assert "source --download-only --tar-only postgresql-18" in checkout.called()
    assert checkout.indexes() == ["deb-src"]
    checkout.tool("apt-get", "exit 100")
    assert checkout.run(MOVING_TARBALL)[0] == 0, "the second run works offline"


def test_older_indexed_tarball_is_rejected_by_the_version_in_its_name(checkout):
    checkout.apt("echo source >$PART/postgresql-18_16.9.orig.tar.bz2")
    status, output = checkout.run(MOVING_TARBALL)
    assert status == 1 and "older than 17" in output


def test_message_for_a_renamed_package_names_the_manifest(checkout):
    checkout.apt("echo source >$PART/postgresql-19_19.1.orig.tar.bz2")
    status, output = checkout.run(MOVING_TARBALL)
    assert status == 1 and "now has postgresql-19_19.1.orig.tar.bz2" in output and "change its name in" in output


def test_suite_with_packages_and_sources_gets_both_indexes(checkout, tmp_path):
    checkout.apt(f"cp {package(tmp_path, '9.5.0-1')} $PART/; echo source >$PART/postgresql-18_18.6.orig.tar.bz2")
    assert checkout.run(MOVING + MOVING_TARBALL)[0] == 0
    assert checkout.indexes() == ["deb", "deb-src"]


def test_installed_npm_provides_the_registry(checkout):
    checkout.tool("npm", 'printf "the pinned source\\n" >$PART/better-1.0.0.tgz')
    assert checkout.run(FROM_NPM)[0] == 0
    assert "npm pack --silent better@1.0.0" in checkout.called() and "curl" not in checkout.called()


CURL = 'while [ "$1" != -o ]; do shift; done; printf "the pinned source\\n" >"$2"'


def test_npm_configuration_file_is_read_even_if_npm_is_not_installed(without_npm):
    checkout = without_npm
    checkout.tool("curl", CURL)
    (checkout.home / ".npmrc").write_text("; mine\nregistry = https://mirror.example/npm/\ncafile=/etc/own-ca.pem\n")
    assert checkout.run(FROM_NPM)[0] == 0
    assert "https://mirror.example/npm/better/-/better-1.0.0.tgz" in checkout.called()
    assert "--cacert /etc/own-ca.pem" in checkout.called()


def test_registry_in_the_environment_overrides_the_npm_configuration(without_npm):
    checkout = without_npm
    checkout.tool("curl", CURL)
    (checkout.home / ".npmrc").write_text("registry=https://mirror.example/npm/\n")
    assert checkout.run(FROM_NPM, NPM_CONFIG_REGISTRY="https://other.example")[0] == 0
    assert "https://other.example/better/-/better-1.0.0.tgz" in checkout.called()


def test_missing_home_is_no_error(without_npm):
    """A service that builds may have no HOME."""
    checkout = without_npm
    checkout.tool("curl", CURL)
    status, errors = checkout.run(FROM_NPM, without=["HOME"], NPM_CONFIG_REGISTRY="https://other.example")
    assert status == 0, errors


def test_default_registry_is_used_if_npm_and_its_configuration_file_are_missing(without_npm, tmp_path):
    checkout = without_npm
    root = tmp_path / "npm"
    (root / "DEBIAN").mkdir(parents=True)
    (root / "DEBIAN/control").write_text("Package: npm\nVersion: 9\nArchitecture: all\n"
                                         "Maintainer: test <test@example.org>\nDescription: test\n")
    options = root / "usr/share/nodejs/npm/lib/default-opts.js"
    options.parent.mkdir(parents=True)
    options.write_text("module.exports = {\n  registry: 'https://default.example/',\n}\n")
    subprocess.run(["dpkg-deb", "-b", root, tmp_path / "npm_9_all.deb"], check=True, capture_output=True)
    checkout.apt(f"/bin/cp {tmp_path}/npm_9_all.deb .")
    checkout.tool("curl", CURL)
    assert checkout.run(FROM_NPM)[0] == 0
    assert "https://default.example/better/-/better-1.0.0.tgz" in checkout.called()
