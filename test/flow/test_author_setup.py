"""Commands for authors: show, rename, and `author import`, which sets up many from one file."""
import csv
import io
import json
import re
import resource
import subprocess
import uuid

import pytest

from lib.lines import author, uid

CSV = ("name,login,plan\nAda Lovelace,Ada@Example.com,active\n\"Hopper, \"\"Grace\"\"\",grace@example.com,inactive\n"
       "=cmd(),,\n")


def authors(instance):
    return {entry["name"]: entry for entry in instance.run("author", "list", "--json").json()}


def show(instance, which):
    return instance.run("author", "show", which, "--json").json()


def write(instance, text, name="authors.csv"):
    path = instance.directory / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.fixture
def installation(viewtally):
    viewtally.run("migrate")
    return viewtally


def set_up(instance, text, *arguments, status=0):
    return instance.run("author", "import", write(instance, text), *arguments, status=status)


def rows(text):
    return list(csv.DictReader(io.StringIO(text)))


# --- import: what it sets up ---


def test_file_sets_up_authors_with_plans_and_invitation_links(installation):
    done = set_up(installation, CSV)
    assert done.err == "authors    3 new, 0 changed, 0 unchanged\nlinks      3 new\n"
    known = authors(installation)
    assert {name: entry["plan_active"] for name, entry in known.items()} == {"Ada Lovelace": True, 'Hopper, "Grace"': False, "=cmd()": True}
    links = rows(done.out)
    assert [(row["id"], row["login"], row["expires_at"]) for row in links] == [
        (known["Ada Lovelace"]["id"], "ada@example.com", "2026-07-11T12:00:00.000Z"),
        (known['Hopper, "Grace"']["id"], "grace@example.com", "2026-07-11T12:00:00.000Z"),
        (known["=cmd()"]["id"], "", "2026-07-11T12:00:00.000Z")]
    assert [row["name"] for row in links] == ["Ada Lovelace", 'Hopper, "Grace"', "'=cmd()"]       # a spreadsheet runs no formula
    assert show(installation, "ADA@example.com")["login"] == "ada@example.com"
    installation.start()
    with installation.client(base="") as client:
        for row in links:
            assert client.get("/invite/" + row["link"].rsplit("/", 1)[1]).status == 200


def test_importing_again_changes_nothing_and_keeps_invitations_valid(installation):
    first = rows(set_up(installation, CSV).out)
    done = set_up(installation, CSV)
    assert done.err == "authors    0 new, 0 changed, 3 unchanged\nlinks      0 new\n" and rows(done.out) == []
    installation.start()
    with installation.client(base="") as client:
        assert all(client.get("/invite/" + row["link"].rsplit("/", 1)[1]).status == 200 for row in first)
        renewed = rows(set_up(installation, CSV, "--new-links").out)
        assert len(renewed) == 3 and client.get("/invite/" + first[0]["link"].rsplit("/", 1)[1]).status != 200
    installation.clock.advance(25 * 3600 * 1000)       # expired links are replaced
    assert len(rows(set_up(installation, CSV).out)) == 3


def test_invitation_links_are_written_to_a_new_private_file(installation):
    path = installation.directory / "links.csv"
    done = set_up(installation, CSV, "--links", path)
    assert done.out == "authors    3 new, 0 changed, 0 unchanged\nlinks      3 new\n" and done.err == ""
    assert path.stat().st_mode & 0o777 == 0o600 and len(rows(path.read_text())) == 3
    before = path.read_text()
    again = set_up(installation, CSV, "--new-links", "--links", path, status=1)
    assert f"{path} already exists, and nothing was changed" in again.err and path.read_text() == before
    missing = installation.directory / "no" / "links.csv"
    assert "No such file" in set_up(installation, CSV, "--new-links", "--links", missing, status=3).err


def test_existing_authors_get_the_values_of_the_file(installation):
    installation.import_lines([author("Ada"), author("Bob"), author("Cyd")])
    text = (f"id,name,plan,login\n{uid('Ada')},Ada King,,\n,Bob,inactive,bob\n,Cyd,active,\n")
    done = set_up(installation, text, "--no-links")
    assert done.out == "authors    0 new, 2 changed, 1 unchanged\nlinks      0 new\n"
    assert {name: entry["plan_active"] for name, entry in authors(installation).items()} == {"Ada King": True, "Bob": False, "Cyd": True}
    assert authors(installation)["Bob"]["id"] == uid("Bob") and show(installation, "bob")["name"] == "Bob"
    assert set_up(installation, "login,name\nbob,Bobby\n", "--no-links").out.startswith("authors    0 new, 1 changed, 0 unchanged")
    assert show(installation, uid("Bob"))["name"] == "Bobby"


