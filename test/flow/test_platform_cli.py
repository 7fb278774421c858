"""`viewtally platform connect`, `list` and `remove`. `platform test` and `platform status` are tested in test/platforms."""
import json
import os
import subprocess

import pytest

from lib import secrets

NOBODY = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def keyed(viewtally):
    secrets.with_keys(viewtally)
    return viewtally


def test_connected_account_is_listed(keyed):
    author, other = keyed.add_author("Ann"), keyed.add_author("Bob")
    number = secrets.connect(keyed, author, options=["--name", "ann"])
    done = secrets.connect(keyed, other, "instagram-facebook", "178", grant={"access_token": "EAA.SECRET"}, options=["--json"])
    assert done.json() == {"id": number + 1}
    listed = keyed.run("platform", "list", "--json")
    first, second = listed.json()
    assert first == {"id": number, "author_id": author, "platform": "tiktok", "account_id": "open-1", "name": "ann", "state": "connected",
                     "scopes": "video.list", "obtained_at": first["obtained_at"], "access_expires_at": first["access_expires_at"],
                     "refresh_expires_at": None, "can_refresh": True, "failures": 0, "last_error": None, "last_error_at": None,
                     "last_ok_at": None, "missing_permissions": [], "is_personal": False}
    assert second["platform"] == "instagram-facebook" and second["access_expires_at"] is None and not second["can_refresh"]
    assert [a["id"] for a in keyed.run("platform", "list", "--author", other, "--json").json()] == [number + 1]
    plain = keyed.run("platform", "list")
    assert plain.out.count("\n") == 3 and "open-1" in plain.out and author in plain.out
    assert "SECRET" not in listed.out + plain.out + plain.err
    assert "no author" in keyed.run("platform", "list", "--author", NOBODY, status=1).err


@pytest.mark.parametrize("named", [True, False], ids=["of_author", "of_all_authors"])
def test_list_shows_all_accounts_if_there_are_many(keyed, named):
    author = keyed.add_author()
    first = secrets.connect(keyed, author)
    secrets.rows(keyed, "WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 450) INSERT INTO platform_credentials "
                 "(author_id, api, account_id, access_sealed, obtained_at) SELECT author_id, api, CAST(i AS text), access_sealed, obtained_at "
                 "FROM platform_credentials, n WHERE id = ?", first)
    listed = keyed.run("platform", "list", *(["--author", author] if named else []), "--json").json()
    assert len({account["account_id"] for account in listed}) == len(listed) == 450
    assert {account["author_id"] for account in listed} == {author}


def test_connecting_an_account_again_replaces_its_tokens(keyed):
    author, other = keyed.add_author(), keyed.add_author()
    number = secrets.connect(keyed, author)
    before = secrets.rows(keyed, "SELECT access_sealed, version FROM platform_credentials")
    assert secrets.connect(keyed, author) == number
    after, = secrets.rows(keyed, "SELECT access_sealed, version FROM platform_credentials")
    assert after[1] == 2 and after[0] != before[0][0]
    assert "another author" in secrets.connect(keyed, other, status=1).err
    assert secrets.connect(keyed, other, "pinterest") != number


def test_token_response_of_a_platform_is_accepted_unchanged(keyed):
    author = keyed.add_author()
    grant = {"response_type": "authorization_code", "access_token": "pina_SECRET", "token_type": "bearer", "expires_in": 2592000, "scope": "pins:read",
             "refresh_token": "pinr.SECRET", "refresh_token_expires_in": 5184000, "refresh_token_expires_at": 1768000000}
    secrets.connect(keyed, author, "pinterest", "5497", grant)
    secrets.connect(keyed, author, "instagram", "178", {"access_token": "EAA"}, options=["--login", "facebook"])
    for options in (["--login", "google"], ["--login", "facebook"]):
        platform = "instagram" if "google" in options else "youtube"
        assert "--login" in secrets.connect(keyed, author, platform, "1", status=2, options=options).err
    first, second = keyed.run("platform", "list", "--json").json()
    assert first["refresh_expires_at"] > first["access_expires_at"] > first["obtained_at"]
    assert second["platform"] == "instagram-facebook"


def test_remove_deletes_account_and_tokens(keyed):
    number = secrets.connect(keyed, keyed.add_author())
    assert "Removed account" in keyed.run("platform", "remove", str(number)).out
    assert secrets.rows(keyed, "SELECT * FROM platform_credentials") == []
    assert "no account" in keyed.run("platform", "remove", str(number), status=1).err
    for word in ("0", "-1", "x", "", "1.5", "99999999999999999999"):
        assert keyed.run("platform", "remove", "--", word, status=2).err


def test_connect_rejects_invalid_input(keyed):
    author = keyed.add_author()
    for stdin in ("", "x", "[]", "null", "{}", '{"access_token": ""}', '{"access_token": 5}', '{"access_token": "a", "expires_in": -1}',
                  '{"access_token": "a", "expires_in": "soon"}', '{"access_token": "a", "refresh_token": 1}',
                  '{"access_token": "a", "access_token": "b"}', '{"access_token": "a\\nb"}', '{"access_token": "a"} x',
                  json.dumps({"access_token": "S" * 5000}), json.dumps({"access_token": "a", "scope": "s" * 2000}), "[" * 10000, b"\xff\xfe", b"x" * 100000):
        done = keyed.run("platform", "connect", "--author", author, "--platform", "tiktok", "--account", "a", stdin=stdin, status=2)
        assert done.err.startswith("viewtally platform connect: ") and "SECRET" not in done.err and "SSS" not in done.err, stdin
    for options in (["--author", "x"], [], ["--author", author, "--platform", "myspace"], ["--author", author, "--platform", "tiktok"],
                    ["--author", author, "--account", "a"], ["--author", author, "--platform", "tiktok", "--account", "a\x07"],
                    ["--author", author, "--platform", "tiktok", "--account", "a" * 300], ["--author", author, "--platform", "tiktok", "--account", ""],
                    ["--author", author, "--platform", "tiktok", "--account", "a", "--token", "SECRET"]):
        assert keyed.run("platform", "connect", *options, stdin=json.dumps(secrets.GRANT), status=2).err, options
    assert "no author" in secrets.connect(keyed, NOBODY, status=1).err
    assert secrets.rows(keyed, "SELECT * FROM platform_credentials") == []


def test_unreadable_standard_input_is_a_failure_of_the_system(keyed):
    author = keyed.add_author()
    for words in (["platform", "connect", "--author", author, "--platform", "tiktok", "--account", "a"], ["key", "find"], ["key", "revoke", "--leaked"]):
        directory = os.open(keyed.directory, os.O_RDONLY)       # cannot be read as a file
        done = subprocess.run([keyed.binary, *words, "--config", keyed.config_path], stdin=directory, env=keyed.environment(),
                              capture_output=True, check=False, text=True, timeout=60)
        os.close(directory)
        assert done.returncode == 3 and "cannot read standard input: Is a directory" in done.stderr, done


def test_connect_without_a_key_file_stores_nothing(viewtally):
    assert "secrets init" in secrets.connect(viewtally, viewtally.add_author(), status=2).err
    viewtally.configure({"secrets": {"key_file": "/nowhere/key"}})
    assert "does not exist" in secrets.connect(viewtally, viewtally.add_author(), status=2).err
