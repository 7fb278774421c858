"""The commands of docs/postgresql.md that restore a dump of pg_dump into another database."""
import os
import re
import subprocess

from lib import lines, postgres
from lib.viewtally import ROOT
from test_commands import Commands, world

DOCUMENTED = "postgresql://viewtally@db.example.net/viewtally"


def documented_commands():
    """Returns the lines of the example, without the last one, `viewtally migrate`."""
    text = (ROOT / "docs/postgresql.md").read_text(encoding="utf-8")
    example, = (block for block in re.findall(r"^```sh\n(.*?)^```", text, re.M | re.S) if "pg_dump" in block)
    *commands, last = example.splitlines()
    assert last == "viewtally migrate"
    return commands


def test_documented_commands_restore_a_dump(cluster, tmp_path):
    url = cluster.url(cluster.database("template0"))
    commands = Commands(tmp_path, url)
    commands.run("migrate")
    commands.run("import", "-", stdin=world(25_000))
    key = commands.json("key", "create", "--author", lines.uid("Ann"), "--name", "laptop")["id"]
    environment = {**os.environ, "PATH": f"{postgres.programs()}:{os.environ['PATH']}", "PGHOST": str(cluster.directory), "PGPORT": str(cluster.port),
                   "PGUSER": postgres.SUPERUSER}
    for line in documented_commands():
        line = line.replace(DOCUMENTED, url).replace("--owner viewtally", f"--owner {postgres.SUPERUSER}").replace("--role=viewtally", f"--role={postgres.SUPERUSER}")
        subprocess.run(["sh", "-ec", line], cwd=tmp_path, env=environment, check=True, capture_output=True)
    restored = Commands(tmp_path, cluster.url("restored"))
    assert "these settings of the role tester are missing; viewtally migrate sets them" in restored.run("migrate", "--check")
    assert "up to date" in restored.run("migrate") and "settings" not in restored.run("migrate", "--check")
    assert restored.json("key", "list", "--author", lines.uid("Ann"))[0]["id"] == key
    commands.run("backup", "b.db")
    assert "differ" not in restored.run("move", "--verify", "--from", "b.db", "--to", cluster.url("restored"))
    assert not restored.json("events", "verify")["differences"]
    restored.run("author", "add", "--name", "Bob")
