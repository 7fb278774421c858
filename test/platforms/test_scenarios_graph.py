"""Meta's Graph API: batches that partly fail, removed metrics, and counts in several forms. Also the bulk requests of Pinterest."""
import json

import pytest

from lib.clock import to_ms

HOUR = 3_600_000
BOTH = ("instagram", "facebook")


def test_failed_operations_do_not_affect_the_batch(world, clock, standins):
    world.configure(platforms={"retry_percent": 0})
    world.add(videos=6, platforms=BOTH)
    for platform in BOTH:
        ids = world.ids(platform)
        for id, fault in zip(ids, [{"kind": "null"}, {"kind": "error", "name": "100.33"}, {"kind": "error", "name": "2"}, {"kind": "raw", "body": "oops", "status": 200},
                                   {"kind": "error", "name": "10.viewers"}]):
            standins.command(platform, "fault", route=f"{platform}.op", id=id, **fault)
    world.refresh(status=None)
    for platform in BOTH:
        ids = world.ids(platform)
        assert [world.post(platform, id)["at"] for id in ids] == [None] * 5 + [clock.wall_ms]
    standins.clear()
    clock.advance(HOUR)
    world.refresh(status=None)
    world.expect_truth(BOTH, at=clock.wall_ms)


def test_timed_out_operation_is_retried(world, clock, standins):
    world.add(videos=3, platforms=("instagram",))
    standins.fault("instagram", "null", route="instagram.op", id=world.ids("instagram")[1], times=1)
    world.refresh()
    world.expect_truth(("instagram",), at=clock.wall_ms)
    batches = [record["ids"] for record in standins.log("instagram")]
    assert len(batches) == 2 and batches[1] == [world.ids("instagram")[1]], "only the failed post must be requested again"


@pytest.mark.parametrize("all_fail, error", [(True, "retry 2"), (False, "retry posts")])
def test_temporary_failure_of_a_post_is_recorded_for_the_account(world, clock, standins, all_fail, error):
    """With `all_fail`, both operations of the post fail, so that the call is not a success. Otherwise, only the operation for
    its insights fails, and the success is recorded as well."""
    world.configure(platforms={"retry_percent": 0})
    [name] = world.add(platforms=("facebook",))
    standins.fault("facebook", "error", name="2", route="facebook.op", **({} if all_fail else {"skip": 1}))
    world.refresh(status=None)
    credential = world.credential(name, "facebook")
    assert (credential["state"], credential["failures"], credential["last_error"]) == (0, 1, error)
    assert (credential["last_ok_at"] is None) == all_fail
    assert world.rows("SELECT count(*) FROM platform_limits WHERE name = 'last_success'") == [(0 if all_fail else 1,)]


@pytest.mark.parametrize("error, calls, state", [("190.460", 1, 1), ("2", 1, 0)])
def test_failed_batch_is_handled_according_to_its_error(world, clock, standins, error, calls, state):
    world.configure(platforms={"retry_percent": 0})
    names = world.add(authors=3, videos=60, platforms=("instagram",))
    account = world.accounts[names[0], "instagram"]
    standins.fault("instagram", "error", name=error, account=account)
    world.refresh(status=None)
    calls_of_account = [record for record in standins.log("instagram") if record["account"] == account]
    if state:
        assert len(calls_of_account) == calls, "an invalid token must end the calls of the account"
    assert world.credential(names[0], "instagram")["state"] == state
    assert world.post("instagram", world.ids("instagram", names[1])[0])["at"] == clock.wall_ms


BAD_BATCHES = {"too few": "[]", "not a list": '{"data":[]}', "not JSON": "<html>", "a number": "[1]", "a body that is not a string": '[{"code":200,"body":{"data":[]}}]',
               "a body that is not JSON": '[{"code":200,"body":"{"}]', "too many": json.dumps([{"code": 200, "body": '{"data":[]}'}] * 9)}


