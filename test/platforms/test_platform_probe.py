"""`viewtally platform probe`: every call that a refresh could make for one account, and responses as files for tests."""
import pathlib
import re
import subprocess

import pytest

from lib.lines import uid
from platformworld import MARK, PLATFORMS

FORMS = {"tiktok": 1, "instagram": 3, "youtube": 2, "facebook": 4, "pinterest": 3}


def probe(world, name, platform, *more, status=0):
    return world.instance.run("platform", "probe", str(world.credential(name, platform)["id"]), *more, status=status)


def stored(world):
    """Returns all data that a probe must not change."""
    return (world.rows("SELECT * FROM platform_credentials ORDER BY id"), world.rows("SELECT * FROM platform_posts ORDER BY 1, 2"),
            world.rows("SELECT * FROM platform_limits ORDER BY 1, 2"), world.counts(), world.rows("SELECT count(*) FROM events"))


@pytest.mark.parametrize("login", ["facebook", "instagram"])
def test_probe_sends_every_request_form_and_stores_nothing(world, standins, login):
    [name] = world.add(login=login)
    world.refresh()
    for platform in PLATFORMS:
        standins.command(platform, "grow", seed=4)
    before = stored(world)
    for platform in PLATFORMS:
        standins.forget()
        output = probe(world, name, platform).out
        for form in range(FORMS[platform]):
            assert f". form {form}, " in output, output
        id = world.ids(platform)[0]
        assert re.search(rf"change    {id}:.* views \d+ -> \d+", output), output
        assert "read as   ok" in output and "fields    " in output and "Nothing was stored." in output
        assert MARK not in output
    assert stored(world) == before


def test_probe_requests_both_kinds_of_pinterest_metrics(world, standins):
    [name] = world.add(platforms=("pinterest",))
    standins.command("pinterest", "set", mixing=False, bulk_granted=True)
    output = probe(world, name, "pinterest").out
    assert "form 0, both kinds of metrics" in output and "combined_fails" in output and "the call is repeated with one kind of metrics" in output
    assert "VIDEO_MRC_VIEW  number" in output and "TOTAL_REACTIONS  number" in output


def test_probe_reads_a_facebook_reel_by_its_video_id(world, standins):
    [name] = world.add(platforms=("facebook",), videos=2)
    video = world.ids("facebook")[0]
    output = probe(world, name, "facebook").out
    assert f"{video}/video_insights" in output and "form 0, with the account" in output


def test_author_must_act_if_the_account_shares_no_insights(world, standins):
    [name] = world.add(platforms=("facebook",))
    standins.command("facebook", "scopes", account=world.accounts[name, "facebook"], scopes=["pages_read_engagement", "pages_read_user_content"])
    assert "the author is notified that insights are not granted" in probe(world, name, "facebook", status=1).out


def test_probe_resolves_the_composite_id_of_a_facebook_reel(world, standins):
    [name] = world.add(platforms=("facebook",))
    [video] = world.ids("facebook")
    composite = f"{world.accounts[name, 'facebook']}_77"
    standins.command("facebook", "post", id=video, post_id=composite)
    world.instance.import_lines([{"type": "video", "id": uid("composite"), "author_id": uid(name),
                                  "posts": [{"platform": "facebook", "post_id": composite, "posted_at": "2026-07-09T08:00:00Z"}]}])
    assert f"{composite}: read as {video} from now on" in probe(world, name, "facebook").out
    standins.fault("facebook", "error", name="10", route="facebook.op", id=composite)
    assert f"{composite}: read as {composite} in this run only" in probe(world, name, "facebook").out, "the id may not be looked up"


def test_probe_does_not_print_the_api_key(world, standins):
    [name] = world.add(platforms=("youtube",))
    output = probe(world, name, "youtube").out
    key = world.instance.settings["youtube"].get("api_key")
    assert key and "form 1, with the API key" in output and key not in output and "key=" not in output


def test_probe_prints_what_a_refresh_would_change(world, standins):
    [name] = world.add(platforms=("tiktok",), videos=2)
    standins.command("tiktok", "post", id=world.ids("tiktok")[0], state="deleted")
    output = probe(world, name, "tiktok").out
    assert f"{world.ids('tiktok')[0]}: counted as not found once more" in output
    standins.fault("tiktok", "error", name="scope_not_authorized", route="tiktok.query")
    output = probe(world, name, "tiktok", status=1).out
    assert "the account needs to be reconnected" in output and "reconnect account scope_not_authorized" in output
    assert world.credential(name, "tiktok")["state"] == 0
    standins.clear()
    standins.fault("tiktok", "html", route="tiktok.query")
    assert "not JSON" in probe(world, name, "tiktok", status=3).out


def test_probe_stores_refreshed_tokens(world, standins):
    """The new tokens must be stored, because the platform accepts the old refresh token only once."""
    [name] = world.add(platforms=("tiktok",))
    standins.command("tiktok", "token", account=world.accounts[name, "tiktok"], what="expire")
    output = probe(world, name, "tiktok").out
    assert "except tokens that had to be refreshed" in output and "read as   ok" in output
    assert world.credential(name, "tiktok")["version"] == 2


def test_probe_without_a_post_requests_an_id_that_does_not_exist(world):
    [name] = world.add(videos=0)
    for platform in PLATFORMS:
        finished = probe(world, name, platform, status=None)
        assert "for an id that does not exist" in finished.out and finished.status in (0, 3), finished


def test_recorded_responses_are_anonymized_samples(world, standins, tmp_path):
    [name] = world.add()
    world.refresh()
    for platform in PLATFORMS:
        prefix = tmp_path / platform
        output = probe(world, name, platform, "--record", prefix).out
        files = sorted(tmp_path.glob(f"{platform}-*"))
        assert re.search(rf"Recorded {len(files)} of {len(files)} responses?", output) and files, output
        for file in files:
            assert file.stat().st_mode & 0o777 == 0o600
            text = file.read_text(encoding="utf-8")
            head, body = text.split("\n\n", 1)
            assert re.fullmatch(rf"{platform}(-facebook)? read \d \d+", head.split("\n")[0]), head
            assert "\n> " in head and body
            assert world.accounts[name, platform] not in text and MARK not in text
            assert not any(id in text for id in world.ids(platform)), text
            assert name not in text and standins.command(platform, "state") is not None
        again = probe(world, name, platform, "--record", prefix).out
        assert "File exists" in again and "Recorded 0 of" in again          # files are not overwritten
    # The unit test of our samples accepts the recorded files.
    samples = tmp_path / "test/data/platforms"
    samples.mkdir(parents=True)
    for file in tmp_path.glob("*-0*"):
        file.rename(samples / file.name)
    replayed = subprocess.run([pathlib.Path(world.instance.binary).parent / "test/test_platform_samples"], cwd=tmp_path, capture_output=True, text=True)
    assert replayed.returncode == 0, replayed.stdout


def test_probe_rejects_invalid_numbers(world):
    world.add(platforms=("tiktok",))
    run = world.instance.run
    assert "number of an account" in run("platform", "probe", "x", status=2).err
    assert "no account has this number" in run("platform", "probe", "99", status=1).err
    assert run("platform", "probe", status=2).err
