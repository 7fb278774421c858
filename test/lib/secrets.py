"""A key file, accounts with tokens, and their rows in the database."""
import json

GRANT = {"access_token": "act.SECRET-access", "refresh_token": "rft.SECRET-refresh", "expires_in": 7200, "scope": "video.list"}


def with_keys(viewtally):
    """Creates a key file for the installation and configures it. Returns its path."""
    path = viewtally.directory / "secrets.key"
    viewtally.run("secrets", "init", str(path))
    viewtally.configure({"secrets": {"key_file": str(path)}})
    return path


def connect(viewtally, author, platform="tiktok", account="open-1", grant=None, status=0, options=()):
    """Connects an account. Returns its number, or the finished command if it is expected to fail or prints JSON."""
    done = viewtally.run("platform", "connect", "--author", author, "--platform", platform, "--account", account, *options,
                         stdin=json.dumps(GRANT if grant is None else grant), status=status)
    return int(done.out) if status == 0 and "--json" not in options else done


def rows(viewtally, sql, *values):
    return viewtally.sql(sql, *values)


def key_ids(path):
    return [line.split()[0] for line in path.read_text().splitlines() if line and not line.startswith("#")]
