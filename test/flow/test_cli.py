"""The command line: help, exit statuses, options, configuration, JSON for scripts, and escaped text for terminals."""
import fcntl
import json
import os
import re
import subprocess
import sys
import termios
import uuid

import pytest

from lib import wait
from lib.lines import author, uid, video
from lib.viewtally import ROOT, SANITIZER_REPORT, Finished, encode_lines

COMMANDS = ["serve", "check-config", "migrate", "import", "demo", "author", "key", "backup", "restore", "healthcheck"]
NOBODY = str(uuid.UUID(int=0))
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f\x80-\x9f\u2028\u2029]")
NASTY = 'A\x1b[2J\x1b]0;owned\x07\r\n\x7f\x9b31m\u2028 "quoted" \\ Zoë 漢字'


def plain(instance, *arguments, status=0, env=None, cwd=None, stdin=b"", stdout=subprocess.PIPE):
    """Runs exactly these arguments; run() would append --config."""
    done = subprocess.run([instance.binary, *map(str, arguments)], input=stdin, stdout=stdout, stderr=subprocess.PIPE,
                          cwd=cwd or instance.directory, env=instance.environment(env), timeout=120, check=False)
    finished = Finished(done.returncode, (done.stdout or b"").decode(), done.stderr.decode())
    assert not SANITIZER_REPORT.search(finished.err), finished.err
    assert finished.status == status, (arguments, finished)
    return finished


def one_line(text):
    assert re.match("viewtally( [a-z-]+)*: ", text) and text.endswith("\n") and text.count("\n") == 1, text
    return text


# --- help and version ---


def test_help_describes_every_command(viewtally):
    for arguments in (["--help"], ["-h"], ["help"]):
        usage = plain(viewtally, *arguments)
        assert usage.err == "" and all(re.search(rf"^  {name} ", usage.out, re.M) for name in COMMANDS)
        assert "Exit status: 0" in usage.out and "VIEWTALLY_CONFIG" in usage.out
    for name in COMMANDS:
        for arguments in ([name, "--help"], [name, "-h"], [name, "x", "--nonsense", "--help"]):
            done = plain(viewtally, *arguments)
            assert done.out.startswith(f"Usage: viewtally {name}") and done.err == "" and done.out.count("\n") > 3
            assert max(map(len, done.out.splitlines())) <= 120
    assert not (viewtally.directory / "viewtally.db").exists()


TOPICS = ["configuration", "environment", "exit-status", "files", "output"]


def test_help_command_describes_topics_and_commands(viewtally):
    overview = plain(viewtally, "help").out
    for topic in TOPICS:
        assert re.search(rf"^  {topic} ", overview, re.M)
        done = plain(viewtally, "help", topic)
        assert f"  {topic} " in plain(viewtally, "help", "topics").out
        assert done.out.startswith(f"{topic}: ") and done.out.count("\n") > 4 and max(map(len, done.out.splitlines())) <= 120
    for words in (["key"], ["key", "create"], ["import"], ["author", "frobnicate"]):
        assert plain(viewtally, "help", *words).out == plain(viewtally, *words, "--help").out
    assert plain(viewtally, "help", "key", "create").out.startswith("Usage: viewtally key create ")
    assert plain(viewtally, "help", "exit", status=2).err == 'viewtally: no command or topic "exit" (did you mean exit-status?); see viewtally help\n'
    assert plain(viewtally, "help", "frobnicate", status=2).err == 'viewtally: no command or topic "frobnicate"; see viewtally help\n'


def test_help_needs_no_configuration(viewtally):
    for name in COMMANDS:
        plain(viewtally, name, "--help", "--config", "/nowhere/config.ini")


def test_version_names_build_and_libraries(viewtally):
    lines = plain(viewtally, "--version").out.splitlines()
    assert re.fullmatch(r"viewtally \d+\.\d+\.\d+ \([\w.+-]+, \w+\)", lines[0])
    assert {line.split()[0] for line in lines[1:]} >= {"libuv", "llhttp", "hiredis", "sqlite"}


def test_option_licenses_prints_the_third_party_notices(viewtally):
    assert plain(viewtally, "--licenses").out == (ROOT / "THIRD-PARTY-NOTICES").read_text(encoding="utf-8")


# --- wrong usage: exit status 2 and one line with the cause ---


