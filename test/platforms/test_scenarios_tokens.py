"""Tokens: expiry, rotation, rejection and lost responses; no account is lost through our own fault."""
import json
import signal

import pytest

from lib.lines import uid
from platformworld import MARK, PLATFORMS, some

HOUR = 3_600_000
CONNECTED, RECONNECT_REQUIRED = 0, 1
READ = {"tiktok": "tiktok.query", "youtube": "youtube.batch", "pinterest": "pinterest.pin"}


def use_author_tokens(world):
    """Removes YouTube's API key, so that calls use the tokens of the authors."""
    world.configure(youtube={"api_key": None})


@pytest.mark.parametrize("platform", READ)
def test_expired_token_is_refreshed_and_the_call_repeated(world, clock, standins, platform):
    use_author_tokens(world)
    world.configure(pinterest={"bulk": "off"})
    [name] = world.add(platforms=(platform,))
    standins.command(platform, "token", account=world.accounts[name, platform], what="expire")
    world.refresh()
    world.expect_truth((platform,), at=clock.wall_ms)
    assert standins.calls(platform) == {READ[platform]: 2, f"{platform}.token.refresh_token": 1}
    assert world.credential(name, platform)["state"] == CONNECTED


def test_expiring_token_is_refreshed_before_use(world, clock, standins):
    [name] = world.add(platforms=("tiktok",))
    clock.advance(7_200_000 - 60_000)
    world.refresh()
    assert standins.calls("tiktok") == {"tiktok.query": 1, "tiktok.token.refresh_token": 1}
    row = world.credential(name, "tiktok")
    assert row["access_expires_at"] == clock.wall_ms + 7_200_000 and row["refresh_expires_at"] == clock.wall_ms + 15_552_000_000


def test_many_calls_share_one_token_refresh(world, clock, standins):
    [name] = world.add(platforms=("tiktok",), videos=61)
    before = standins.command("tiktok", "state")["refresh"][world.accounts[name, "tiktok"]]
    standins.command("tiktok", "token", account=world.accounts[name, "tiktok"], what="expire")
    world.refresh()
    world.expect_truth(("tiktok",), at=clock.wall_ms)
    assert standins.calls("tiktok") == {"tiktok.query": 4 + 1, "tiktok.token.refresh_token": 1}
    assert standins.command("tiktok", "state")["refresh"][world.accounts[name, "tiktok"]] != before