def test_authors_are_read_from_ndjson_and_standard_input(installation):
    lines = [{"type": "author", "id": uid("Ada"), "name": "Ada", "plan_active": False}, {"name": "Bob", "plan": "active", "login": None}]
    text = "\n".join(json.dumps(line) for line in lines) + "\n"
    done = installation.run("author", "import", "-", "--json", stdin=text).json()
    assert {name: value for name, value in done.items() if name != "links"} == {"dry_run": False, "new": 2, "changed": 0, "unchanged": 0, "new_links": 2}
    assert [(link["name"], link["login"], "/invite/" in link["link"]) for link in done["links"]] == [("Ada", None, True), ("Bob", None, True)]
    assert authors(installation)["Ada"]["id"] == uid("Ada") and authors(installation)["Ada"]["plan_active"] is False


def test_byte_order_mark_before_ndjson_is_ignored(installation):
    installation.run("author", "import", "-", "--no-links", stdin='\ufeff{"name":"Zoë"}\n')
    assert set(authors(installation)) == {"Zoë"}


def test_dry_run_prints_a_report_and_changes_nothing(installation):
    dry = set_up(installation, CSV, "--dry-run")
    assert dry.out == ("Dry run: nothing was changed. The import would do this:\n"
                       "authors    3 new, 0 changed, 0 unchanged\nlinks      3 new\n") and dry.err == ""
    assert authors(installation) == {}
    assert set_up(installation, CSV, "--dry-run", "--json").json() == {"dry_run": True, "new": 3, "changed": 0, "unchanged": 0, "new_links": 3}


@pytest.mark.parametrize("text", ["﻿name;plan\r\nZoë;inactive\r\n", "name,plan\r\n\r\nZoë,inactive", " name , plan \nZoë, inactive \n"],
                         ids=["semicolons", "no-final-line-end", "spaces"])
def test_csv_files_from_spreadsheets_can_be_imported(installation, text):
    set_up(installation, text, "--no-links")
    assert {name: entry["plan_active"] for name, entry in authors(installation).items()} == {"Zoë": False}


# --- import: bad lines ---


def test_file_that_is_too_long_is_a_mistake_of_the_caller(installation):
    path = installation.directory / "long.csv"
    with open(path, "wb") as file:
        file.truncate((64 << 20) + 1)
    for endless in (str(path), "/dev/zero"):
        assert f"{endless} is longer than {64 << 20} bytes" in installation.run("author", "import", endless, status=2).err


