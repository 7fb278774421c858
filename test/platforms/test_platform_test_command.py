"""`viewtally platform test`: sends one request to a platform and explains the response."""
import pytest

from lib.lines import uid
from platformworld import PLATFORMS

CONNECTED, RECONNECT_REQUIRED = 0, 1


def account_number(world, name, platform):
    return str(world.credential(name, platform)["id"])


def run_test(world, name, platform, status):
    return world.instance.run("platform", "test", account_number(world, name, platform), status=status)


@pytest.mark.parametrize("login", ["facebook", "instagram"])
def test_command_shows_counts_of_every_platform(world, login):
    [name] = world.add(login=login)
    for platform in PLATFORMS:
        output = run_test(world, name, platform, 0).out
        assert "accepts the tokens" in output and "views 1000" in output and world.ids(platform)[0] in output, output


def test_author_must_act_if_the_account_shares_no_insights(world, standins):
    [name] = world.add(platforms=("facebook",))
    standins.command("facebook", "scopes", account=world.accounts[name, "facebook"], scopes=["pages_read_engagement", "pages_read_user_content"])
    output = run_test(world, name, "facebook", 1).out
    assert "the author should reconnect it and grant the permission for insights" in output and "views not measured" in output


def test_command_tests_only_the_token_if_there_is_no_post(world):
    [name] = world.add(videos=0)
    for platform in PLATFORMS:
        assert "has no post on this platform that can be read now" in run_test(world, name, platform, 0).out


def test_post_that_no_run_has_resolved_is_passed_over(world):
    """The newest post has only the id of its upload, which `tiktok.query` does not accept."""
    [name] = world.add(platforms=("tiktok",))
    world.instance.import_lines([{"type": "video", "id": uid("early"), "author_id": uid(name), "title": "early",
                                  "posts": [{"platform": "tiktok", "post_id": "v_pub_url~v2-1.7077642457847990000", "posted_at": "2026-07-10T11:00:00Z"}]}])
    output = run_test(world, name, "tiktok", 0).out
    assert f"Post {world.ids('tiktok')[0]}: views 1000" in output, output


def test_expired_token_is_refreshed_first(world, standins):
    [name] = world.add(platforms=("tiktok",))
    standins.command("tiktok", "token", account=world.accounts[name, "tiktok"], what="expire")
    assert "which were refreshed" in run_test(world, name, "tiktok", 0).out
    assert standins.calls("tiktok") == {"tiktok.query": 2, "tiktok.token.refresh_token": 1}
    assert world.credential(name, "tiktok")["version"] == 2


def test_missing_app_is_reported_if_the_token_must_be_refreshed(world, clock):
    [name] = world.add(platforms=("tiktok",))
    clock.advance(7_200_000)
    world.configure(tiktok={"client_id": "", "client_secret": ""})
    error = run_test(world, name, "tiktok", 2).err
    assert "no app is configured: set client_id in [tiktok]" in error and "rejected" not in error


def test_error_names_account_or_app_as_cause(world, standins):
    [name] = world.add(platforms=("tiktok",))
    assert "number of an account" in world.instance.run("platform", "test", "x", status=2).err
    assert "no account" in world.instance.run("platform", "test", "99", status=1).err
    standins.command("tiktok", "token", account=world.accounts[name, "tiktok"], what="revoke")
    output = run_test(world, name, "tiktok", 1).err
    assert "reconnect required" in output and "invalid_grant" in output
    # The command does not change the state: only a run can tell a rejected account from a rejected app.
    assert world.credential(name, "tiktok")["state"] == CONNECTED
    world.configure(tiktok={"client_secret": "wrong"})
    assert "rejected your app" in run_test(world, name, "tiktok", 2).err


def test_unreachable_platform_is_reported(world, standins):
    [name] = world.add(platforms=("tiktok", "youtube"))
    standins.fault("tiktok", "error", name="internal_error")
    assert "did not return a result" in run_test(world, name, "tiktok", 3).err
    world.configure(youtube={"api_origin": "http://127.0.0.1:1"})
    assert "could not be reached" in run_test(world, name, "youtube", 3).err


def test_recovered_account_is_connected_again(world, standins):
    [name] = world.add(platforms=("tiktok",))
    standins.command("tiktok", "token", account=world.accounts[name, "tiktok"], what="revoke")
    world.refresh(status=None)
    assert world.credential(name, "tiktok")["state"] == RECONNECT_REQUIRED
    assert "reconnect required" in world.instance.run("platform", "list").out
    run_test(world, name, "tiktok", 1)
    world.connect(name, "tiktok")
    assert world.credential(name, "tiktok")["state"] == CONNECTED
    assert run_test(world, name, "tiktok", 0).out.count("\n") == 1
    row = world.credential(name, "tiktok")
    assert row["state"] == CONNECTED and row["last_ok_at"] and row["failures"] == 0