def test_new_tokens_are_committed_before_use(world, clock, standins):
    """The process is killed during the first call with the new token. The next run uses that token without a refresh."""
    [name] = world.add(platforms=("tiktok",))
    account = world.accounts[name, "tiktok"]
    standins.command("tiktok", "token", account=account, what="expire")
    standins.fault("tiktok", "silent", route="tiktok.query", skip=1)    # the call after the refresh
    process = world.instance.background("refresh")
    standins.wait_for("tiktok", "tiktok.query", 2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert standins.count("tiktok", "tiktok.token.refresh_token") == 1
    standins.clear()
    standins.forget()
    clock.advance(HOUR)                                                 # the lease of the killed process expires
    world.refresh(status=None)
    assert standins.calls("tiktok") == {"tiktok.query": 1}
    world.expect_truth(("tiktok",), at=clock.wall_ms)
    assert world.credential(name, "tiktok")["state"] == CONNECTED


def test_lost_response_to_a_token_refresh_requires_reconnecting(world, clock, standins):
    """The platform rotates the token but its response is lost. After one retry the author must reconnect and sees the reason."""
    world.configure(platforms={"timeout_ms": 4000})
    [name, other] = world.add(authors=2, platforms=("tiktok",))
    for one in (name, other):
        standins.command("tiktok", "token", account=world.accounts[one, "tiktok"], what="expire")
    standins.fault("tiktok", "silent", route="tiktok.token.*", account=world.accounts[name, "tiktok"], after=True, times=1)
    world.refresh(status=None)
    for _ in range(2):
        if world.credential(name, "tiktok")["state"] == CONNECTED:
            clock.advance(HOUR)
            world.refresh(status=None)
    row = world.credential(name, "tiktok")
    assert row["state"] == RECONNECT_REQUIRED and "lost" in row["last_error"], row
    assert standins.command("tiktok", "calls")["tiktok.token.refresh_token"] >= 3
    assert world.credential(other, "tiktok")["state"] == CONNECTED
    # Reconnecting repairs the account.
    world.connect(name, "tiktok")
    clock.advance(HOUR)
    world.refresh(status=None)
    world.expect_truth(("tiktok",), at=clock.wall_ms)


def test_lost_token_refresh_request_is_repeated(world, clock, standins):
    """The request is lost, not the response, so the old refresh token still works."""
    world.configure(platforms={"timeout_ms": 4000})
    [name] = world.add(platforms=("tiktok",))
    standins.command("tiktok", "token", account=world.accounts[name, "tiktok"], what="expire")
    standins.fault("tiktok", "silent", route="tiktok.token.*", times=1)
    world.refresh(status=None)
    clock.advance(HOUR)
    world.refresh(status=None)
    assert world.credential(name, "tiktok")["state"] == CONNECTED
    world.expect_truth(("tiktok",), at=clock.wall_ms)


REJECTIONS = [("tiktok", "invalid_grant", RECONNECT_REQUIRED), ("tiktok", "invalid_client", CONNECTED), ("tiktok", "server_error", CONNECTED),
            ("youtube", "invalid_grant", RECONNECT_REQUIRED), ("youtube", "invalid_client", CONNECTED),
            ("pinterest", "invalid_grant", RECONNECT_REQUIRED), ("pinterest", "invalid_client", CONNECTED), ("pinterest", "server_error", CONNECTED)]


@pytest.mark.parametrize("platform, error, state", some(REJECTIONS, 3), ids=[f"{row[0]}-{row[1]}" for row in some(REJECTIONS, 3)])
def test_rejected_token_refresh_is_attributed_to_account_or_app(world, clock, standins, platform, error, state):
    use_author_tokens(world)
    world.configure(platforms={"retry_percent": 0})
    names = world.add(authors=3, platforms=(platform,))
    standins.command(platform, "token", account=world.accounts[names[0], platform], what="expire")
    account = {"account": world.accounts[names[0], platform]} if state == RECONNECT_REQUIRED else {}
    standins.fault(platform, "error", route=f"{platform}.token.*", name=error, **account)
    finished = world.refresh(status=None)
    row = world.credential(names[0], platform)
    assert row["state"] == state, (row, finished)
    assert [world.credential(name, platform)["state"] for name in names[1:]] == [CONNECTED, CONNECTED]
    if state == RECONNECT_REQUIRED:
        assert row["last_error"].startswith("reconnect ")
    refreshes = standins.count(platform, f"{platform}.token.*")
    if state == RECONNECT_REQUIRED:                                                # not used again until the author reconnects
        standins.forget()
        clock.advance(HOUR // 2)
        world.refresh(status=None)
        accounts = {record["account"] for record in standins.log(platform) if record["route"] == READ[platform]}
        assert world.accounts[names[0], platform] not in accounts and len(accounts) == 2
    else:
        assert 1 <= refreshes <= 3
        standins.clear()
        clock.advance(2 * HOUR)
        world.refresh(status=None)
        assert world.post(platform, world.ids(platform, names[0])[0])["at"] == clock.wall_ms


def test_rejected_app_is_reported_with_its_section(world, clock, standins):
    """The app for Instagram accounts that belong to a Facebook page is in [facebook]."""
    world.add(platforms=("instagram",), login=lambda number: "facebook")
    standins.fault("instagram", "error", name="101")
    finished = world.refresh(status=None)
    assert "platforms: instagram-facebook rejects our app (101)" in finished.err and "and [facebook] in the configuration" in finished.err, finished


def test_expired_meta_token_requires_reconnecting(world, clock, standins):
    names = world.add(authors=3, platforms=("facebook", "instagram"))
    for platform in ("facebook", "instagram"):
        standins.command(platform, "token", account=world.accounts[names[0], platform], what="revoke")
    world.refresh(status=None)
    for platform in ("facebook", "instagram"):
        row = world.credential(names[0], platform)
        assert row["state"] == RECONNECT_REQUIRED and "190" in row["last_error"]
        assert standins.count(platform, f"{platform}.batch") == 3, "one call must suffice to detect it"
        assert world.post(platform, world.ids(platform, names[1])[0])["at"] == clock.wall_ms


def test_instagram_token_is_refreshed_in_its_last_thirty_days_even_without_a_live_post(world, clock, standins):
    [name] = world.add(platforms=("instagram",), login="instagram")
    world.refresh()
    assert standins.count("instagram", "instagram.token.*") == 0
    first = world.credential(name, "instagram")["access_expires_at"]
    clock.advance(31 * 24 * HOUR)                                       # less than thirty days until it expires
    world.add(platforms=("tiktok",), posted_at="2026-08-10T08:00:00Z")
    world.refresh(status=None)
    assert standins.count("instagram", "instagram.token.ig_refresh_token") == 1, "the token must be refreshed even if the account has no live post"
    assert world.credential(name, "instagram")["access_expires_at"] > first


def test_token_refresh_rejected_as_invalid_affects_only_its_account(world, clock, standins):
    """One account must not stop all others. Its token is still valid, so its posts are read, too."""
    world.configure(instagram={"in_flight": 1})
    names = world.add(authors=3, platforms=("instagram",), login="instagram", connect=False)
    for name in names:
        world.connect(name, "instagram", expires_in=20 * 24 * 3600)
    standins.fault("instagram", "error", route="instagram.token.*", name="100", account=world.accounts[names[0], "instagram"])
    clock.advance(25 * HOUR)                                            # tokens of more than a day can be refreshed
    finished = world.refresh(status=None)
    world.expect_truth(("instagram",), at=clock.wall_ms)
    assert [world.credential(name, "instagram")["state"] for name in names] == 3 * [CONNECTED]
    assert "could not refresh the tokens" in finished.err and "rejects our app" not in finished.err


def test_accounts_without_an_app_do_not_stop_the_api_key(world, clock, standins):
    """The operator has removed the OAuth client of YouTube, and the API key remains. The tokens of connected channels cannot be refreshed."""
    [name] = world.add(videos=3, platforms=("youtube",))
    world.refresh()
    world.configure(youtube={"client_id": None, "client_secret": None})
    standins.command("youtube", "post", id=world.ids("youtube")[0], state="private")        # read with the owner's token until now
    clock.advance(8 * 24 * HOUR)                                        # the upkeep would refresh the token
    world.refresh(status=None)
    assert [world.post("youtube", id)["at"] == clock.wall_ms for id in world.ids("youtube")] == [False, True, True]
    assert world.credential(name, "youtube")["state"] == CONNECTED


def test_public_videos_are_read_while_their_channel_must_be_reconnected(world, clock, standins):
    """Both videos were private and read with the owner's token. Now one of them is public, so the API key reads it."""
    world.add(videos=2, platforms=("youtube",))
    public, private = world.ids("youtube")
    for id in (public, private):
        standins.command("youtube", "post", id=id, state="private")
    world.refresh()
    world.expect_truth(("youtube",), at=clock.wall_ms)
    first_read_at = clock.wall_ms
    standins.command("youtube", "post", id=public, state="public")
    world.instance.sql("UPDATE platform_credentials SET state = ?", RECONNECT_REQUIRED)
    clock.advance(HOUR)
    world.refresh(status=None)
    assert [world.post("youtube", id)["at"] for id in (public, private)] == [clock.wall_ms, first_read_at]
    assert world.rows("SELECT misses FROM platform_posts WHERE post_id = ?", private) == [(0,)], "the API key cannot read a private video"


def test_private_videos_of_a_channel_to_reconnect_are_not_requested_from_another_channel(world, clock, standins):
    """The other channel of the author cannot read them, and this is no sign that it is the wrong account."""
    first, second = world.add(authors=2, videos=2, platforms=("youtube",), connect=False)
    for account in (first, second):
        tokens = standins.command("youtube", "connect", account=world.accounts[account, "youtube"])
        world.instance.run("platform", "connect", "--author", uid(first), "--platform", "youtube", "--account", world.accounts[account, "youtube"], stdin=json.dumps(tokens))
    private = world.ids("youtube", first)
    for id in private:
        standins.command("youtube", "post", id=id, state="private")
    world.refresh()
    world.instance.sql("UPDATE platform_credentials SET state = ? WHERE account_id = ?", RECONNECT_REQUIRED, world.accounts[first, "youtube"])
    clock.advance(HOUR)
    standins.forget()
    world.refresh(status=None)
    requests = [record["ids"] for record in standins.log("youtube") if set(private) & set(record.get("ids") or [])]
    assert len(requests) == 1, "only the API key may request them"
    assert world.credential(second, "youtube")["last_error"] is None


def test_refresh_token_stays_if_the_response_has_none(world, clock, standins):
    """If the response has no refresh token, the old one stays valid."""
    use_author_tokens(world)
    [name] = world.add(platforms=("youtube",))
    sealed = world.credential(name, "youtube")["refresh_sealed"]
    for _ in range(3):
        standins.command("youtube", "token", account=world.accounts[name, "youtube"], what="expire")
        clock.advance(HOUR)
        world.refresh()
        world.expect_truth(("youtube",), at=clock.wall_ms)
    assert sealed and world.credential(name, "youtube")["refresh_sealed"] is not None
    assert standins.count("youtube", "youtube.token.refresh_token") == 3


def test_app_is_suspected_if_most_accounts_are_rejected(world, clock, standins):
    names = world.add(authors=8, platforms=("facebook",))
    standins.fault("facebook", "error", name="190.467")
    finished = world.refresh(status=None)
    states = [world.credential(name, "facebook")["state"] for name in names]
    assert states.count(RECONNECT_REQUIRED) <= 4, (states, finished)
    standins.clear()
    clock.advance(2 * HOUR)
    world.refresh(status=None)
    for name, state in zip(names, [world.credential(name, "facebook")["state"] for name in names]):
        if state == CONNECTED:
            assert world.post("facebook", world.ids("facebook", name)[0])["at"] == clock.wall_ms


def test_account_rejected_in_a_call_and_in_the_upkeep_counts_once(world, clock, standins):
    """A call and the upkeep of idle tokens both need a refresh of the same accounts. Two of five rejected accounts are no majority."""
    names = world.add(authors=5, platforms=("tiktok",))
    clock.advance(8 * 24 * HOUR)                    # the tokens are so old that the upkeep refreshes them, too
    for name in names[:2]:
        standins.command("tiktok", "token", account=world.accounts[name, "tiktok"], what="revoke")
    world.refresh(status=None)
    assert [world.credential(name, "tiktok")["state"] for name in names] == 2 * [RECONNECT_REQUIRED] + 3 * [CONNECTED]


def test_accounts_that_only_the_upkeep_refreshes_count_toward_the_majority(world, clock, standins):
    """No account has a post to read. Three of eight refresh tokens are rejected, which is no majority."""
    names = world.add(authors=8, platforms=("tiktok",))
    for name in names[:3]:
        standins.command("tiktok", "token", account=world.accounts[name, "tiktok"], what="revoke")
    clock.advance(31 * 24 * HOUR)                   # the posts are too old to be read
    world.add(platforms=("pinterest",), posted_at="2026-08-10T08:00:00Z")
    world.refresh(status=None)
    assert standins.count("tiktok", "tiktok.query") == 0
    assert [world.credential(name, "tiktok")["state"] for name in names] == 3 * [RECONNECT_REQUIRED] + 5 * [CONNECTED]


def test_missing_scope_is_recorded_for_the_account(world, clock, standins):
    names = world.add(authors=3, platforms=("tiktok", "facebook"))
    for platform in ("tiktok", "facebook"):
        standins.command(platform, "scopes", account=world.accounts[names[0], platform], scopes=["user.info.basic"])
    world.refresh(status=None)
    for platform in ("tiktok", "facebook"):
        assert world.credential(names[0], platform)["state"] == RECONNECT_REQUIRED
        assert standins.count(platform, f"{platform}.token.*") == 0, "refreshing the token would not add the scope"
        assert world.credential(names[1], platform)["state"] == CONNECTED


def test_swapped_sealed_tokens_do_not_decrypt(world, clock, standins):
    names = world.add(authors=3, platforms=("tiktok",))
    (a, *of_a), (b, *of_b) = world.rows("SELECT id, access_sealed, refresh_sealed FROM platform_credentials ORDER BY id DESC LIMIT 2")
    for id, sealed in ((a, of_b), (b, of_a)):
        world.rows("UPDATE platform_credentials SET access_sealed = ?, refresh_sealed = ? WHERE id = ?", *sealed, id)
    world.refresh(status=None)
    stored = world.counts()["tiktok"]
    assert [stored[world.ids("tiktok", name)[0]]["at"] for name in names] == [clock.wall_ms, None, None]
    assert {record["account"] for record in standins.log("tiktok")} == {world.accounts[names[0], "tiktok"]}, "no token may be used for another author"


def test_missing_seal_key_is_reported(world, standins):
    world.add(platforms=("tiktok",))
    key_file = world.instance.directory / "secrets.key"
    key_file.rename(key_file.with_suffix(".away"))
    world.instance.run("secrets", "init")
    finished = world.instance.run("refresh", status=None)
    assert finished.status not in (0,) and "key" in finished.err
    assert standins.calls("tiktok") == {}
    process = world.instance.background("serve")
    assert process.wait(60) != 0, "the server must not start"
    key_file.with_suffix(".away").unlink()


def test_no_token_is_logged_or_printed(world, clock, standins):
    """After runs with many errors, commands, debug logs and the database contain no token."""
    world.configure(log={"level": "debug"}, platforms={"retry_percent": 20, "timeout_ms": 1000})
    names = world.add(authors=2, login=lambda number: "instagram" if number % 2 else "facebook")
    for platform in PLATFORMS:
        standins.command(platform, "token", account=world.accounts[names[0], platform], what="revoke")
    for of in standins.names():
        for skip in (1, 2):
            standins.fault(of, "echo", times=1, skip=skip)
    for words in (["refresh"], ["platform", "list"], ["platform", "status"], ["status"], ["status", "--json"],
                  ["platform", "test", "--author", uid(names[1])]):
        finished = world.instance.run(*words, status=None)
        assert MARK not in finished.out + finished.err, words
    clock.advance(HOUR)
    with world.instance as server:
        server.client().get("/openapi.json")
        assert MARK not in server.admin().get("/metrics").body.decode()
    assert MARK not in world.instance.log
    world.expect_no_secret()
