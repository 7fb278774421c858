"""Starts the stand-ins of the platforms and creates authors with accounts and posts on them."""
import http.client
import json
import pathlib
import subprocess
import sys
import time
import urllib.parse
import uuid
from collections import defaultdict

from lib import wait
from lib.clock import to_ms
from lib.lines import author, uid
from lib.viewtally import sanitized
from sealing import insert_accounts

HERE = pathlib.Path(__file__).resolve().parent
PLATFORMS = ("tiktok", "instagram", "youtube", "facebook", "pinterest")         # ordered by their number in the database
APIS = ("tiktok", "instagram", "instagram-facebook", "youtube", "facebook", "pinterest")
# The columns of an account that the tests check.
CREDENTIAL = ("id", "state", "version", "refresh_sealed", "access_expires_at", "refresh_expires_at", "tier", "dropped", "failures", "last_error", "last_ok_at")
COUNTS = ("views", "likes", "comments", "shares", "saves")
MARK = "LeAkMaRk"             # part of every token, code and client secret of the stand-ins
NO_COMMANDS = False
FEW = 4                     # more accounts than this are inserted directly into the database
POSTED = "2026-07-09T08:00:00Z"
# The counts that are available at each platform.
MEASURABLE = {"tiktok": COUNTS[:4], "instagram": COUNTS, "youtube": COUNTS[:3], "facebook": COUNTS[:4], "pinterest": ("views", "likes", "comments", "saves")}


def some(cases, few):
    """Under AddressSanitizer, which is several times slower, returns only the first `few` of several similar cases."""
    return list(cases)[:few] if sanitized() else list(cases)


def origin_key(host):
    """Returns the configuration section and key for a host of a stand-in: ("tiktok", "consent_origin") for "tiktok_auth"."""
    section, _, role = host.partition("_")
    return {"google": "youtube"}.get(section, section), {"auth": "consent_origin", "oauth": "token_origin"}.get(role, "api_origin")


