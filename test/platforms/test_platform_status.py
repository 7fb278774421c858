"""Platforms in `platform status`, `status`, /metrics, and the table of capabilities."""
from lib import wait
from lib.metrics import scrape
from platformworld import PLATFORMS

HOUR = 3_600_000


def by_api(world):
    output = world.instance.run("platform", "status", "--json").json()
    return output, {row["api"]: row for row in output["apis"]}


def test_status_reports_that_no_platform_is_configured(viewtally):
    viewtally.run("migrate")
    output = viewtally.run("platform", "status").out
    assert output.count("not configured") == 6 and "none of the recent runs called the platforms" in output
    assert "platforms" not in viewtally.run("status").out
    made = viewtally.run("platform", "status", "--json").json()
    assert made["last_run"] == [] and made["last_run_at"] is None and len(made["apis"]) == 6
    assert not any(row["configured"] or row["accounts_connected"] for row in made["apis"])


def test_status_counts_accounts_per_api(world, clock, standins):
    names = world.add(authors=2, videos=2, login=lambda number: "instagram" if number % 2 else "facebook")
    standins.command("tiktok", "token", account=world.accounts[names[0], "tiktok"], what="revoke")
    world.refresh(status=None)
    output, apis = by_api(world)
    assert [apis[api]["accounts_connected"] for api in apis] == [1, 1, 1, 2, 2, 2] and apis["tiktok"]["accounts_reconnect_required"] == 1
    assert all(row["configured"] and row["last_success_at"] for row in apis.values())
    assert apis["tiktok"]["account_errors"] == [{"error": "reconnect invalid_grant", "accounts": 1}] and apis["facebook"]["account_errors"] == []
    assert "1 account: reconnect invalid_grant" in world.instance.run("platform", "status").out
    quota = apis["youtube"]
    assert quota["quota"] == 10_000 and quota["quota_left"] == 10_000 - standins.count("youtube", "youtube.batch") and quota["quota_until"]
    assert apis["tiktok"]["quota"] is None
    runs = {row["platform"]: row for row in output["last_run"]}
    assert output["last_run_at"] and set(runs) == set(PLATFORMS)
    assert runs["tiktok"]["read"] == 2 and runs["tiktok"]["outcome:ok"] >= 1 and runs["tiktok"]["unread"] == 2
    text = world.instance.run("platform", "status").out
    assert "1 account connected, 1 reconnect required" in text and "4 posts read" in text
    assert "accounts: 9 connected, 1 reconnect required" in world.instance.run("status").out
    of = {row["api"]: row for row in world.instance.run("status", "--json").json()["platforms"]}
    assert of["tiktok"] == {"api": "tiktok", "accounts_connected": 1, "accounts_reconnect_required": 1, "paused": False, "backlog": False}


def test_rejected_calls_are_no_successful_calls(world, clock, standins):
    world.add(authors=4, platforms=("facebook",))
    standins.fault("facebook", "error", name="190.467")
    world.refresh(status=None)
    _, apis = by_api(world)
    assert apis["facebook"]["last_success_at"] is None
    assert "facebook            4 accounts connected; no successful call yet" in world.instance.run("platform", "status").out


def test_metrics_show_accounts_quota_and_circuit_of_platforms(world, clock, standins):
    [name] = world.add(videos=3)
    world.refresh()
    with world.instance as served:
        # On PostgreSQL, /metrics shows the states from the time of the previous scrape.
        wait.until(lambda: scrape(served).get("viewtally_platform_accounts", api="tiktok", state="connected") == 1, "the states of platforms")
        page = scrape(served)
        assert page.get("viewtally_platform_accounts", api="instagram", state="connected") == 0
        assert page.get("viewtally_platform_quota_remaining", api="youtube") == 10_000 - 1
        assert page.get("viewtally_platform_last_success_timestamp_seconds", api="facebook") == clock.wall_ms / 1000
        assert page.get("viewtally_platform_circuit_open", api="tiktok") == 0


def test_open_circuit_is_shown(world, clock, standins):
    world.add(authors=30, platforms=("tiktok",))
    standins.fault("tiktok", "error", name="internal_error")
    world.refresh(status=None)
    _, apis = by_api(world)
    assert apis["tiktok"]["circuit_open_until"] and apis["tiktok"]["last_success_at"] is None
    assert "FAILING: circuit open" in world.instance.run("platform", "status").out
    assert "tiktok is paused" in world.instance.run("status").out


def test_table_of_capabilities_has_one_row_per_api(viewtally):
    rows = viewtally.run("platform", "capabilities").out.splitlines()
    assert sum(row.startswith("|") for row in rows) == 2 + 6
    apis = viewtally.run("platform", "capabilities", "--json").json()
    assert len(apis) == 6 and all(set(api) == {"api", "title", "views", "likes", "comments", "shares", "saves"} for api in apis)
    assert [api["api"] for api in apis if not api["saves"]] and all(isinstance(api["views"], bool) for api in apis)