def test_malformed_batch_response_stores_nothing_until_the_next_run(world, clock, standins):
    world.configure(platforms={"retry_percent": 0})
    names = world.add(authors=len(BAD_BATCHES), platforms=("facebook",))
    for name, body in zip(names, BAD_BATCHES.values()):
        standins.fault("facebook", "raw", route="facebook.batch", account=world.accounts[name, "facebook"], status=200, body=body)
    world.refresh(status=None)
    assert all(post["at"] is None for post in world.counts()["facebook"].values())
    assert all(world.credential(name, "facebook")["state"] == 0 for name in names)
    standins.clear()
    clock.advance(2 * HOUR)
    world.refresh(status=None)
    world.expect_truth(("facebook",), at=clock.wall_ms)


@pytest.mark.parametrize("login", ["instagram", "facebook"])
def test_removed_metric_is_omitted(world, clock, standins, login):
    world.add(videos=2, platforms=("instagram",), login=login)
    standins.command("meta", "set", dead_metrics=["saved"])
    world.refresh()
    for id in world.ids("instagram"):
        found, true = world.post("instagram", id), standins.command("instagram", "truth")[id]
        assert (found["views"], found["likes"], found["comments"]) == (true["views"], true["likes"], true["comments"])
        assert found["at"] == clock.wall_ms and found["saves"] is None
    extra = standins.count("instagram", "instagram.*")
    # The form is remembered: the next run needs no extra call.
    standins.forget()
    clock.advance(HOUR)
    world.refresh()
    plain = 1 if login == "facebook" else 2
    assert standins.count("instagram", "instagram.*") == plain < extra
    # After a day the metric is requested again.
    standins.command("meta", "set", dead_metrics=[])
    clock.advance(25 * HOUR)
    world.refresh()
    world.expect_truth(("instagram",), at=clock.wall_ms)


def test_removed_metric_of_facebook_is_omitted(world, clock, standins):
    world.add(videos=2, platforms=("facebook",))
    standins.command("meta", "set", dead_metrics=["post_video_social_actions"])
    world.refresh()
    for id in world.ids("facebook"):
        found = world.post("facebook", id)
        assert (found["views"] >= 1000, found["at"]) == (True, clock.wall_ms)
    standins.forget()
    clock.advance(HOUR)
    world.refresh()
    assert standins.count("facebook", "facebook.*") == 1


def test_counts_missing_from_a_response_are_unknown_and_not_zero(world, clock, standins):
    world.add(videos=3, platforms=BOTH)
    for platform in BOTH:
        standins.command(platform, "post", id=world.ids(platform)[0], state="processing")
    standins.fault("instagram", "raw", route="instagram.op", id=world.ids("instagram")[1], status=200, body='{"paging":{}}')
    world.refresh(status=None)
    assert world.post("instagram", world.ids("instagram")[0])["views"] is None
    assert world.post("instagram", world.ids("instagram")[1])["views"] is None, "the response has no `data`, so the count is unknown"
    assert world.post("instagram", world.ids("instagram")[2])["at"] == clock.wall_ms
    for platform in BOTH:
        standins.command(platform, "post", id=world.ids(platform)[0], state="public")
    standins.clear()
    clock.advance(HOUR)
    world.refresh(status=None)
    world.expect_truth(BOTH, at=clock.wall_ms)


@pytest.mark.parametrize("form, shares", [("upper", 4), ("lower", 4), ("number", None)])
def test_shares_are_read_in_either_case_but_not_from_a_single_number(world, clock, standins, form, shares):
    world.add(platforms=("facebook",))
    standins.command("meta", "set", social_actions=form)
    world.refresh()
    found = world.post("facebook", world.ids("facebook")[0])
    assert (found["shares"], found["comments"], found["views"], found["at"]) == (shares, 10, 1000, clock.wall_ms)