@pytest.mark.parametrize("arguments, named", [
    (["frobnicate"], "frobnicate"), (["--frobnicate"], "--frobnicate"), ([""], '""'),
    (["author"], "a subcommand is missing"), (["author", "frobnicate"], "frobnicate"), (["key"], "a subcommand is missing"), (["key", "remove"], "remove"),
    (["serve", "now"], "too many"), (["serve", "--port", "1"], "--port"), (["check-config", "x"], "too many"),
    (["migrate", "--force"], "--force"), (["migrate", "x"], "too many"),
    (["import"], "too few"), (["import", "--frobnicate", "-"], "--frobnicate"),
    (["demo"], "FILE is missing"), (["demo", "a", "b"], "too many"), (["demo", "--key-file"], "--key-file"),
    (["author", "add"], "--name"), (["author", "add", "--name"], "--name"), (["author", "add", "--name", ""], "--name"),
    (["author", "add", "--name", "x" * 2001], "2000 bytes"), (["author", "add", "--name", b"\xff"], "UTF-8"),
    (["author", "add", "--name", "A", "--id", "x"], "--id"), (["author", "add", "A"], "too many"),
    (["author", "add", "--name", "A", "-x"], "-x"), (["author", "add", "--name", "A", "-xyz"], "-x"),
    (["author", "list", "x"], "too many"), (["author", "list", "--json=1"], "--json=1"),
    (["author", "set-plan"], "too few"), (["author", "set-plan", NOBODY], "too few"),
    (["author", "set-plan", NOBODY, "on"], "active or inactive"),
    (["key", "create", "--name", "n"], "--author AUTHOR is missing"), (["key", "create", "--author", NOBODY], "--name"),
    (["key", "create", "--author", NOBODY, "--name", "x" * 201], "200 bytes"),
    (["key", "list"], "--author AUTHOR is missing"), (["key", "revoke"], "too few"), (["key", "revoke", "x"], "UUID"),
], ids=lambda value: " ".join(map(str, value))[:40] if isinstance(value, list) else None)
def test_wrong_usage_exits_with_2_and_names_the_cause(viewtally, arguments, named):
    done = subprocess.run([viewtally.binary, *arguments], cwd=viewtally.directory, env=viewtally.environment(),
                          capture_output=True, timeout=60, check=False)
    assert done.returncode == 2 and done.stdout == b"", done
    message = one_line(done.stderr.decode("utf-8", "replace"))
    assert named in message and len(message) < 400


@pytest.mark.parametrize("arguments, message", [
    (["kye", "list"], 'viewtally: unknown command "kye" (did you mean key?); see viewtally --help'),
    (["key", "creat"], 'viewtally key: unknown subcommand "creat" (did you mean create?); see viewtally key --help'),
    (["key", "create", "--autor", "x"], "viewtally key create: unknown option --autor (did you mean --author?)"),
    (["key", "create", "--colour=x"], "viewtally key create: unknown option --colour=x"),
], ids=lambda value: " ".join(value) if isinstance(value, list) else None)
def test_mistyped_words_get_a_suggestion(viewtally, arguments, message):
    assert plain(viewtally, *arguments, status=2).err == message + "\n"


def test_overview_is_printed_if_no_command_is_given(viewtally):
    assert plain(viewtally, status=2).out.startswith("viewtally shows")


def test_option_config_requires_a_value(viewtally):
    assert "--config" in plain(viewtally, "check-config", "--config", status=2).err


# --- bad input: exit status 1; failures: 3 ---


def test_unknown_ids_exit_with_1(viewtally):
    viewtally.run("migrate")
    for arguments in (["author", "set-plan", NOBODY, "active"], ["key", "create", "--author", NOBODY, "--name", "n"],
                      ["key", "list", "--author", NOBODY], ["key", "list", "--author", NOBODY, "--json"], ["key", "revoke", NOBODY]):
        done = viewtally.run(*arguments, status=1)
        assert done.out == "" and "has this id" in one_line(done.err)
    viewtally.run("author", "add", "--name", "A", "--id", NOBODY)
    done = viewtally.run("author", "add", "--name", "B", "--id", NOBODY, status=1)
    assert "already exists" in one_line(done.err)
    assert [entry["name"] for entry in viewtally.run("author", "list", "--json").json()] == ["A"]


