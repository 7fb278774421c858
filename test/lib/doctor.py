"""Runs viewtally doctor and checks its findings."""
SECRET = "hunter2-5ecret"      # a secret that no finding may contain


def with_author(instance):
    """Creates the database with an author; a database file is private, as doctor expects."""
    instance.add_author()
    if not instance.is_on_server:
        instance.database.chmod(0o640)
    return instance


def use_link(instance):
    """Sets [store] path to a symbolic link in a directory without other files."""
    link = instance.directory / "links" / "link.db"
    link.parent.mkdir()
    link.symlink_to(instance.database)
    instance.configure({"store": {"path": str(link)}})


def diagnose(instance, *arguments, status=None, env=None):
    """Runs the command and returns the findings as {"group.check": [(state, message, fix)]}."""
    done = instance.run("doctor", "--json", *arguments, status=status, env=env)
    assert done.err == "" and SECRET not in done.out
    result, findings = done.json(), {}
    for f in result["findings"]:
        assert f["message"] and (f["fix"] is not None) == (f["state"] in ("warning", "error")), f
        findings.setdefault(f"{f['group']}.{f['check']}", []).append((f["state"], f["message"], f["fix"]))
    states = [f["state"] for f in result["findings"]]
    assert (result["errors"], result["warnings"]) == (states.count("error"), states.count("warning"))
    assert done.status == (1 if result["errors"] or ("--strict" in arguments and result["warnings"]) else 0)
    return findings


def expect(findings, check, state, text=""):
    assert any(f[0] == state and text in f[1] for f in findings[check]), (check, findings[check])