def test_post_keeps_its_definition_of_a_view(world, clock, standins):
    """A post keeps the metric of its first views, because other metrics define a view differently."""
    world.add(platforms=("facebook",), kind="video")
    [id] = world.ids("facebook")
    world.refresh()
    first = world.post("facebook", id)
    assert first["views"] == 1000
    standins.command("meta", "set", dead_metrics=["total_video_views"])
    standins.command("facebook", "post", id=id, views=5000)
    clock.advance(HOUR)
    world.refresh(status=None)
    now = world.post("facebook", id)
    assert now["views"] == 1000 and now["at"] == first["at"]


def test_posts_older_than_the_business_account_never_have_counts(world, clock, standins):
    world.add(videos=2, platforms=("instagram",))
    standins.command("instagram", "post", id=world.ids("instagram")[0], state="early")
    world.refresh(status=None)
    assert world.post("instagram", world.ids("instagram")[1])["at"] == clock.wall_ms
    standins.forget()
    clock.advance(HOUR)
    world.refresh(status=None)
    assert all(world.ids("instagram")[0] not in record["ids"] for record in standins.log("instagram")), "the post must not be requested again"
    output = world.instance.run("platform", "status").out
    assert "1 post read, 1 never with numbers\n" in output, output


def test_pins_are_read_in_bulk_if_the_app_has_permission_and_else_one_by_one(world, clock, standins):
    standins.command("pinterest", "set", bulk_granted=True, fractions=True)
    world.add(videos=120, platforms=("pinterest",))
    world.refresh()
    world.expect_truth(("pinterest",), at=clock.wall_ms)
    assert standins.calls("pinterest") == {"pinterest.bulk": 2}
    # Without the permission pins are requested one per call.
    standins.command("pinterest", "set", bulk_granted=False, fractions=False)
    standins.command("pinterest", "grow", seed=5)
    standins.forget()
    clock.advance(HOUR)
    world.refresh()
    world.expect_truth(("pinterest",), at=clock.wall_ms)
    assert standins.calls("pinterest") == {"pinterest.bulk": 1, "pinterest.pin": 120}


def test_failed_bulk_call_is_retried_pin_by_pin(world, clock, standins):
    """While one bulk call waits for its retry, another one is rejected for lack of permission. No pin counts as missing."""
    world.configure(pinterest={"in_flight": 2})
    names = world.add(authors=2, videos=5, platforms=("pinterest",))
    standins.fault("pinterest", "error", name="server_error", route="pinterest.bulk", account=world.accounts[names[0], "pinterest"], times=1)
    world.refresh()
    world.expect_truth(("pinterest",), at=clock.wall_ms)
    assert standins.count("pinterest", "pinterest.pin") == 10
    assert world.rows("SELECT sum(misses) FROM platform_posts") in ([(0,)], [(None,)])


def test_observed_pinterest_responses_are_parsed(world, clock, standins):
    world.add(videos=3, platforms=("pinterest",))
    first = world.ids("pinterest")[0]
    standins.command("pinterest", "set", rate_text="unlimited; yes", mixing=False, data_status="PROCESSING")
    standins.command("pinterest", "post", id=first, hidden=["likes", "comments"])         # gives "lifetime_metrics": {}
    world.refresh(status=None)
    now = world.post("pinterest", first)
    assert (now["views"], now["likes"], now["comments"], now["saves"], now["at"]) == (1000, None, None, 2, clock.wall_ms)
    standins.command("pinterest", "post", id=first, state="deleted")
    standins.command("pinterest", "grow", seed=6)
    clock.advance(HOUR)
    world.refresh(status=None)
    assert world.post("pinterest", first) == now
    assert all(world.post("pinterest", id)["at"] == clock.wall_ms for id in world.ids("pinterest")[1:])


# ---- period and lifetime metrics of Pinterest ----

def pinterest_status(world):
    return {api["api"]: api for api in json.loads(world.instance.run("platform", "status", "--json", status=None).out)["apis"]}["pinterest"]


def combined_flags(standins):
    return [record["mixed"] for record in standins.log("pinterest") if "mixed" in record]