@pytest.mark.parametrize("text, expected", [
    ("name,mail\nA,x\n", {1: 'unknown field "mail"; the fields are id, name, login and plan'}),
    ("name,logn\nA,x\n", {1: 'unknown field "logn" (did you mean login?); the fields are id, name, login and plan'}),
    ("name,name\nA,B\n", {1: "name is given twice"}),
    ("name,plan\nA,maybe\nB,active\nC,Active\n", {2: "plan must be active or inactive", 4: "plan must be active or inactive"}),
    ("name,id\nA,7\n", {2: "id must be a UUID"}), ("name,login\nA,a b\n", {2: re.compile("login must be 1 to 100 letters.*")}),
    (b"name\n\xff\n", {2: "name must be 1 to 2000 bytes of UTF-8"}), ("name\n" + "x" * 2001 + "\n", {2: "name must be 1 to 2000 bytes of UTF-8"}),
    ("name,plan\n,active\n", {2: "the line must have a name, a login or an id"}), ("name,plan\nA,active,x\n", {2: "there are more fields than in the heading"}),
    ('name\n"A\n', {2: "a quotation mark is not closed"}), ('name\n"A"x\n', {2: "a quoted field must end at a separator or at the end of the line"}),
    ("login\na\n", {2: "there is no such author yet, and name is missing"}),
    ('name\n"A\nB"\nC\nC\n', {5: "this is the same author as in line 4; if there are two authors with this name, give ids or logins"}),
    ("name,login\nA,x\nB,X\n", {3: "this is the same author as in line 2"}),
    ("name\nTwin\n", {2: "several authors have this name: give the id or the login"}),
    (f"id,login,name\n{uid('Ada')},,\n,ada,\n", {3: "this is the same author as in line 2"}),
    (f"id,login\n{uid('Bob')},ada\n", {2: "another author uses this login"}),
    ('{"name":"A"}\n{"name":5}\n{"nam":"B"}\n{\n[]\n{"name":"C","name":"D"}\n',
     {2: "name must be 1 to 2000 bytes of UTF-8", 3: 'unknown field "nam" (did you mean name?); the fields are id, name, login and plan',
      4: "not a JSON object", 5: "not a JSON object", 6: "name is given twice"}),
    ('{"name":"A","type":"book"}\n', {1: "type must be author"}), ('{"name":"A\\u0000"}\n', {1: "name must be 1 to 2000 bytes of UTF-8"}),
], ids=lambda value: repr(value[:30]) if isinstance(value, (str, bytes)) else None)
def test_bad_line_is_reported_and_nothing_changed(installation, text, expected):
    installation.import_lines([author("Ada"), author("Bob"), author("t1", name="Twin"), author("t2", name="Twin")])
    installation.run("author", "set-login", uid("Ada"), "ada")
    before = installation.run("author", "list", "--json").out
    done = set_up(installation, text, status=1)
    *lines, last = done.err.splitlines()
    reported = {int(line[len("authors.csv:"):].partition(":")[0]): line.partition(": ")[2]
                for line in (line.removeprefix(str(installation.directory) + "/") for line in lines)}
    assert reported.keys() == expected.keys() and done.out == ""
    for number, reason in expected.items():
        assert reason.fullmatch(reported[number]) if isinstance(reason, re.Pattern) else reported[number] == reason
    assert last == f"viewtally author import: {len(expected)} bad line{'s' * (len(expected) > 1)}, so nothing was changed"
    assert installation.run("author", "list", "--json").out == before


def test_erased_author_is_not_created_again(installation):
    text = f"id,name\n{uid('Ada')},Ada\n"
    set_up(installation, text)
    installation.run("author", "erase", uid("Ada"))
    done = set_up(installation, text, status=1)
    assert "authors.csv:2: this author was erased; to create the author again, first run viewtally author add --id UUID" in done.err
    assert authors(installation) == {}
    installation.run("author", "add", "--id", uid("Ada"), "--name", "Ada")
    set_up(installation, text)
    assert list(authors(installation)) == ["Ada"]


def test_empty_file_adds_no_author_and_missing_file_is_an_error(installation):
    assert set_up(installation, "").err == "authors    0 new, 0 changed, 0 unchanged\nlinks      0 new\n"
    assert set_up(installation, "name\n", "--no-links").out.startswith("authors    0 new")
    assert "missing.csv: No such file" in installation.run("author", "import", "missing.csv", status=3).err
    assert "Is a directory" in installation.run("author", "import", ".", status=3).err
    assert "--no-links cannot" in set_up(installation, CSV, "--no-links", "--new-links", status=2).err


def test_three_thousand_authors_are_set_up_through_a_pipe(installation):
    """The links exceed the buffer of a pipe."""
    text = "name,login\n" + "".join(f"Author {i},author-{i}@example.com\n" for i in range(3000))
    done = installation.run("author", "import", "-", stdin=text)
    assert len(rows(done.out)) == 3000 and len({row["link"] for row in rows(done.out)}) == 3000


def test_import_changes_nothing_if_the_links_cannot_be_written(installation):
    with open("/dev/full", "wb") as full:
        done = subprocess.run([installation.binary, "author", "import", write(installation, CSV), "--config", installation.config_path], stdout=full,
                              stderr=subprocess.PIPE, env=installation.environment(), timeout=60, check=False)
    assert done.returncode == 3 and b"so the change was rolled back" in done.stderr
    assert authors(installation) == {}


def test_links_file_that_is_too_large_is_reported_with_the_reason(installation):
    """The file size limit of the process acts like a full disk: the first write is short."""
    links = installation.directory / "links.csv"
    text = "name,login\n" + "".join(f"Author {i},author-{i}@example.com\n" for i in range(1000))
    path = write(installation, text)
    done = subprocess.run([installation.binary, "author", "import", path, "--links", links, "--config", installation.config_path], capture_output=True,
                          env=installation.environment(), timeout=60, check=False,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, resource.RLIM_INFINITY)))
    assert done.returncode == 3 and b"links.csv: File too large, so nothing was changed" in done.stderr, done.stderr
    assert authors(installation) == {} and not links.exists()