@pytest.mark.sqlite_only("creates a database file")
@pytest.mark.parametrize("words, creates", [
    (["migrate"], True), (["import", "--create", "-"], True), (["demo", "-"], True),
    (["import", "-"], False), (["serve"], False), (["author", "add", "--name", "A"], False),
    (["app", "add", "--name", "a", "--redirect-uri", "https://a.example/b"], False),
    (["import", "--dry-run", "-"], False), (["author", "list"], False), (["author", "set-plan", NOBODY, "active"], False),
    (["author", "invite", NOBODY], False), (["key", "create", "--author", NOBODY, "--name", "n"], False),
    (["key", "list", "--author", NOBODY], False), (["key", "revoke", NOBODY], False), (["app", "list"], False),
    (["app", "remove", "app_nobody"], False), (["platform", "list"], False), (["platform", "status"], False),
    (["secrets", "check"], False), (["status"], False), (["refresh"], False), (["backup", "copy.db"], False),
], ids=lambda value: " ".join(value[:3]) if isinstance(value, list) else None)
@pytest.mark.parametrize("empty", [False, True], ids=["missing", "empty"])
def test_only_some_commands_create_a_database(viewtally, words, creates, empty):
    """A database may be missing because its volume is not mounted. The message names the absolute path even if the configured one is relative."""
    database = viewtally.directory / "here.db"
    if empty:
        database.touch()
    spool = viewtally.directory / "spool"
    spool.mkdir()
    env = {"VIEWTALLY_STORE_PATH": "here.db", "VIEWTALLY_REFRESH_SOURCE": "spool", "VIEWTALLY_REFRESH_SPOOL_DIR": str(spool)}
    done = viewtally.run(*words, status=None, env=env)
    assert (database.exists() and database.stat().st_size > 0) == creates, done
    if not creates:
        reason = "the database here.db is empty" if empty else f"the database {database} does not exist: check the path"
        assert done.status == 3 and reason in one_line(done.err)
        assert database.exists() == empty


@pytest.mark.sqlite_only("creates a database file")
def test_serve_creates_a_database_only_with_the_option_create(viewtally):
    assert "does not exist" in viewtally.run("serve", status=3).err
    assert list(viewtally.directory.glob("viewtally.db*")) == []
    process = viewtally.command("serve", "--create")
    try:
        assert b"listening on" in process.stdout.readline()
    finally:
        process.terminate()
        process.communicate()
    assert process.returncode == 0
    assert "up to date" in viewtally.run("migrate").out


@pytest.mark.sqlite_only("the path of the database file")
def test_unusable_database_path_exits_with_3(viewtally):
    env = {"VIEWTALLY_STORE_PATH": str(viewtally.directory / "missing" / "x.db")}
    for arguments in (["migrate"], ["author", "list"], ["author", "add", "--name", "A"], ["key", "list", "--author", NOBODY],
                      ["import", "-"], ["demo", "-"], ["serve"]):
        done = viewtally.run(*arguments, status=3, env=env)
        assert done.out == "" and str(viewtally.directory / "missing") in one_line(done.err), arguments


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_unwritable_output_exits_with_3(viewtally):
    owner = viewtally.add_author()
    for arguments in (["author", "list"], ["author", "list", "--json"], ["author", "add", "--name", "B"], ["check-config"],
                      ["key", "create", "--author", owner, "--name", "n"], ["key", "list", "--author", owner, "--json"],
                      ["import", "-"], ["migrate"], ["--help"], ["--version"], ["--licenses"], ["key", "--help"]):
        with open("/dev/full", "wb") as full:
            done = plain(viewtally, *arguments, status=3, stdout=full, stdin=b"")
        assert "cannot be written" in one_line(done.err), arguments


@pytest.mark.sqlite_only("the lock file of the database was written")
def test_closed_standard_streams_are_not_replaced_by_files(viewtally):
    """The next file that was opened, the lock file, got the descriptor of standard output and then the key."""
    owner, lock = viewtally.add_author(), viewtally.directory / "viewtally.db-lock"
    for redirection, words, message in ((">&-", ["key", "create", "--author", owner, "--name", "n"], "so the new key was revoked"),
                                        (">&-", ["author", "list"], "standard output cannot be written"), (">&-", ["healthcheck"], "not an address"),
                                        ("<&-", ["import", "-"], "Bad file descriptor"), ("2>&-", ["author", "show", "x"], "")):
        done = subprocess.run(["sh", "-c", f'exec "$@" {redirection}', "sh", viewtally.binary, *words, "--config", viewtally.config_path],
                              stdin=subprocess.DEVNULL, capture_output=True, env=viewtally.environment(), timeout=60, check=False)
        assert done.returncode in ((1, 2) if redirection == "2>&-" else (2, 3)) and message in done.stderr.decode(), (words, done)
        assert done.stdout == b"" and lock.read_bytes() == b"", words
    assert viewtally.run("key", "list", "--author", owner, "--json").json()[0]["revoked_at"]