@pytest.mark.parametrize("bulk", [False, True])
def test_metrics_are_combined_if_pinterest_accepts_it(world, clock, standins, bulk):
    standins.command("pinterest", "set", bulk_granted=bulk, mixing=True)
    world.add(authors=3, videos=3, platforms=("pinterest",))
    world.refresh()
    world.expect_truth(("pinterest",), at=clock.wall_ms)
    status = pinterest_status(world)
    assert status["combined_metrics"] is True and status["combined_metrics_until"]
    assert "period and lifetime metrics in one request until" in world.instance.run("platform", "status", status=None).out
    standins.forget()
    clock.advance(HOUR)
    world.refresh()
    assert all(combined_flags(standins))


@pytest.mark.parametrize("mixing", [False, "silent"])
@pytest.mark.parametrize("bulk", [False, True])
def test_metrics_are_requested_separately_if_combining_fails(world, clock, standins, bulk, mixing):
    """Combining is tried once a day. Separate requests read views, saves, reactions and comments."""
    standins.command("pinterest", "set", bulk_granted=bulk, mixing=mixing)
    world.add(authors=3, videos=3, platforms=("pinterest",), posted_at="2026-07-04T09:00:00Z")
    if bulk:                                        # bulk responses omit this pin if only these metrics are requested
        standins.command("pinterest", "post", id=world.ids("pinterest")[-1], hidden=["likes", "comments"])
    world.refresh(status=None)
    assert combined_flags(standins).index(True) == 0 and combined_flags(standins).count(True) == 1
    status = pinterest_status(world)
    assert status["combined_metrics"] is False
    assert "period and lifetime metrics in separate requests until" in world.instance.run("platform", "status", status=None).out
    standins.forget()
    for _ in range(8):
        clock.advance(HOUR)
        world.refresh(status=None)
        assert world.rows("SELECT coalesce(sum(misses), 0) FROM platform_posts") == [(0,)]
    assert not any(combined_flags(standins)) and combined_flags(standins)
    for id in world.ids("pinterest"):
        post = world.post("pinterest", id)
        truth = standins.command("pinterest", "truth")[id]
        assert {name: post[name] for name in ("views", "saves", "likes", "comments")} == {name: truth.get(name) for name in ("views", "saves", "likes", "comments")}
    standins.forget()
    standins.command("pinterest", "set", mixing=True)
    clock.set_wall(to_ms(status["combined_metrics_until"]) + 1000)
    world.refresh(status=None)
    assert all(combined_flags(standins)), "the check must be repeated after a day"
    assert pinterest_status(world)["combined_metrics"] is True


def test_calls_for_lifetime_metrics_alone_do_not_refute_that_combining_works(world, clock, standins):
    """After three rejected requests in a row, the run uses the form that requests lifetime metrics only."""
    standins.command("pinterest", "set", mixing=True)
    world.configure(pinterest={"in_flight": 1, "bulk": "off"})
    world.add(authors=5, platforms=("pinterest",))
    world.refresh()
    standins.fault("pinterest", "raw", route="pinterest.pin", status=400, body='{"code": 999, "message": "x"}', times=3)
    clock.advance(HOUR)
    world.refresh(status=None)
    assert standins.count("pinterest", "pinterest.pin") == 10
    assert pinterest_status(world)["combined_metrics"] is True


def test_inconclusive_checks_end_after_three_calls(world, clock, standins):
    """Pins without counts: after three calls the run requests metrics separately, and the next run checks again."""
    world.configure(pinterest={"bulk": "off"})
    world.add(authors=6, platforms=("pinterest",))
    for id in world.ids("pinterest"):
        standins.command("pinterest", "post", id=id, hidden=["views", "saves", "likes", "comments"])
    world.refresh(status=None)
    assert combined_flags(standins) == [True] * 3 + [False] * 3
    assert pinterest_status(world)["combined_metrics"] is None
    standins.forget()
    clock.advance(HOUR)
    world.refresh(status=None)
    assert combined_flags(standins)[0] is True