# --- show and rename ---


def test_author_show_accepts_an_id_or_a_sign_in_name(installation):
    owner = installation.add_author("Ada")
    installation.create_key(owner)
    revoked = installation.run("key", "create", "--author", owner, "--name", "old", "--json").json()["id"]
    installation.run("key", "revoke", revoked)
    installation.run("author", "set-login", owner, "ada")
    expected = {"id": owner, "name": "Ada", "plan_active": True, "created_at": "2026-07-10T12:00:00.000Z", "books_count": 0, "videos_count": 0,
                "views_refreshed_at": None, "login": "ada", "has_password": False, "live_keys": 1, "revoked_keys": 1, "platform_accounts": 0}
    assert show(installation, owner) == show(installation, "ADA") == expected
    text = installation.run("author", "show", "ada").out
    assert f"id                  {owner}\nname                Ada\nplan                active\nsign-in name        ada\n" in text
    assert "API keys            1 live, 1 revoked\n" in text and "views refreshed     never\n" in text
    for nobody in (str(uuid.uuid4()), "nobody", "a b"):
        assert "no author has this id or sign-in name" in installation.run("author", "show", nobody, status=1).err


def test_commands_print_what_they_changed(installation):
    owner = installation.add_author("Ada")
    key = installation.run("key", "create", "--author", owner, "--name", "Zapier", "--json").json()["id"]
    for arguments, expected in (
            (["author", "rename", owner, "Ada King"], "Ada is now called Ada King.\n"),
            (["author", "set-plan", owner, "inactive"], "Ada King: the plan is now inactive.\n"),
            (["author", "set-login", owner, "Ada"], "The author's sign-in name is now ada.\n"),
            (["author", "sign-out", owner], "The author is signed out everywhere, and an unused invitation is invalid.\n"),
            (["key", "revoke", key], 'Key "Zapier" is revoked.\n'),
            (["key", "revoke", key], 'Key "Zapier" was already revoked at 2026-07-10 12:00:00 UTC.\n')):
        done = installation.run(*arguments)
        assert (done.out, done.err) == (expected, ""), arguments
    assert show(installation, owner)["name"] == "Ada King"
    assert "NAME must be" in installation.run("author", "rename", owner, "", status=2).err
    assert "no author has this id" in installation.run("author", "rename", str(uuid.uuid4()), "X", status=1).err


def test_commands_accept_the_sign_in_name_of_an_author(installation):
    owner = installation.add_author("Ada")
    installation.run("author", "set-login", owner, "ada")
    for arguments, expected in (
            (["author", "rename", "ADA", "Ada King"], "Ada is now called Ada King.\n"),
            (["author", "set-plan", "ada", "inactive"], "Ada King: the plan is now inactive.\n"),
            (["author", "sign-out", " ada "], "The author is signed out everywhere, and an unused invitation is invalid.\n"),
            (["author", "set-login", "ada", "king"], "The author's sign-in name is now king.\n")):
        assert installation.run(*arguments).out == expected, arguments
    assert "/invite/" in installation.run("author", "invite", "king").out
    installation.run("key", "create", "--author", "king", "--name", "first")
    assert [key["name"] for key in installation.run("key", "list", "--author", "King", "--json").json()] == ["first"]
    assert installation.run("platform", "list", "--author", "king", "--json").json() == []
    token = json.dumps({"access_token": "a", "refresh_token": "r", "expires_in": 3600})
    for nobody in (str(uuid.uuid4()), "ada", "a b", "", "x" * 101, "\u00e4da"):
        for arguments in (["author", "rename", nobody, "X"], ["author", "set-plan", nobody, "active"], ["author", "sign-out", nobody],
                          ["author", "set-login", nobody, "x"], ["author", "invite", nobody], ["author", "show", nobody],
                          ["key", "create", "--author", nobody, "--name", "x"], ["key", "list", "--author", nobody],
                          ["platform", "list", "--author", nobody]):
            assert "no author has this id or sign-in name" in installation.run(*arguments, status=1).err, arguments
    installation.run("secrets", "init", installation.directory / "key")
    installation.configure({"secrets": {"key_file": str(installation.directory / "key")}})
    connect = ["platform", "connect", "--platform", "youtube", "--account", "UC1", "--author"]
    assert "no author has this id or sign-in name" in installation.run(*connect, "ada", stdin=token, status=1).err
    installation.run(*connect, "king", stdin=token)
    assert [entry["author_id"] for entry in installation.run("platform", "list", "--author", "king", "--json").json()] == [owner]


