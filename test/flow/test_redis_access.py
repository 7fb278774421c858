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
    """A server that uses database 3 as the documented user, `without` one of its rights."""

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
        wait.until(lambda: " redis: " in self.server.log, "the log to speak of Redis")

    def plant_garbage(self):
        """No hash where the key's cursor will stand: it has to be taken away."""
        key_id = self.listed()["id"]
        self.in_its_database("redis.call('SET', KEYS[1], 'x')", f"viewtally:{{limit}}:poll:{key_id}")

    def in_its_database(self, script, key):
        self.redis.call("EVAL", f"redis.call('SELECT', 3) return {script}", "1", key)

    def listed(self):
        return self.server.run("key", "list", "--author", uid("Ada"), "--json").json()[0]

    def use(self):
        with self.server.client(self.key) as client:
            return [client.get("/events").status for _ in range(6)]

    def denied(self):
        return self.redis.call("ACL", "LOG")


def test_what_the_readme_grants_is_enough(make_viewtally, clock, redis, tmp_path):
    world = World(make_viewtally, clock, redis, tmp_path)
    assert world.use() == [200] * 5 + [429]
    wait.until(lambda: world.listed()["polls"] == 5, "the polls to be noted")
    assert world.denied() == [] and "unavailable" not in world.server.log and "s3cret" not in world.server.log


@pytest.mark.parametrize("command", granted())
def test_nothing_of_it_is_idle(make_viewtally, clock, redis, tmp_path, command):
    world = World(make_viewtally, clock, redis, tmp_path, without=command)
    assert world.use() == [200] * 5 + [429]
    wait.until(world.denied, f"Redis to say that {command} is missing")


def test_keys_of_others_are_out_of_reach(make_viewtally, clock, redis, tmp_path):
    world = World(make_viewtally, clock, redis, tmp_path, key_prefix="other:")
    assert "redis: unavailable, limiting per process (NOPERM" in world.server.log
    assert world.use() == [200] * 5 + [429]
