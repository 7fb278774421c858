"""`make install` and `make uninstall`, by scripts/install; and those Debian packaging files that can be checked without
a build."""
import os
import re
import subprocess

import pytest

from lib.viewtally import ROOT


@pytest.fixture
def run(tmp_path):
    binary = tmp_path / "viewtally"
    binary.write_text("#!/bin/sh\n")

    def install(*arguments, **variables):
        environment = {**os.environ, "DESTDIR": str(tmp_path / "root"), "PREFIX": "/opt/vt", "sysconfdir": "/opt/etc", "unitdir": "", **variables}
        return subprocess.run([ROOT / "scripts/install", *arguments, binary], cwd=ROOT, env=environment, check=True, capture_output=True, text=True)
    install.root = tmp_path / "root"
    return install


def files_below(root):
    return {"/" + path.relative_to(root).as_posix() for path in root.rglob("*") if path.is_file()}


def test_install_puts_every_kind_of_file_in_its_place(run):
    run()
    installed = files_below(run.root)
    assert installed >= {"/opt/vt/bin/viewtally", "/opt/vt/share/man/man1/viewtally.1", "/opt/vt/share/man/man5/viewtally.ini.5",
                         "/opt/vt/share/bash-completion/completions/viewtally", "/opt/vt/share/zsh/site-functions/_viewtally",
                         "/opt/vt/share/fish/vendor_completions.d/viewtally.fish", "/opt/vt/lib/sysusers.d/viewtally.conf",
                         "/opt/vt/lib/tmpfiles.d/viewtally.conf", "/opt/etc/logrotate.d/viewtally", "/opt/etc/viewtally/config.ini",
                         "/opt/vt/share/doc/viewtally/THIRD-PARTY-NOTICES", "/opt/vt/share/doc/viewtally/packaging/nginx/viewtally.conf"}
    units = {path.name for path in (ROOT / "packaging/systemd").glob("viewtally*.*") if path.suffix in (".service", ".socket")}
    assert {path.name for path in (run.root / "opt/vt/lib/systemd/system").iterdir()} == units
    assert (run.root / "opt/vt/bin/viewtally").stat().st_mode & 0o777 == 0o755
    assert (run.root / "opt/etc/viewtally/config.ini").stat().st_mode & 0o777 == 0o640


def test_installed_files_are_readable_whatever_the_umask_of_the_installer(run):
    """The service, which is not root, must reach the program, and users the man pages."""
    before = os.umask(0o077)
    try:
        run()
    finally:
        os.umask(before)
    modes = {path: path.stat().st_mode & 0o777 for path in (run.root / "opt").rglob("*")}
    assert {mode for path, mode in modes.items() if path.is_dir()} == {0o755}
    assert {path.name for path, mode in modes.items() if not mode & 0o004} == {"config.ini"}


def test_links_of_installed_documents_lead_to_installed_files(run):
    run()
    documents = sorted((run.root / "opt/vt/share/doc/viewtally").rglob("*.md"))
    assert documents
    for document in documents:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", document.read_text(encoding="utf-8")):
            assert (document.parent / target).exists(), f"{document.name}: {target}"


def test_installed_documents_stay_readable_in_the_package():
    """dh_compress would rename CHANGELOG.md to CHANGELOG.md.gz, and links to it would lead nowhere."""
    assert re.search(r"(?m)^\tdh_compress .*-X\.md\b", (ROOT / "packaging/debian/rules").read_text(encoding="utf-8"))


def test_install_adapts_paths_to_prefix_and_sysconfdir(run):
    run()
    unit = (run.root / "opt/vt/lib/systemd/system/viewtally.service").read_text()
    assert "ExecStart=/opt/vt/bin/viewtally serve --config /opt/etc/viewtally/config.ini" in unit
    assert not re.search(r"(?<!/opt)/(usr/bin|etc)/viewtally", unit)
    run(PREFIX="/usr", sysconfdir="/etc", unitdir="/units")
    assert (run.root / "units/viewtally.service").read_text() == (ROOT / "packaging/systemd/viewtally.service").read_text()


def test_install_keeps_an_existing_configuration(run):
    run()
    config = run.root / "opt/etc/viewtally/config.ini"
    config.write_text("; mine\n")
    assert f"kept {config}" in run().stderr
    assert config.read_text() == "; mine\n"


def test_uninstall_removes_everything_but_the_configuration(run):
    run()
    assert "kept" in run("--remove").stderr
    assert files_below(run.root) == {"/opt/etc/viewtally/config.ini"}
    assert not (run.root / "opt/vt/share/doc/viewtally").exists()
    run("--remove")


def test_shipped_configuration_is_valid_and_has_absolute_paths(viewtally):
    text = (ROOT / "packaging/config.ini").read_text(encoding="utf-8")
    config = viewtally.directory / "shipped.ini"
    config.write_text(re.sub(r"(?m)^;(?=\w+ =)", "", text), encoding="utf-8")
    environment = {name: value for name, value in os.environ.items() if not name.startswith("VIEWTALLY_")}
    done = subprocess.run([viewtally.binary, "check-config", "--config", config], env=environment, capture_output=True, text=True, check=True)
    assert "path = /var/lib/viewtally/viewtally.db" in done.stdout and "access = /var/log/viewtally/access.log" in done.stdout