# --- author and key ---


def test_added_author_is_listed(viewtally):
    viewtally.run("migrate")
    assert len(viewtally.run("author", "list").out.splitlines()) == 1 and viewtally.run("author", "list", "--json").json() == []
    viewtally.run("migrate")
    first = viewtally.run("author", "add", "--name", "First").out.strip()
    assert str(uuid.UUID(first)) == first
    viewtally.clock.advance(1000)
    given = str(uuid.uuid4())
    second = viewtally.run("author", "add", "--json", "--id", given.upper(), "--name", "Second").json()
    assert second == {"id": given, "name": "Second", "plan_active": True, "created_at": "2026-07-10T12:00:01.000Z", "books_count": 0,
                      "videos_count": 0, "views_refreshed_at": None}
    viewtally.run("author", "set-plan", first.upper(), "inactive")
    listed = viewtally.run("author", "list", "--json").json()
    assert [(entry["id"], entry["name"], entry["plan_active"]) for entry in listed] == [(first, "First", False), (given, "Second", True)]
    heading, *lines = viewtally.run("author", "list").out.splitlines()
    assert heading.split() == ["ID", "PLAN", "BOOKS", "VIDEOS", "NAME"]
    assert [line.split()[0] for line in lines] == [first, given]
    assert " inactive " in lines[0] and lines[0].endswith("  First") and " active " in lines[1]


def test_created_key_is_listed_and_can_be_revoked(viewtally):
    owner = viewtally.add_author()
    created = viewtally.run("key", "create", "--author", owner, "--name", "Zapier", "--json").json()
    assert created["name"] == "Zapier" and created["key"].startswith("service_live_") and created["last_used_at"] is None
    assert created["prefix"] == "service_live_…" + created["key"][-4:]
    text = viewtally.run("key", "create", "--author", owner, "--name", "Make").out
    assert re.fullmatch(r"service_live_\w{49}\n", text)
    listed = viewtally.run("key", "list", "--author", owner, "--json").json()
    assert [entry["name"] for entry in listed] == ["Zapier", "Make"] and all("key" not in entry for entry in listed)
    assert listed[0] == {name: value for name, value in created.items() if name != "key"}
    done = viewtally.run("key", "revoke", listed[0]["id"])
    assert done.err == ""
    heading, *lines = viewtally.run("key", "list", "--author", owner).out.splitlines()
    assert re.split("  +", heading) == ["ID", "KEY", "LAST USED", "STATE", "NAME"]
    assert [" revoked " in line for line in lines] == [True, False] and " live " in lines[1]
    assert viewtally.run("key", "list", "--author", owner, "--json").json()[0]["revoked_at"] == "2026-07-10T12:00:00.000Z"


def test_commands_work_while_the_server_runs(viewtally):
    viewtally.start()
    owner = viewtally.add_author("Live")
    with viewtally.client(viewtally.create_key(owner)) as client:
        assert client.get("/account").json()["data"]["name"] == "Live"
        viewtally.import_lines([author("Live", id=owner, name="Renamed")])
        assert client.get("/account").json()["data"]["name"] == "Renamed"
        assert "up to date" in viewtally.run("migrate").out
        assert viewtally.run("author", "list", "--json").json()[0]["name"] == "Renamed"
        assert client.opened == 1


def test_options_are_accepted_in_any_order(viewtally):
    owner = viewtally.add_author()
    key = viewtally.run("key", "create", "--name=a", f"--author={owner}", "--json").json()
    plain(viewtally, "--config", viewtally.config_path, "key", "revoke", "--", key["id"])
    plain(viewtally, f"--config={viewtally.config_path}", "author", "add", "--name", "--json")
    assert {entry["name"] for entry in viewtally.run("author", "list", "--json").json()} == {"An Author", "--json"}


# --- stored text on a terminal ---


def test_stored_names_are_escaped_for_the_terminal(viewtally):
    viewtally.run("migrate")
    owner = viewtally.run("author", "add", "--name", NASTY, "--json")
    created = viewtally.run("key", "create", "--author", owner.json()["id"], "--name", NASTY, "--json")
    shown = [owner, created, viewtally.run("author", "list"), viewtally.run("author", "list", "--json"),
             viewtally.run("key", "list", "--author", owner.json()["id"]),
             viewtally.run("key", "list", "--author", owner.json()["id"], "--json")]
    for done in shown:
        assert not CONTROL.search(done.out + done.err), done.out
    assert "Zoë 漢字" in shown[2].out and "\\u001b[2J" in shown[2].out
    assert len(shown[2].out.splitlines()) == 2 and len(shown[4].out.splitlines()) == 2       # a heading and one line
    assert owner.json()["name"] == created.json()["name"] == shown[3].json()[0]["name"] == NASTY


