"""Redis rejects AUTH or SELECT: nothing is stored as another user or in another database, and the operator sees why."""
import pytest

from lib import wait
from lib.metrics import scrape
from lib.services import Redis

LIMIT = 5


def served(make_viewtally, url, **options):
    """A running server that uses the Redis at `url`, and a key."""
    instance = make_viewtally({"limits": {"requests_per_minute": LIMIT}, "redis": {"url": url, **options}})
    key = instance.create_key(instance.add_author())
    instance.start()
    return instance, key


def redis_lines(instance):
    return [line for line in instance.log.splitlines() if " redis: " in line]


def assert_limits_per_process(instance, key, redis, reason):
    """The limit holds, nothing is in Redis, and the reason is in the log (as an error, once), in /readyz and in the metrics."""
    wait.until(lambda: redis_lines(instance), "a log line about Redis")
    with instance.client(key) as client:
        assert [client.get("/account").status for _ in range(LIMIT + 1)] == [200] * LIMIT + [429]
    keyspace = redis.call("INFO", "keyspace")
    assert keyspace.split() == ["#", "Keyspace"], keyspace
    lines = redis_lines(instance)
    assert len(lines) == 1 and " error " in lines[0].lower() and reason in lines[0], lines
    assert reason.encode() in instance.admin().get("/readyz").body
    metrics = scrape(instance)
    assert metrics.get("viewtally_redis_up") == 0
    assert metrics.get("viewtally_limiter_decisions_total", source="process", decision="admitted") == LIMIT
    assert metrics.get("viewtally_limiter_decisions_total", source="redis") == 0
    return metrics


def test_wrong_password_is_reported_as_a_configuration_error(make_viewtally, redis, tmp_path):
    redis.call("ACL", "SETUSER", "viewtally", "on", ">right", "~*", "+@all")
    secret = tmp_path / "redis-password"
    secret.write_text("wrong-5ecret\n")
    url = f"redis://viewtally@127.0.0.1:{redis.port}/0"
    instance, key = served(make_viewtally, url, password_file=secret)
    metrics = assert_limits_per_process(instance, key, redis, "AUTH failed: WRONGPASS")
    assert metrics.get("viewtally_redis_unavailable", reason="auth") == metrics.get("viewtally_redis_unavailable") == 1
    shown = instance.run("status").out
    assert "redis      UNAVAILABLE: AUTH failed: WRONGPASS" in shown and "wrong-5ecret" not in shown + instance.log
    redis.call("ACL", "SETUSER", "viewtally", ">wrong-5ecret")
    wait.until(lambda: redis_lines(instance)[-1].endswith("redis: up"), "the login after the password was added")
    assert instance.run("status", "--json").json()["redis"] == {"configured": True, "up": True, "reason": None}


def test_user_without_password_is_not_replaced_by_the_default_user(make_viewtally, redis):
    redis.call("ACL", "SETUSER", "viewtally", "on", ">right", "~*", "+@all")
    instance, key = served(make_viewtally, f"redis://viewtally@127.0.0.1:{redis.port}/0")
    assert_limits_per_process(instance, key, redis, "AUTH failed: WRONGPASS")


def test_user_that_needs_no_password_can_log_in(make_viewtally, redis):
    redis.call("ACL", "SETUSER", "viewtally", "on", "nopass", "~*", "+@all")
    instance, _ = served(make_viewtally, f"redis://viewtally@127.0.0.1:{redis.port}/0")
    wait.until(lambda: redis_lines(instance) and redis_lines(instance)[-1].endswith("redis: up"), "Redis to be up")
    clients = redis.call("CLIENT", "LIST")
    assert " user=viewtally " in clients, clients


def test_password_for_a_redis_without_passwords_is_reported_as_an_error(make_viewtally, tmp_path):
    with Redis(tmp_path / "redis") as redis:
        instance, key = served(make_viewtally, f"redis://127.0.0.1:{redis.port}/0", password="unneeded")
        assert_limits_per_process(instance, key, redis, "AUTH failed: ")


@pytest.mark.parametrize("database", [4, 9])
def test_missing_database_is_reported_as_a_configuration_error(make_viewtally, tmp_path, database):
    with Redis(tmp_path / "redis", "--databases", "4") as redis:
        instance, key = served(make_viewtally, f"redis://127.0.0.1:{redis.port}/{database}")
        metrics = assert_limits_per_process(instance, key, redis, "SELECT failed: ERR DB index is out of range")
        assert metrics.get("viewtally_redis_unavailable", reason="select") == 1
        assert instance.run("status", "--json").json()["redis"] == {
            "configured": True, "up": False, "reason": "SELECT failed: ERR DB index is out of range"}


def test_rejected_login_after_an_outage_is_reported_as_an_error(make_viewtally, redis):
    redis.stop()
    instance, _ = served(make_viewtally, f"redis://nobody@127.0.0.1:{redis.port}/0", password="x")
    wait.until(lambda: redis_lines(instance), "the outage to be logged")
    redis.start()
    wait.until(lambda: "AUTH failed: WRONGPASS" in redis_lines(instance)[-1], "the rejection to be logged")
    assert [line.split()[1] for line in redis_lines(instance)] == ["warn", "error"]