@pytest.mark.parametrize("unit", ["viewtally.service", "viewtally@.service"])
def test_sandbox_of_the_units_lets_threads_lower_their_priority(unit):
    """The group @resources contains setpriority(2), with which the threads of refresh, backups and webhooks lower their priority."""
    text = (ROOT / "packaging/systemd" / unit).read_text(encoding="utf-8")
    allowed = False
    for line in re.findall(r"(?m)^SystemCallFilter=(.*)$", text):       # each line adds to the earlier ones, or with ~ removes
        if re.search(r"(?:^|[ ~])(?:@resources|@system-service|setpriority)(?: |$)", line):
            allowed = not line.startswith("~")
    assert allowed


def test_container_may_take_as_long_to_stop_as_the_service():
    """A server that is killed while it refreshes tokens of platform accounts loses them."""
    unit = (ROOT / "packaging/systemd/viewtally.service").read_text(encoding="utf-8")
    seconds = re.search(r"(?m)^TimeoutStopSec=(\d+)$", unit)[1]
    assert f"stop_grace_period: {seconds}s\n" in (ROOT / "packaging/container/compose.yaml").read_text(encoding="utf-8")
    assert f"podman stop -t {seconds}" in (ROOT / "packaging/container/Containerfile").read_text(encoding="utf-8")
    document = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    assert f"podman stop -t {seconds}" in document and f"terminationGracePeriodSeconds: {seconds}" in document


def test_removal_of_the_package_stops_all_sockets_before_the_services(tmp_path):
    """A connection to a socket that is still open would start its service again. systemctl lists services before sockets."""
    programs = {"systemctl": "for pattern; do :; done\nfor unit in viewtally@1.service viewtally@2.service viewtally@1.socket viewtally@2.socket; do\n"
                             "case $unit in $pattern) echo $unit loaded active running text ;; esac\ndone\n",
                "deb-systemd-invoke": f"echo $* >>{tmp_path}/calls\n"}
    for name, text in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    script = (ROOT / "packaging/debian/viewtally.prerm").read_text(encoding="utf-8").replace("#DEBHELPER#", ":").replace("/run/systemd/system", str(tmp_path))
    subprocess.run(["sh", "-c", script, "prerm", "remove"], env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}, check=True)
    assert (tmp_path / "calls").read_text(encoding="utf-8").split("\n") == [
        "stop viewtally.socket", "stop viewtally@1.socket", "stop viewtally@2.socket", "stop viewtally@1.service", "stop viewtally@2.service", ""]


@pytest.mark.parametrize("option", ["--kill-whom=main", "--kill-who=main"])
def test_log_rotation_sends_sighup_with_every_version_of_systemd(tmp_path, option):
    """Before version 252, systemctl has the option --kill-who; then its name is --kill-whom."""
    (tmp_path / "systemctl").write_text(f"#!/bin/sh\ncase $* in *{option}*) echo $* >>{tmp_path}/calls ;; *) exit 1 ;; esac\n", encoding="utf-8")
    (tmp_path / "systemctl").chmod(0o755)
    text = (ROOT / "packaging/logrotate").read_text(encoding="utf-8").replace("/run/systemd/system", str(tmp_path))
    script = re.search(r"(?s)\n *postrotate\n(.*)\n *endscript\n", text)[1]
    subprocess.run(["sh", "-ec", script], env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}, check=True)
    call, = (tmp_path / "calls").read_text(encoding="utf-8").splitlines()
    assert call == f"kill --signal=HUP {option} viewtally.service viewtally@*.service"


def test_debian_scripts_are_valid_shell():
    for script in (ROOT / "packaging/debian").glob("viewtally.p*"):
        text = script.read_text(encoding="utf-8").replace("#DEBHELPER#", ":")
        subprocess.run(["shellcheck", "-S", "warning", "-s", "sh", "-e", "SC1091", "-"], input=text, text=True, check=True)


def test_bash_completion_is_valid_shell():
    subprocess.run(["shellcheck", "-S", "warning", ROOT / "packaging/completion/viewtally.bash"], check=True)


def test_directory_of_the_static_binary_installs_the_same_files(run, tmp_path):
    """It must contain every file that scripts/install reads; a release packs it as viewtally-VERSION-linux-ARCH.tar.gz."""
    run()
    binary, tree, root = tmp_path / "viewtally", tmp_path / "tree", tmp_path / "second"
    subprocess.run([ROOT / "scripts/binary-tree", binary, tree], check=True)
    subprocess.run(["scripts/install", "viewtally"], cwd=tree, check=True, capture_output=True,
                   env={**os.environ, "DESTDIR": str(root), "PREFIX": "/opt/vt", "sysconfdir": "/opt/etc", "unitdir": ""})
    assert files_below(root) == files_below(run.root)
    for name in files_below(root):
        first, second = run.root / name[1:], root / name[1:]
        assert first.read_bytes() == second.read_bytes() and first.stat().st_mode == second.stat().st_mode, name