def test_bad_lines_are_escaped_for_the_terminal(viewtally):
    lines = b"\n".join([b'{"type":"\x1b[2J"}', b'{"type":"author","\x1b[2J":1}', b"\x1b]0;owned\x07", b'{"type":"video","id":"\x9b31m"}',
                        json.dumps({"type": "author", "id": "\x1b[2J", "name": NASTY}).encode()])
    done = viewtally.import_lines(lines + b"\n", status=1)
    assert len(done.err.splitlines()) == 5 and not CONTROL.search(done.err)


# --- demo ---


DEMO = [author("Small"), author("Big", name=NASTY), video("v", "Big", "2026-07-01T00:00:00Z")]


@pytest.fixture
def demo_file(viewtally):
    path = viewtally.directory / "demo.ndjson"
    path.write_bytes(encode_lines(DEMO))
    return path


def test_demo_creates_a_key_for_the_author_with_most_videos(viewtally, demo_file):
    done = viewtally.run("demo", demo_file, "--key-file", "demo.key")
    key = re.search(r"KEY=(\S+)", done.out).group(1)
    assert ", an author with 1 video" in done.out and " 'http://127.0.0.1:8080/v1/account'\n" in done.out
    assert not CONTROL.search(done.out) and "until 2026-07-11 12:00:00 UTC" in done.out
    assert f"viewtally author invite {uid('Big')} --config {viewtally.config_path}\n" in done.out
    assert (viewtally.directory / "demo.key").stat().st_mode & 0o777 == 0o600
    assert (viewtally.directory / "demo.key").read_text() == key + "\n"
    viewtally.start()
    with viewtally.client(key) as client:
        assert client.get("/account").json()["data"]["id"] == uid("Big")
    link = re.search(r"http://127.0.0.1:8080(/invite/\S+)", done.out).group(1)
    with viewtally.client(base="") as client:
        assert client.get(link).status == 200


def test_demo_changes_nothing_in_a_database_with_authors(viewtally, demo_file):
    owner = viewtally.add_author("Real")
    done = viewtally.run("demo", demo_file, "--key-file", "demo.key", status=1)
    assert " already has authors, and nothing was changed" in one_line(done.err) and done.out == ""
    assert [entry["id"] for entry in viewtally.run("author", "list", "--json").json()] == [owner]
    assert viewtally.run("key", "list", "--author", owner, "--json").json() == []
    assert not (viewtally.directory / "demo.key").exists()


def test_demo_changes_nothing_if_it_cannot_create_its_key_file(viewtally, demo_file):
    (viewtally.directory / "mine").write_text("mine")
    for path, reason, status in (("mine", "already exists", 1), ("missing/demo.key", "cannot create the key file", 3), (".", "already exists", 1)):
        assert reason in one_line(viewtally.run("demo", demo_file, "--key-file", path, status=status).err)
    assert (viewtally.directory / "mine").read_text() == "mine" and not viewtally.database.exists()


def test_demo_fails_if_its_file_is_missing_or_has_no_author(viewtally):
    path = viewtally.directory / "empty.ndjson"
    assert "empty.ndjson: No such file" in one_line(viewtally.run("demo", path, status=3).err)
    assert not viewtally.database.exists()
    path.write_bytes(b"")
    assert "contains no author" in viewtally.run("demo", path, status=1).err
    assert viewtally.run("author", "list", "--json").json() == []


# --- secrets that are shown once ---


@pytest.fixture
def full():
    with open("/dev/full", "wb") as file:
        yield file


def unread_bytes(descriptor):
    return int.from_bytes(fcntl.ioctl(descriptor, termios.FIONREAD, bytes(4)), sys.byteorder)


def unread_pipe():
    """Returns the write end of a pipe whose read end is closed."""
    reader, writer = os.pipe()
    os.close(reader)
    return os.fdopen(writer, "wb")