# --- keys of which only the text is known ---


def test_key_is_found_by_its_text_or_last_characters(installation):
    owner, other = installation.add_author("Ada"), installation.add_author("Bob")
    keys = {name: installation.create_key(who, name) for name, who in (("one", owner), ("two", other))}
    installation.run("key", "revoke", installation.run("key", "list", "--author", other, "--json").json()[0]["id"])
    found = installation.run("key", "find", keys["one"], "--json").json()
    assert [(entry["name"], entry["author_id"], entry["author_name"], entry["revoked_at"]) for entry in found] == [("one", owner, "Ada", None)]
    assert all("key" not in entry for entry in found)
    for text, stdin in ((keys["two"][-4:], ""), ("…" + keys["two"][-7:], ""), ("-", f"Authorization: Bearer {keys['two']}\r\n"), (None, keys["two"]),
                        (None, f"{keys['two'][-4:]}\n"), (None, f"{keys['two'][-4:]}\r\n")):
        out = installation.run("key", "find", *([text] if text else []), stdin=stdin).out
        heading, line = out.splitlines()
        assert re.split("  +", heading) == ["ID", "KEY", "AUTHOR", "AUTHOR NAME", "LAST USED", "STATE", "NAME"]
        assert re.split("  +", line)[3:] == ["Bob", "never", "revoked", "two"]
    assert "ends with these characters" in installation.run("key", "find", "zzzz", status=1).err
    installation.sql("DELETE FROM api_keys WHERE name = 'one'")
    assert "does not contain this key" in installation.run("key", "find", keys["one"], status=1).err
    for short in ("abc", "ab_d", ""):
        assert "at least its last 4 characters" in installation.run("key", "find", short, status=2).err


@pytest.mark.sqlite_only("deletes the database file")
def test_revoke_leaked_revokes_every_key_that_occurs_in_a_text(installation):
    owner = installation.add_author("Ada")
    keys = [installation.create_key(owner, f"k{i}") for i in range(4)]
    stranger = installation.run("key", "create", "--author", owner, "--name", "x").out.strip()
    text = f"curl -H 'Authorization: Bearer {keys[0]}' …\nKEY={keys[1]};{keys[0]}\n"
    done = installation.run("key", "revoke", "--leaked", stdin=text)
    ids = {entry["name"]: entry["id"] for entry in installation.run("key", "list", "--author", owner, "--json").json()}
    assert done.out.splitlines() == [f"Revoked key {ids['k0']} (k0) of Ada, author {owner}.", f"Revoked key {ids['k1']} (k1) of Ada, author {owner}.",
                                     f"Already revoked: key {ids['k0']} (k0) of Ada, author {owner}."]
    assert installation.run("key", "revoke", "--leaked", keys[2]).out == f"Revoked key {ids['k2']} (k2) of Ada, author {owner}.\n"
    states = {entry["name"]: entry["revoked_at"] is not None for entry in installation.run("key", "list", "--author", owner, "--json").json()}
    assert states == {"k0": True, "k1": True, "k2": True, "k3": False, "x": False}
    dump = subprocess.run([installation.binary, "key", "revoke", "--leaked", "--config", installation.config_path], capture_output=True,
                          input=f"core\0{keys[3]}\0".encode(), env=installation.environment(), timeout=60, check=True)
    assert dump.stdout.decode() == f"Revoked key {ids['k3']} (k3) of Ada, author {owner}.\n"
    for nothing in ("", "service_live_", keys[3][:-1], keys[3][-4:]):
        assert "no complete key was given" in installation.run("key", "revoke", "--leaked", stdin=nothing, status=1).err
    installation.database.unlink()
    installation.run("migrate")
    assert "1 key is not in this database" in installation.run("key", "revoke", "--leaked", stdin=stranger, status=1).err
    for count, is_complete in ((1000, True), (1001, False)):
        err = installation.run("key", "revoke", "--leaked", stdin=f"{stranger}\n" * count, status=1).err
        assert "1000 keys are not in this database" in err
        assert ("only the first 1000 keys were processed" in err) is not is_complete
    assert "KEY is missing" in installation.run("key", "revoke", status=2).err
