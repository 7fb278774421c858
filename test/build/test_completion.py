"""The shell completions, loaded by the real shells."""
import os
import pathlib
import pty
import re
import select
import shlex
import subprocess
import time

import pytest

from lib.viewtally import ROOT

COMPLETION = ROOT / "packaging/completion"
SECONDS = 20
PLATFORMS = ["facebook", "instagram", "instagram-facebook", "pinterest", "tiktok", "youtube"]
# Prints what the completion function replies for the words in $@, the last of which is at the cursor.
BASH_REPLY = """
source "$COMPLETION"
COMP_WORDS=(viewtally "$@") COMP_CWORD=$#
_viewtally
((${#COMPREPLY[@]} == 0)) || printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def directory(tmp_path):
    for name in ("backup one.db", "backup-two.db"):
        (tmp_path / name).write_text("")
    (tmp_path / "backups").mkdir()
    return tmp_path


def bash(words, directory):
    done = subprocess.run(["bash", "--norc", "-c", BASH_REPLY, "bash", *words], capture_output=True, text=True, check=True, cwd=directory,
                          env={**os.environ, "COMPLETION": str(COMPLETION / "viewtally.bash")})
    assert done.stderr == ""
    return sorted(done.stdout.splitlines())


def fish(line, directory):
    script = f"source {shlex.quote(str(COMPLETION / 'viewtally.fish'))}; complete -C {shlex.quote(line)}"
    done = subprocess.run(["fish", "--no-config", "-c", script], capture_output=True, text=True, check=True, cwd=directory,
                          env={**os.environ, "HOME": str(directory)})
    assert done.stderr == ""
    return sorted(line.split("\t")[0] for line in done.stdout.splitlines())


CASES = [
    (["auth"], ["author"]),
    (["key", ""], sorted(re.findall(r"^### viewtally key (\S+)$", (ROOT / "docs/cli.md").read_text(encoding="utf-8"), re.M))),
    (["--config", "/etc/viewtally/config.ini", "key", "re"], ["revoke"]),
    (["key", "create", "--au"], ["--author"]),           # fish 4 also completes --a to --name
    (["author", "set-plan", "0b0f3d5e-6f0a-4c39-9a50-3f6f5b1f7a99", ""], ["active", "inactive"]),
    (["author", "set-plan", ""], []),
    (["platform", "connect", "--platform", ""], PLATFORMS),
    (["platform", "connect", "--account", ""], []),
    (["platform", "connect", "--author", "--platform", "--platform", "you"], ["youtube"]),
    (["frobnicate", ""], []),
    (["help", "exit"], ["exit-status"]), (["help", "top"], ["topics"]), (["help", "auth"], ["author"]), (["help", "author", "re"], ["rename"]),
    (["help", "files", ""], []),
]


@pytest.mark.parametrize("words, expected", CASES, ids=lambda value: " ".join(value) or "-")
def test_bash_completes_commands_options_and_values(words, expected, directory):
    assert bash(words, directory) == expected


def test_bash_completes_all_commands_first(directory):
    commands = re.findall(r"^## viewtally (\S+)$", (ROOT / "docs/cli.md").read_text(encoding="utf-8"), re.M)
    assert len(commands) > 10 and set(bash([""], directory)) == {*commands, "help", "--config", "--help", "--licenses", "--version"}


def test_bash_completes_options_of_the_action_only(directory):
    assert bash(["key", "limit", "-"], directory) == ["--config", "--help", "--json", "--reset"]
    assert bash(["key", "limit", "--", "-"], directory) == []


@pytest.mark.parametrize("words", [["restore", "backup"], ["--config", "backup"], ["import", "x", "y", "backup"], ["restore", "--force", "backup"],
                                   ["demo", "--key-file", "=", "backup"]], ids=" ".join)
def test_bash_completes_file_names_with_spaces(words, directory):
    assert bash(words, directory) == ["backup one.db", "backup-two.db", "backups"]


def test_bash_completes_a_value_after_an_equals_sign(directory):
    assert bash(["platform", "connect", "--platform", "="], directory) == PLATFORMS


# Completions of fish do not depend on the position of an operand, so `author set-plan` offers the plan for each
# operand.
@pytest.mark.parametrize("words, expected", [case for case in CASES if case[0][-2:] not in (["set-plan", ""], ["--platform", "you"])],
                         ids=lambda value: " ".join(value) or "-")
def test_fish_completes_commands_options_and_values(words, expected, directory):
    assert fish(" ".join(["viewtally", *words]), directory) == expected


def test_fish_completes_files(directory):
    assert fish("viewtally restore backup-", directory) == ["backup-two.db"]


class Terminal:
    """An interactive shell in which `viewtally` prints its arguments."""

    def __init__(self, command, setup, directory):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, cwd=directory, start_new_session=True,
                                        env={**os.environ, "TERM": "dumb", "HOME": str(directory), "PS1": "", "PROMPT": ""})
        os.close(slave)
        self.output = ""
        self.type(f"{setup}; viewtally() {{ printf '<%s>' \"$@\"; echo ' end'; }}; echo rea''dy\n")
        self.wait_for("ready\r?\n")

    def type(self, text):
        os.write(self.master, text.encode())

    def wait_for(self, pattern):
        deadline = time.monotonic() + SECONDS
        while not (match := re.search(pattern, self.output)):
            assert select.select([self.master], [], [], max(0, deadline - time.monotonic()))[0], f"no {pattern} in {self.output!r}"
            self.output += os.read(self.master, 4096).decode(errors="replace")
        return match

    def close(self):
        self.process.kill()
        self.process.wait()
        os.close(self.master)


@pytest.fixture
def terminal(directory):
    opened = []

    def open_terminal(*arguments):
        opened.append(Terminal(*arguments, directory))
        return opened[-1]
    yield open_terminal
    for each in opened:
        each.close()


def test_completion_works_in_an_interactive_bash(terminal):
    shell = terminal(["bash", "--norc", "--noprofile", "-i"], f"source {COMPLETION}/viewtally.bash")
    shell.type("viewtally plat\tcon\t--platform=you\t--acc\tx --js\t\n")
    assert shell.wait_for(r"(<.*>) end")[1] == "<platform><connect><--platform=youtube><--account><x><--json>"


def test_completion_works_in_an_interactive_zsh(terminal):
    shell = terminal(["zsh", "-f", "-i"], f"fpath=({COMPLETION} $fpath); autoload -U compinit; compinit -u -D")
    shell.type("viewtally plat\tcon\t--platform=you\t --js\t\nviewtally rest\t--fo\tbackup-\t\n")
    assert shell.wait_for(r"(<plat.*>) end")[1] == "<platform><connect><--platform=youtube><--json>"
    assert shell.wait_for(r"(<rest.*>) end")[1] == "<restore><--force><backup-two.db>"


def test_completions_have_the_names_that_shells_look_for():
    assert sorted(path.name for path in pathlib.Path(COMPLETION).iterdir()) == ["_viewtally", "viewtally.bash", "viewtally.fish"]