@pytest.mark.parametrize("as_json", [(), ("--json",)], ids=["text", "json"])
def test_secret_that_could_not_be_printed_is_not_valid(viewtally, full, as_json):
    """A key, app or link that could not be printed is not valid, and the credentials that it would have replaced stay valid."""
    owner = viewtally.add_author()
    app = viewtally.run("app", "add", "--name", "Old", "--confidential", "--redirect-uri", "https://a.example/b", "--json").json()
    link = viewtally.run("author", "invite", owner).out.strip()

    def valid():
        return (viewtally.sql("SELECT count(*) FROM api_keys WHERE revoked_at IS NULL"),
                viewtally.sql("SELECT client_id, secret_hash FROM apps WHERE removed_at IS NULL"), viewtally.sql("SELECT * FROM invitations"))

    before = valid()
    with unread_pipe() as unread:
        for arguments, undone in ((["key", "create", "--author", owner, "--name", "n"], "the new key was revoked"),
                                  (["author", "invite", owner], "the change was rolled back"),
                                  (["app", "add", "--name", "New", "--confidential", "--redirect-uri", "https://a.example/b"], "the new app was removed"),
                                  (["app", "rotate-secret", app["client_id"]], "the old secret is valid again")):
            for stdout, why in ((full, "No space left on device"), (unread, "Broken pipe")):
                done = plain(viewtally, *arguments, *as_json, status=3, stdout=stdout)
                assert f"standard output cannot be written ({why}), so {undone}" in one_line(done.err)
                assert valid() == before, arguments
    viewtally.start()
    with viewtally.client(base="") as client:
        assert client.get("/invite/" + link.rsplit("/", 1)[1]).status == 200


