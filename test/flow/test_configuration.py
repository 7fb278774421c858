"""Tests which configuration file is used, that all mistakes are reported at once, and that no database is created at a path that is not
configured."""
import json
import os
import signal
import subprocess

import pytest

from lib import wait
from lib.viewtally import binary


class Bare:
    """Runs the binary with test seams in an empty directory, without any option that names a file."""

    def __init__(self, directory):
        self.directory = directory / "work"
        self.directory.mkdir()
        self.system_config = directory / "etc" / "config.ini"
        self.system_config.parent.mkdir()
        self.environment = {name: value for name, value in os.environ.items() if not name.startswith("VIEWTALLY_")}
        self.environment["VIEWTALLY_TEST_SYSTEM_CONFIG"] = str(self.system_config)

    def run(self, *arguments, status=0, env=None):
        done = subprocess.run([binary(seams=True), *arguments], cwd=self.directory, env={**self.environment, **(env or {})},
                              capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == status, done
        return done

    def files(self):
        return sorted(path.name for path in self.directory.iterdir())


@pytest.fixture
def bare(tmp_path):
    return Bare(tmp_path)


# --- which configuration file is used ---


def test_system_configuration_is_used_if_nothing_else_is_named(bare):
    assert bare.run("check-config").stdout.startswith("; no configuration file: ")
    bare.system_config.write_text("[keys]\nprefix = system_\n")
    shown = bare.run("check-config").stdout
    assert shown.startswith(f"; {bare.system_config}\n\n[server]\n") and "\nprefix = system_\n" in shown
    (bare.directory / "config.ini").write_text("[keys]\nprefix = here_\n")
    shown = bare.run("check-config").stdout
    assert shown.startswith("; config.ini\n") and "\nprefix = here_\n" in shown
    named = bare.directory / "named.ini"
    named.write_text("[keys]\nprefix = named_\n")
    for done in (bare.run("check-config", "--config", str(named)), bare.run("check-config", env={"VIEWTALLY_CONFIG": str(named)})):
        assert done.stdout.startswith(f"; {named}\n") and "\nprefix = named_\n" in done.stdout


def test_system_configuration_that_cannot_be_read_is_not_ignored(bare):
    """As for a user who may not search /etc/viewtally. Tests may run as root, so a loop of links takes the place of the permission."""
    bare.system_config.symlink_to(bare.system_config)
    for command in ("check-config", "status"):
        assert bare.run(command, status=2).stderr == f"{bare.system_config}: cannot read the file: Too many levels of symbolic links\n"
    here = bare.directory / "config.ini"
    here.write_text("")
    assert bare.run("check-config").stdout.startswith("; config.ini\n")


def test_system_configuration_is_in_etc(viewtally):
    done = subprocess.run([viewtally.binary, "--help"], capture_output=True, text=True, check=True)
    assert "/etc/viewtally/config.ini" in done.stdout


def test_message_about_a_mistake_in_the_system_wide_configuration_names_the_file(bare):
    bare.system_config.write_text("[keys]\nprfix = x\n")
    assert bare.run("check-config", status=2).stderr == f'{bare.system_config}:2: [keys] has no key "prfix" (did you mean prefix?)\n'


def test_configuration_as_json_names_the_source_of_each_value(bare):
    empty = json.loads(bare.run("check-config", "--json").stdout)
    assert empty["file"] is None and empty["valid"] and {key["source"] for key in empty["keys"]} == {"default"}
    bare.system_config.write_text("[keys]\nprefix = system_\n[redis]\npassword = hunter2\n")
    shown = json.loads(bare.run("check-config", "--json", env={"VIEWTALLY_REDIS_URL": "redis://u:hunter2@h", "VIEWTALLY_KEYS_PREFIX": "env_",
                                                               "VIEWTALLY_LOG_LEVEL": "warn"}).stdout)
    assert (shown["file"], shown["valid"], shown["mistakes"]) == (str(bare.system_config), True, [])
    keys = {(key["section"], key["name"]): key for key in shown["keys"]}
    assert len(keys) == len(shown["keys"]) == len(empty["keys"])
    for name, value, source, line in ((("keys", "prefix"), "env_", "environment", None), (("redis", "password"), "(hidden)", "file", 4),
                                      (("redis", "url"), "redis://u:(hidden)@h", "environment", None), (("server", "listen"), "127.0.0.1:8080", "default", None),
                                      (("redis", "ca_file"), "", "default", None)):
        assert (keys[name]["value"], keys[name]["source"], keys[name]["line"]) == (value, source, line)
    assert keys["log", "level"]["reload"] and not keys["server", "listen"]["reload"]
    for words in (["--quiet", "--json"], ["--json", "--example"]):
        assert "cannot be used together" in bare.run("check-config", *words, status=2).stderr


def test_check_config_prints_mistakes_as_json(bare):
    bare.system_config.write_text("[keys]\nprfix = x\n[redis]\nurl = none\n")
    wrong = json.loads(bare.run("check-config", "--json", status=2).stdout)
    assert not wrong["valid"] and wrong["keys"] == [] and len(wrong["mistakes"]) == 2
    assert wrong["mistakes"][0] == f'{bare.system_config}:2: [keys] has no key "prfix" (did you mean prefix?)'
    bare.system_config.write_text("[redis]\nurl = rediss://h\nca_file = /none\n")
    wrong = json.loads(bare.run("check-config", "--json", status=2).stdout)
    assert not wrong["valid"] and wrong["keys"] == [] and len(wrong["mistakes"]) == 1 and "/none" in wrong["mistakes"][0]


# --- mistakes ---


def test_all_mistakes_of_file_and_environment_are_printed(bare):
    (bare.directory / "config.ini").write_text(
        "[server]\ntrusted_proxies = 10.0.0.0/33\nnonsense\n[limit]\nheaders = on\n[refresh]\nsource = spool\n")
    done = bare.run("check-config", status=2, env={"VIEWTALLY_LOG_LEVEL": "LOUD", "VIEWTALLY_REDIS_URLL": "x"})
    assert done.stdout == "" and sorted(done.stderr.splitlines()) == [
        "VIEWTALLY_LOG_LEVEL: must be debug, info, warn or error; it is \"LOUD\"",
        "VIEWTALLY_REDIS_URLL: unknown configuration key (did you mean VIEWTALLY_REDIS_URL?)",
        'config.ini:2: [server] trusted_proxies must be a list of at most 64 addresses, networks such as 10.0.0.0/8, or unix; '
        'it is "10.0.0.0/33"',
        "config.ini:3: must be [section], name = value or a comment",
        "config.ini:5: unknown section [limit] (did you mean [limits]?)",
        "config.ini:7: [refresh] source = spool requires spool_dir",
    ]


def test_reload_logs_each_mistake_on_a_line(viewtally):
    viewtally.add_author()
    with viewtally:
        viewtally.configure({"log": {"level": "loud"}, "viral": {"min_views": "x"}})
        viewtally.signal(signal.SIGHUP)
        wait.until(lambda: "min_views" in viewtally.log and "log] level" in viewtally.log, "both mistakes to be logged")
        rejected = [line for line in viewtally.log.splitlines() if "cannot reload the configuration" in line]
        assert len(rejected) == 2 and all("config.ini:" in line and "\\n" not in line for line in rejected), rejected


# --- no database at a path that is not configured ---


@pytest.mark.parametrize("command", [["migrate"], ["migrate", "--check"], ["demo", "/dev/null"], ["serve", "--create"], ["import", "--create", "/dev/null"],
                                     ["import", "--create", "--dry-run", "/dev/null"]], ids=" ".join)
def test_no_command_creates_a_database_if_its_path_is_not_configured(bare, command):
    done = bare.run(*command, status=2)
    assert "no configuration file: set [store] path" in done.stderr and done.stderr.count("\n") == 1
    (bare.directory / "config.ini").write_text("[limits]\nheaders = on\n")
    assert "config.ini: set [store] path" in bare.run(*command, status=2).stderr
    assert bare.files() == ["config.ini"]


def test_message_about_a_missing_database_names_a_missing_configuration(bare):
    hint = "No configuration file is used: name the file of the server with --config FILE"
    for command in (["author", "list"], ["status"], ["backup", "copy.db"]):
        error = bare.run(*command, status=3).stderr
        assert "does not exist" in error and error.count("\n") == 1 and error.endswith(hint + "\n"), error
        assert hint not in bare.run(*command, status=3, env={"VIEWTALLY_STORE_PATH": "none.db"}).stderr
    (bare.directory / "config.ini").write_text("")
    assert hint not in bare.run("status", status=3).stderr


def test_relative_database_path_in_the_system_configuration_creates_no_database(bare):
    bare.system_config.write_text("[store]\npath = viewtally.db\n")
    assert f"{bare.system_config}: set [store] path (or VIEWTALLY_STORE_PATH) to the absolute path" in bare.run("migrate", status=2).stderr
    assert bare.files() == []
    bare.system_config.write_text(f"[store]\npath = {bare.directory}/named.db\n")
    bare.run("migrate")
    assert "named.db" in bare.files()


def test_database_is_created_at_a_configured_path(bare):
    bare.run("migrate", env={"VIEWTALLY_STORE_PATH": "from-environment.db"})
    (bare.directory / "config.ini").write_text("[store]\npath = from-file.db\n")
    bare.run("migrate")
    assert {"from-environment.db", "from-file.db"} <= set(bare.files())


def test_existing_database_is_used_without_a_configured_path(bare):
    bare.run("migrate", env={"VIEWTALLY_STORE_PATH": "viewtally.db"})
    assert "up to date" in bare.run("migrate").stdout
