"""The permissions that docs/operating.md lists for Redis are sufficient, and each of them is necessary."""
import pytest

from lib import wait
from lib.lines import author, uid
from lib.viewtally import ROOT


def access_line():
    """The line of docs/operating.md, as the arguments of `ACL SETUSER`."""
    lines = (ROOT / "docs/operating.md").read_text(encoding="utf-8").splitlines()
    return next(line for line in lines if line.startswith("user viewtally on ")).split()[1:]


def granted():
    return [word for word in access_line() if word.startswith("+")]


class World:
    """A server that uses database 3 as the documented user. `without` names one right that the user does not get."""

    def __init__(self, make_viewtally, clock, redis, directory, without=None, **options):
        self.redis = redis
        clock.set_monotonic(9_000_000)      # stands still: no call to Redis is ever late
        words = [">s3cret" if word.startswith(">") else word for word in access_line() if word != without]
        redis.call("ACL", "SETUSER", *words)
        secret = directory / "redis-password"
        secret.write_text("s3cret\n")
        self.server = make_viewtally({"limits": {"requests_per_minute": 5}, "redis": {
            "url": f"redis://viewtally@127.0.0.1:{redis.port}/3", "password_file": secret, **options}}, clock)
        self.server.import_lines([author("Ada")])
        self.key = self.server.create_key(uid("Ada"))
        self.plant_garbage()
        redis.call("ACL", "LOG", "RESET")
        self.server.start()
        wait.until(lambda: " redis: " in self.server.log, "a log line about Redis")

    def plant_garbage(self):
        """Stores a value of another type as the poll position, which the server must delete."""
        key_id = self.listed_key()["id"]
        self.run_in_database_3("redis.call('SET', KEYS[1], 'x')", f"viewtally:{{limit}}:poll:{key_id}")

    def run_in_database_3(self, script, key):
        self.redis.call("EVAL", f"redis.call('SELECT', 3) return {script}", "1", key)

    def listed_key(self):
        return self.server.run("key", "list", "--author", uid("Ada"), "--json").json()[0]

    def poll_six_times(self):
        with self.server.client(self.key) as client:
            return [client.get("/events").status for _ in range(6)]

    def denied(self):
        return self.redis.call("ACL", "LOG")


def test_documented_permissions_are_sufficient(make_viewtally, clock, redis, tmp_path):
    world = World(make_viewtally, clock, redis, tmp_path)
    assert world.poll_six_times() == [200] * 5 + [429]
    wait.until(lambda: world.listed_key()["polls"] == 5, "the polls to be recorded")
    assert world.denied() == [] and "unavailable" not in world.server.log and "s3cret" not in world.server.log


@pytest.mark.parametrize("command", granted())
def test_each_documented_permission_is_necessary(make_viewtally, clock, redis, tmp_path, command):
    world = World(make_viewtally, clock, redis, tmp_path, without=command)
    assert world.poll_six_times() == [200] * 5 + [429]
    wait.until(world.denied, f"Redis to deny {command}")


def test_keys_with_another_prefix_are_denied(make_viewtally, clock, redis, tmp_path):
    world = World(make_viewtally, clock, redis, tmp_path, key_prefix="other:")
    assert "redis: unavailable, limiting per process (NOPERM" in world.server.log
    assert world.poll_six_times() == [200] * 5 + [429]