def test_demo_whose_key_could_not_be_printed_leaves_no_key(viewtally, demo_file):
    """The pipe has room for the summary of the import, but not for the text after it. Its reader closes the pipe after
    the summary."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    filled = os.write(writer, b"." * 2500)
    with subprocess.Popen([viewtally.binary, "demo", demo_file, "--key-file", "demo.key", "--config", viewtally.config_path],
                          stdout=writer, stderr=subprocess.PIPE, cwd=viewtally.directory, env=viewtally.environment()) as process:
        os.close(writer)
        wait.until(lambda: unread_bytes(reader) > filled, "the summary")
        os.close(reader)
        assert b"(Broken pipe), so the change was rolled back" in process.stderr.read()
    assert process.returncode == 3 and not (viewtally.directory / "demo.key").exists()
    assert viewtally.run("key", "list", "--author", uid("Big"), "--json").json() == []


# --- configuration ---


def effective(done):
    """The output of check-config as {section: {key: value}}."""
    sections, section = {}, None
    for line in done.out.splitlines():
        if match := re.fullmatch(r"\[(\w+)\]", line):
            section = sections.setdefault(match.group(1), {})
        elif line and not line.startswith(";"):
            name, _, value = line.partition(" =")
            section[name] = value.strip()
    return sections


def test_check_config_prints_effective_values(viewtally):
    shown = effective(viewtally.run("check-config"))
    assert shown["server"]["listen"] == "127.0.0.1:0" and shown["store"]["path"] == viewtally.settings["store"]["path"]
    assert shown["limits"] == {"requests_per_minute": "0", "headers": "on"} and shown["viral"]["multiplier"] == "5.0"
    assert not (viewtally.directory / "viewtally.db").exists()
    # The output is a valid configuration with the same values.
    copy = viewtally.directory / "copy.ini"
    copy.write_text("\n".join(line for line in viewtally.run("check-config").out.splitlines() if "(hidden)" not in line))
    assert effective(plain(viewtally, "check-config", "--config", copy)) == shown


def test_example_file_matches_the_binary(viewtally):
    assert plain(viewtally, "check-config", "--example").out == (ROOT / "config.example.ini").read_text(encoding="utf-8")


def test_example_file_contains_the_defaults(viewtally):
    empty = viewtally.directory / "empty.ini"
    empty.write_text("")
    assert (effective(plain(viewtally, "check-config", "--config", ROOT / "config.example.ini")) ==
            effective(plain(viewtally, "check-config", "--config", empty)))


def test_option_then_environment_then_current_directory_select_the_configuration_file(viewtally):
    names = {}
    for name in ("a", "b", "here/config"):
        names[name] = viewtally.directory / f"{name}.ini"
        names[name].parent.mkdir(exist_ok=True)
        names[name].write_text(f"[keys]\nprefix = from_{name[0]}_\n")

    def prefix(*arguments, **options):
        return effective(plain(viewtally, *arguments, **options))["keys"]["prefix"]

    a, b, here = names["a"], names["b"], names["here/config"].parent
    env = {"VIEWTALLY_CONFIG": str(b)}
    for arguments in (["--config", a, "check-config"], ["check-config", "--config", a], [f"--config={a}", "check-config"],
                      ["check-config", f"--config={a}"]):
        assert prefix(*arguments, env=env, cwd=here) == "from_a_"
    assert prefix("check-config", "--config", b, "--config", a) == "from_a_"
    assert prefix("check-config", env=env, cwd=here) == "from_b_"
    assert prefix("check-config", cwd=here) == "from_h_"
    assert prefix("check-config", cwd=here, env={"VIEWTALLY_CONFIG": ""}) == "from_h_"
    assert prefix("check-config", cwd=viewtally.directory.parent) == "service_live_"


def test_unreadable_configuration_file_exits_with_2(viewtally):
    for arguments, env in ((["--config", "missing.ini"], {}), ([], {"VIEWTALLY_CONFIG": "missing.ini"}),
                           (["--config", str(viewtally.directory)], {})):
        for command in (["check-config"], ["serve"], ["author", "list"]):
            done = plain(viewtally, *command, *arguments, env=env, status=2)
            assert done.out == "" and (arguments[1] if arguments else "missing.ini") in done.err, done


@pytest.mark.parametrize("text, line, message", [
    ("[server]\nport = 80\n", 2, '[server] has no key "port"'),
    ("[server]\nlistn = 127.0.0.1:0\n", 2, '[server] has no key "listn" (did you mean listen?)'),
    ("[sever]\nlisten = 127.0.0.1:0\n", 2, "unknown section [sever] (did you mean [server]?)"),
    ("\n\n; comment\n[limits]\nrequests_per_minute = many\n", 5, "[limits] requests_per_minute must be a whole number from 0 to 10000"),
    ("[limits]\nrequests_per_minute = -1\n", 2, "must be a whole number"),
    ("[limits]\nrequests_per_minute = 10001\n", 2, "must be a whole number"),
    ("[limits]\nheaders = maybe\n", 2, "[limits] headers must be"),
    ("[limits]\nheaders = on\nheaders = off\n", 3, "is already set in line 2"),
    ("[limits]\nheaders = on\n[server]\n[limits]\nheaders = on\n", 5, "is already set in line 2"),
    ("[server]\nlisten =\n", 2, "[server] listen must be at least one"),
    ("[server]\nlisten = , ,\n", 2, "[server] listen must be at least one"),
    ("[server]\nlisten = 127.0.0.1\n", 2, "[server] listen must be addresses such as"),
    ("[server]\nlisten = 127.0.0.1:0, localhost:8080\n", 2, "[server] listen must be addresses such as"),
    ("[server]\nlisten = 127.0.0.1:65536\n", 2, "must be addresses such as"),
    ("[server]\nlisten = unix:\n", 2, "must be addresses such as"),
    ("[admin]\nlisten = 9187\n", 2, "[admin] listen must be addresses such as"),
    ("[server]\nbase_url = https://a.example\n", 2, "ends in /v1"),
    ("[server]\nbase_url = ftp://a.example/v1\n", 2, "ends in /v1"),
    ("[server]\ndirect_url = a.example/v1\n", 2, "ends in /v1"),
    ("[viral]\nmultiplier = 0.999\n", 2, "[viral] multiplier must be"),
    ("[viral]\nmultiplier = 1.0001\n", 2, "[viral] multiplier must be"),
    ("[viral]\ncompare_last = 4\n", 2, "[viral] compare_last must be"),
    ("[events]\nhistory_start = 2026-02-30\n", 2, "[events] history_start must be"),
    ("[log]\nlevel = loud\n", 2, "[log] level must be"),
    ("[keys]\nprefix = a b\n", 2, "[keys] prefix must be"),
    ("[keys]\nprefix =\n", 2, "[keys] prefix must be"),
    ("[log\nlevel = info\n", 1, "must be [section]"),
    ("[log]\nlevel\n", 2, "must be [section]"),
    ("listen = 127.0.0.1:0\n", 1, '"listen" must follow a [section]'),
    ("[log]\nlevel = " + "x" * 100_000 + "\n", 2, "too long"),
], ids=lambda value: value[-30:] if isinstance(value, str) else None)
def test_errors_in_the_file_are_reported_with_their_line(viewtally, text, line, message):
    path = viewtally.directory / "bad.ini"
    path.write_text(text)
    for command in (["check-config"], ["serve"], ["author", "list"]):
        done = plain(viewtally, *command, "--config", path, status=2)
        assert done.out == "" and done.err.startswith(f"{path}:{line}: ") and message in done.err and done.err.count("\n") == 1
        assert len(done.err) < 1000


@pytest.mark.parametrize("section, key, value, message", [
    ("server", "trusted_proxies", "10.0.0.0/33", "[server] trusted_proxies"),
    ("redis", "url", "127.0.0.1:6379", "[redis] url must begin with"),
])
def test_check_config_reports_what_serve_rejects(viewtally, section, key, value, message):
    viewtally.configure({section: {key: value}})
    for command in (["check-config"], ["serve", "--create"]):
        done = viewtally.run(*command, status=2)
        assert done.out == "" and message in done.err and done.err.count("\n") <= 2


def test_environment_overrides_the_file(viewtally):
    env = {"VIEWTALLY_LIMITS_REQUESTS_PER_MINUTE": "7", "VIEWTALLY_VIRAL_MULTIPLIER": "2.25", "VIEWTALLY_SERVER_DIRECT_URL": "",
           "VIEWTALLY_LOG_FORMAT": " json "}
    shown = effective(viewtally.run("check-config", env=env))
    assert (shown["limits"]["requests_per_minute"], shown["viral"]["multiplier"], shown["log"]["format"]) == ("7", "2.25", "json")
    assert shown["server"]["listen"] == "127.0.0.1:0"


@pytest.mark.parametrize("name, value, message", [
    ("VIEWTALLY_LIMITS_REQUESTS_PER_MINUTE", "x", "must be a whole number"), ("VIEWTALLY_SERVER_LISTEN", "", "must be"),
    ("VIEWTALLY_SERVER_PORT", "1", "unknown configuration key"), ("VIEWTALLY_LOG_LEVEL", "INFO", "must be"),
])
def test_errors_in_the_environment_are_reported(viewtally, name, value, message):
    done = viewtally.run("check-config", env={name: value}, status=2)
    assert done.out == "" and done.err.startswith(name + ": ") and message in done.err


def test_unrelated_variables_are_ignored(viewtally):
    viewtally.run("check-config", env={"VIEWTALLY_BIN": "x", "VIEWTALLY_HOME": "y", "VIEWTALLYLOG_LEVEL": "z", "LOG_LEVEL": "z"})


def secret_keys():
    """The (section, name) of all keys that docs/configuration.md describes as secret."""
    section, found = None, []
    for line in (ROOT / "docs/configuration.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("## ["):
            section = line[4:-1]
        name = re.match(r"\| `(\w+)` \|.*`\1_file` names a file", line)
        if name:
            found.append((section, name.group(1)))
    return found


def test_secrets_are_hidden_and_read_from_files(viewtally):
    """Secret values are printed as (hidden), whatever their source; …_file names a file with the value."""
    secret = "s3cr3t-p4ssw0rd"
    path = viewtally.directory / "password"
    hidden = secret_keys()
    assert ("redis", "password") in hidden and ("backup", "ping_url") in hidden
    assert "(hidden)" not in viewtally.run("check-config").out, "an empty secret is shown as empty"
    for section, name in hidden:
        variable = f"VIEWTALLY_{section}_{name}".upper()
        value = f"https://ping.example/{secret}" if name == "ping_url" else secret
        path.write_text(value + "\n")
        for env in ({variable: value}, {variable + "_FILE": str(path)}):
            done = viewtally.run("check-config", env=env)
            assert secret not in done.out + done.err and effective(done)[section][name] == "(hidden)"
        done = viewtally.run("check-config", env={variable + "_FILE": str(path) + ".missing"}, status=2)
        assert "cannot read" in done.err
        done = viewtally.run("check-config", env={variable + "_FILE": str(viewtally.directory)}, status=2)
        assert "Is a directory" in done.err
    for address, shown in ((f"redis://:{secret}@127.0.0.1:6379/0", "redis://:(hidden)@127.0.0.1:6379/0"),
                           (f"rediss://u:{secret}@h", "rediss://u:(hidden)@h"), ("redis://u@h:1/2", "redis://u@h:1/2"),
                           ("redis://h:1", "redis://h:1"), ("unix:/a:b@c", "unix:/a:b@c")):
        assert effective(viewtally.run("check-config", env={"VIEWTALLY_REDIS_URL": address}))["redis"]["url"] == shown
    long = {"VIEWTALLY_REFRESH_PING_URL": "https://h.example/a:b@" + 700 * "c"}        # once overran a buffer, which the ASan build detects
    assert effective(viewtally.run("check-config", env=long))["refresh"]["ping_url"] == "(hidden)"