class Standins:
    """The processes of the stand-ins: one for all platforms or, with `apart`, one for each."""

    def __init__(self, clock=None, apart=False, tls=None, only="tiktok,youtube,meta,pinterest"):
        groups = only.split(",") if apart else [only]
        self._processes, self._control, self._group_of, self.origins = [], {}, {}, {}
        for group in groups:
            words = [sys.executable if sys.version_info >= (3, 11) else "/usr/bin/python3", "-m", "standin", "--only", group]
            words += ["--clock", clock.path] if clock else []
            words += ["--certificate", tls[0], "--key", tls[1]] if tls else []
            process = subprocess.Popen(words, cwd=HERE, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self._processes.append(process)
        for group, process in zip(groups, self._processes):
            result = json.loads(process.stdout.readline())
            self.origins.update(result["origins"])
            address = urllib.parse.urlsplit(result["control"])
            for name in group.split(","):
                self._group_of[name] = group
            self._control[group] = http.client.HTTPConnection(address.hostname, address.port, timeout=60)

    def close(self):
        for process in self._processes:
            process.stdin.close()
        for process in self._processes:
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            process.stdout.close()
        for connection in self._control.values():
            connection.close()

    def begin(self, clock):
        """Resets all stand-ins and sets their clock."""
        for group in set(self._group_of.values()):
            self._send(group, [{"op": "begin", "clock": clock.path}])

    @property
    def pids(self):
        return [process.pid for process in self._processes]

    def commands(self, of, operations):
        """Sends a list of commands {op: …} to one stand-in. Returns the results."""
        name = "meta" if of in ("instagram", "facebook", "instagram-facebook") else of
        return self._send(self._group_of[name], [{**operation, "of": of if of != "instagram-facebook" else "meta"} for operation in operations])

    def _send(self, group, operations):
        connection = self._control[group]
        connection.request("POST", "/_ctl", json.dumps(operations))
        response = connection.getresponse()
        result = json.loads(response.read())
        assert response.status == 200, result
        return result

    def command(self, of, op, **values):
        return self.commands(of, [{"op": op, **values}])[0]

    def names(self):
        return list(self._group_of)

    # -- shortcuts ---------------------------------------------------------------------------------

    def fault(self, of, kind, **values):
        self.command(of, "fault", kind=kind, **values)

    def clear(self):
        for name in self.names():
            self.command(name, "clear")

    def calls(self, of=None):
        """Returns {route: number of calls since the last forget()}."""
        made = {}
        for name in [of] if of else self.names():
            made.update(self.command(name, "calls"))
        return made

    def count(self, of, route):
        """Returns the number of calls of a route; a trailing star matches any suffix."""
        return sum(count for name, count in self.calls(of).items() if name == route or (route.endswith("*") and name.startswith(route[:-1])))

    def wait_for(self, of, route, count=1):
        """Waits until the route has been called `count` times."""
        wait.until(lambda: self.count(of, route) >= count, f"{count} calls of {route}")

    def forget(self):
        for name in self.names():
            self.command(name, "forget")

    def log(self, of):
        return self.command(of, "log")

    def violations(self):
        return [violation for name in self.names() for violation in self.command(name, "violations")]

    def apps(self):
        """Returns the configuration sections with the credentials of our app at each platform."""
        made = {}
        for name in self.names():
            app = self.command(name, "app")
            if name == "meta":
                made["facebook"] = {"client_id": app["client_id"], "client_secret": app["client_secret"]}
                made["instagram"] = {"client_id": app["instagram_client_id"], "client_secret": app["instagram_client_secret"]}
            else:
                made[name] = {"client_id": app["client_id"], "client_secret": app["client_secret"]}
            if name == "youtube":
                made[name]["api_key"] = app["api_key"]
        return made

    def request(self, host, method, target, body=None, headers=None):
        """Sends one request. Returns (status, headers, body)."""
        address = urllib.parse.urlsplit(self.origins[host])
        connection = http.client.HTTPConnection(address.hostname, address.port, timeout=20)
        connection.request(method, target, body, headers or {})
        response = connection.getresponse()
        made = response.status, response.headers, response.read()
        connection.close()
        return made


def post_id(platform, number):
    """Returns a post id in the format of the platform."""
    if platform == "tiktok":
        return str(7_077_642_457_847_000_000 + number)
    if platform == "youtube":
        digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
        text = ""
        for _ in range(11):
            number, digit = divmod(number, 64)
            text = digits[digit] + text
        return text
    return {"instagram": "179", "facebook": "323", "pinterest": "813"}[platform] + f"{number:014d}"


class World:
    """Authors with an account and posts on each platform, imported into an installation."""

    def __init__(self, instance, standins, key_file=None):
        self.instance, self.standins = instance, standins
        self.accounts = {}                  # (author, platform) -> account id
        self.logins = {}                    # author -> Instagram login
        self.posts = defaultdict(dict)      # platform -> {post id: (author, video)}
        self._numbers = 0
        self._secrets = key_file

    # -- setup -------------------------------------------------------------------------------------------------

    def configure(self, **sections):
        """Configures the stand-ins as origins, without rate limits, then applies `sections`."""
        if "secrets" in self.instance.settings:
            self.instance.configure(sections)
            return
        key_file = self.instance.directory / "secrets.key"
        config = {"refresh": {"source": "platforms"}, "secrets": {"key_file": key_file},
                  "platforms": {"pace_s": 0, "deadline_s": 120, "timeout_ms": 30_000, "connect_timeout_ms": 20_000, "retry_percent": 100}, **self.standins.apps()}
        for host, address in self.standins.origins.items():
            section, key = origin_key(host)
            config.setdefault(section, {})[key] = address
        for name in ("tiktok", "pinterest"):
            config.setdefault(name, {})["calls_per_minute"] = 1_000_000
            if name in self.standins.names():
                self.standins.command(name, "limit", most=0)
        self.instance.configure(config)
        self.instance.configure(sections)
        if NO_COMMANDS:
            key_file.write_text("0000abcd " + "ab" * 32 + "\n")
            key_file.chmod(0o600)
        else:
            self.instance.run("secrets", "init")

    def add(self, authors=1, videos=1, platforms=PLATFORMS, login="facebook", posted_at=POSTED, kind="reel", names=None, connect=True, by_key=False):
        """Creates authors with videos on all of `platforms`. Returns their names. `login`: the Instagram login, or a function of the author's number."""
        lines, commands_of, made = [], defaultdict(list), []
        posted = to_ms(posted_at)
        for _ in range(authors):
            self._numbers += 1
            name = names[len(made)] if names else f"author-{self._numbers}"
            of = login(self._numbers) if callable(login) else login
            made.append(name)
            self.logins[name] = of
            lines.append(author(name))
            posts_of = defaultdict(list)
            for v in range(videos):
                title = f"{name}-{v}"
                posts = []
                for platform in platforms:
                    number = self._numbers * 10_000 + v
                    id = post_id(platform, number)
                    posts.append({"platform": platform, "post_id": id, "posted_at": posted_at})
                    posts_of[platform].append([id, kind, posted, 1000 + v, 100 + v, 10 + v, 4 + v, 2 + v])
                    self.posts[platform][id] = (name, title)
                lines.append({"type": "video", "id": uid(title), "author_id": uid(name), "title": title, "posts": posts})
            for platform in platforms:
                account = self.account_id(platform, self._numbers)
                self.accounts[name, platform] = account
                commands_of[platform].append({"op": "account", "id": account, "login": of if platform == "instagram" else "", "name": f"{name}"})
                commands_of[platform].append({"op": "posts", "account": account, "posts": posts_of[platform]})
        for platform, operations in commands_of.items():
            self.standins.commands(platform, operations)
        self.instance.import_lines(lines)
        if connect:
            if authors > FEW or NO_COMMANDS:
                self.connect_many(made, platforms)
            else:
                for name in made:
                    for platform in platforms:
                        self.connect(name, platform)
        return made

    def connect_many(self, names, platforms):
        """Like connect() for many accounts, without a command for each."""
        accounts = []
        for platform in platforms:
            ids = [self.accounts[name, platform] for name in names]
            tokens = self.standins.commands(platform, [{"op": "connect", "account": id} for id in ids])
            accounts += [(uuid.UUID(uid(name)).bytes, self.api(name, platform), id, tokens_of_account) for name, id, tokens_of_account in zip(names, ids, tokens)]
        insert_accounts(self.instance, accounts, self.instance.clock.wall_ms if self.instance.clock else time.time_ns() // 1_000_000)

    @staticmethod
    def account_id(platform, number):
        return {"tiktok": f"open-{number:08d}-b87b-48b9-ac98-410aghda5344", "youtube": f"UC{number:022d}", "instagram": f"17841400{number:09d}",
                "facebook": f"10{number:013d}", "pinterest": f"{549755885175 + number}"}[platform]

    def api(self, name, platform):
        return "instagram-facebook" if platform == "instagram" and self.logins[name] == "facebook" else platform

    def connect(self, name, platform, status=0, **changes):
        """Connects an account with tokens of the stand-in by `platform connect`."""
        account = self.accounts[name, platform]
        tokens = {**self.standins.command(platform, "connect", account=account), **changes}
        words = ["platform", "connect", "--author", uid(name), "--platform", self.api(name, platform), "--account", account]
        return self.instance.run(*words, stdin=json.dumps(tokens), status=status)

    # -- runs -----------------------------------------------------------------------------------------------------

    def refresh(self, status=0, timeout=120):
        """Runs `viewtally refresh` and returns its result. Checks its output for tokens."""
        finished = self.instance.run("refresh", status=status, timeout=timeout)
        assert MARK not in finished.out and MARK not in finished.err, "the output contains a secret"
        return finished

    def expect_clean(self):
        """Checks that every request was documented, and that the database and files contain no secret."""
        violations = self.standins.violations()
        assert violations == [], violations[:20]
        self.expect_no_secret()

    def expect_no_secret(self):
        mark = MARK.encode()
        files = [path for path in self.instance.directory.iterdir() if path.is_file() and path.name not in ("config.ini", "secrets.key")]
        for path in files:
            assert mark not in path.read_bytes(), f"{path.name} contains a secret"
        for table in self.instance.tables():
            for row in self.rows(f"SELECT * FROM {table}"):
                assert mark not in b" ".join(as_bytes(value) for value in row), f"the table {table} contains a secret: {row}"

    # -- state of the database -----------------------------------------------------------------------------------------

    def rows(self, sql, *values):
        return self.instance.sql(sql, *values)

    def counts(self):
        """Returns {platform: {post id: {count: value, "at": ms of its newest reading or None}}}; unknown counts are None."""
        made = {platform: {} for platform in PLATFORMS}
        for packed, in self.rows("SELECT posts FROM videos"):
            for platform, id, at, counts in unpack_posts(packed):
                made[PLATFORMS[platform]][id] = {**dict(zip(COUNTS, counts)), "at": at}
        return made

    def post(self, platform, id):
        return self.counts()[platform][id]

    def ids(self, platform, name=None):
        return [id for id, (of, _) in self.posts[platform].items() if name in (None, of)]

    def credential(self, name, platform):
        """Returns the row of the account as a dictionary, or None."""
        rows = self.rows(f"SELECT {', '.join(CREDENTIAL)} FROM platform_credentials WHERE account_id = ?", self.accounts[name, platform])
        return dict(zip(CREDENTIAL, rows[0])) if rows else None

    def expect_truth(self, platforms=PLATFORMS, at=None):
        """Checks that every readable count equals that of the stand-in, that all others are unknown, and that they were read at `at`."""
        stored = self.counts()
        for platform in platforms:
            current_counts = self.standins.command(platform, "truth")
            for id in self.posts[platform]:
                found, current = stored[platform][id], current_counts[id]
                for name in COUNTS:
                    expected = current.get(name)
                    assert found[name] == expected, f"{platform} {id}: {name} is {found[name]}, expected {expected}"
                if at is not None:
                    assert found["at"] == at, f"{platform} {id}: read at {found['at']}, not at {at}"


def as_bytes(value):
    return value if isinstance(value, bytes) else str(value).encode()


def unpack_posts(packed):
    """Decodes the format of src/store/pack.h: version 1, count, then platform, posted_at, updated_at, five counts plus one, post_id, url."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = packed[at]
            at += 1
            value |= (byte & 127) << shift
            if byte < 128:
                return value
            shift += 7

    def signed():
        value = number()
        return (value >> 1) ^ -(value & 1)

    def text(length):
        nonlocal at
        at += length
        return packed[at - length:at].decode()

    if not packed:
        return
    assert number() == 1
    for _ in range(number()):
        platform = number()
        signed()
        updated = signed()
        counts = [value - 1 if value else None for value in (number() for _ in range(5))]
        id = text(number())
        url = number()
        if url:
            text(url - 1)
        yield platform, id, updated if updated > -2**62 else None, counts

