"""contrib/prometheus/alerts.yml: promtool checks when each alert fires and when not. Each alert has a runbook, and its
metrics exist."""
import json
import re
import subprocess

import pytest
import yaml

from lib.viewtally import ROOT

ALERTS = ROOT / "contrib/prometheus/alerts.yml"
RULES = {rule["alert"]: rule for group in yaml.safe_load(ALERTS.read_text(encoding="utf-8"))["groups"] for rule in group["rules"]}
RUNBOOKS = (ROOT / "docs/runbooks.md").read_text(encoding="utf-8")

OF_ONE = {"job": "viewtally", "instance": "a:1"}
SERIES = 'job="viewtally",instance="a:1"'


def series(name, values, **labels):
    """An input series of promtool, a value per minute."""
    return {"series": f"{name}{{{SERIES}" + "".join(f',{key}="{value}"' for key, value in labels.items()) + "}", "values": values}


def times(name, values, le="+Inf", **labels):
    return series(f"{name}_bucket", values, le=le, **labels)


def requests(errors_per_minute):
    return [series("viewtally_http_requests_total", "0+1000x60", route="/v1/videos", code="200"),
            series("viewtally_http_requests_total", f"0+{errors_per_minute}x60", route="/v1/videos", code="503")]


def durations(name, slow_per_minute, bounds, **labels):
    """A histogram with 1000 observations a minute, of which some are above the first bound."""
    low, high = bounds
    return [times(name, f"0+{1000 - slow_per_minute}x60", low, **labels), times(name, "0+1000x60", high, **labels), times(name, "0+1000x60", **labels)]


def refresh(configured, success, started="0x400"):
    return [series("viewtally_refresh_configured", f"{configured}x400"), series("viewtally_refresh_last_success_timestamp_seconds", success),
            series("process_start_time_seconds", started)]


def accounts(connected, lost):
    return [series("viewtally_platform_accounts", f"{number}x120", api="youtube", state=state)
            for state, number in (("connected", connected), ("reconnect_required", lost))]


def backup(configured, success, started="0x400"):
    return [series("viewtally_backup_configured", f"{configured}x400"), series("viewtally_backup_last_success_timestamp_seconds", success),
            series("viewtally_backup_interval_seconds", "3600x400"), series("process_start_time_seconds", started)]


def disk(free_mib, database_mib):
    return [series("viewtally_store_disk_free_bytes", f"{free_mib << 20}x20"), series("viewtally_store_database_bytes", f"{database_mib << 20}x20")]


LATENCY = "viewtally_http_request_duration_seconds"

# For each alert, cases (series, minute, labels): at that minute the alert must fire with these labels, or not fire if
# `labels` is None.
CASES = {
    "ViewtallyDown": [([series("up", "1 1 0x10")], 5, OF_ONE), ([], 5, {"job": "viewtally"}),
                      ([series("up", "1x10")], 5, None), ([series("up", "1 1 0 1x10")], 5, None),
                      ([series("up", "1x10"), {"series": 'up{job="other",instance="b"}', "values": "0x10"}], 5, None)],
    "ViewtallyRestarting": [([series("process_start_time_seconds", "0x5 300x3 480x3 660x3 840x3")], 20, OF_ONE),
                            ([series("process_start_time_seconds", "0x10 600x3 780x20")], 20, None)],
    "ViewtallyErrors": [(requests(20), 15, {"job": "viewtally"}), (requests(5), 15, None), (requests(0), 15, None)],
    "ViewtallySlow": [(durations(LATENCY, 50, ("1", "5"), route="/v1/videos"), 30, {"job": "viewtally"}),
                      (durations(LATENCY, 5, ("1", "5"), route="/v1/videos"), 30, None),
                      (durations(LATENCY, 900, ("1", "60"), route="/v1/events"), 30, None)],
    "ViewtallyLoopBlocked": [(durations("viewtally_loop_lag_seconds", 50, ("0.1", "1")), 20, OF_ONE),
                             (durations("viewtally_loop_lag_seconds", 5, ("0.1", "1")), 20, None)],
    "ViewtallyConnectionsExhausted": [([series("viewtally_http_listeners_paused", "1x10")], 6, OF_ONE),
                                      ([series("viewtally_http_listeners_paused", "0x3 1 1 0x10")], 6, None)],
    "ViewtallyOutOfMemory": [([series("viewtally_http_requests_out_of_memory_total", "3x5 4x10")], 8, OF_ONE),
                             ([series("viewtally_http_requests_out_of_memory_total", "3x40")], 8, None)],
    "ViewtallyFileDescriptorsLow": [([series("process_open_fds", "900x20"), series("process_max_fds", "1000x20")], 12, OF_ONE),
                                    ([series("process_open_fds", "700x20"), series("process_max_fds", "1000x20")], 12, None)],
    "ViewtallyWritesFailing": [([series("viewtally_store_writes_failed_total", "0x5 2x20")], 8, OF_ONE),
                               ([series("viewtally_store_writes_failed_total", "2x40")], 8, None)],
    "ViewtallyDatabaseServerDown": [([series("viewtally_store_server_up", "1x3 0x10")], 8, OF_ONE),
                                    ([series("viewtally_store_server_up", "1x3 0 1x10")], 8, None), ([series("viewtally_store_disk_free_bytes", "0x10")], 8, None)],
    "ViewtallyDatabaseConnectionsLow": [
        ([series("viewtally_store_server_connections", "91x20"), series("viewtally_store_server_connections_max", "100x20")], 12, OF_ONE),
        ([series("viewtally_store_server_connections", "90x20"), series("viewtally_store_server_connections_max", "100x20")], 12, None)],
    "ViewtallyReplicationLagging": [([series("viewtally_store_server_replication_lag_bytes", f"{1025 << 20}x20")], 18, OF_ONE),
                                    ([series("viewtally_store_server_replication_lag_bytes", f"{1023 << 20}x20")], 18, None)],
    "ViewtallyCheckpointBlocked": [([series("viewtally_store_checkpoint_blocked", "1x30")], 20, OF_ONE),
                                   ([series("viewtally_store_checkpoints_failed_total", "0+1x60")], 40, OF_ONE),
                                   ([series("viewtally_store_checkpoint_blocked", "0x5 1x10 0x20"),
                                     series("viewtally_store_checkpoints_failed_total", "0x10 1x50")], 30, None)],
    "ViewtallyDiskSpaceLow": [(disk(1000, 10), 8, OF_ONE), (disk(3000, 2000), 8, OF_ONE), (disk(3000, 1000), 8, None), (disk(1025, 10), 8, None)],
    "ViewtallyBackupOverdue": [(backup(1, "60x400"), 125, OF_ONE), (backup(1, "0x400", "3000x400"), 175, OF_ONE), (backup(0, "0x400"), 125, None),
                               (backup(0, "60x400"), 300, None), (backup(1, "0x400", "3000x400"), 160, None),
                               (backup(1, "60x50 3360x60 6960x60 10560x300"), 250, None)],
    "ViewtallyRefreshOverdue": [(refresh(1, "60x400"), 125, OF_ONE), (refresh(1, "0x400", "3000x400"), 175, OF_ONE),
                                (refresh(0, "0x400"), 125, None), (refresh(0, "60x400"), 300, None),     # none is configured
                                (refresh(1, "0x400", "3000x400"), 160, None),                            # a new installation
                                (refresh(1, "60x50 3360x60 6960x60 10560x300"), 250, None)],
    "ViewtallySpoolLinesRejected": [([series("viewtally_refresh_spool_lines_rejected_total", "0x50 4x100")], 60, OF_ONE),
                                    ([series("viewtally_refresh_spool_lines_rejected_total", "4x400")], 60, None)],
    "ViewtallyPlatformAppRejected": [
        ([series("viewtally_platform_call_outcomes_total", "0x10 6x100", platform="tiktok", outcome="app_rejected")], 30,
         {"job": "viewtally", "platform": "tiktok"}),
        ([series("viewtally_platform_call_outcomes_total", "0+100x100", platform="tiktok", outcome="reconnect")], 30, None)],
    "ViewtallyPlatformSuspended": [([series("viewtally_platform_circuit_open", "1x200", api="youtube")], 130, {"job": "viewtally", "api": "youtube"}),
                                   ([series("viewtally_platform_circuit_open", "1x60 0 1x100", api="youtube")], 130, None)],
    "ViewtallyPlatformBacklogged": [([series("viewtally_platform_backlogged", "1x400", api="youtube")], 370, {"job": "viewtally", "api": "youtube"}),
                                    ([series("viewtally_platform_backlogged", "1x100 0x300", api="youtube")], 370, None)],
    "ViewtallyAccountsDisconnected": [(accounts(70, 30), 70, {"job": "viewtally", "api": "youtube"}), (accounts(90, 10), 70, None),
                                      (accounts(0, 0), 70, None)],
    "ViewtallyWebhooksFailing": [
        ([series("viewtally_webhook_endpoints_failing", "6x60"), series("viewtally_webhook_endpoints", "10x60", state="active")], 40, OF_ONE),
        ([series("viewtally_webhook_endpoints_failing", "6x60"), series("viewtally_webhook_endpoints", "20x60", state="active")], 40, None),
        ([series("viewtally_webhook_endpoints_failing", "5x60"), series("viewtally_webhook_endpoints", "5x60", state="active")], 40, None)],
    "ViewtallyRedisUnavailable": [
        ([series("viewtally_redis_up", "0x10"), series("viewtally_redis_configured", "1x10")], 6, OF_ONE),
        ([series("viewtally_redis_up", "0x10"), series("viewtally_redis_configured", "0x10")], 6, None),
        ([series("viewtally_redis_up", "1x10"), series("viewtally_redis_configured", "1x10")], 6, None)],
    "ViewtallyLogLinesDropped": [([series("viewtally_log_lines_dropped_total", "0x5 9x20")], 8, OF_ONE),
                                 ([series("viewtally_access_log_lines_dropped_total", "0x5 9x20")], 8, OF_ONE),
                                 ([series("viewtally_log_lines_dropped_total", "9x40")], 8, None)],
    "ViewtallyAuthenticationFailures": [
        ([series("viewtally_authentication_failures_total", "0+60x30", kind="api_key")], 15, {"job": "viewtally", "kind": "api_key"}),
        ([series("viewtally_authentication_failures_total", "0+10x30", kind="api_key")], 15, None)],
}


def rendered(text, labels):
    return re.sub(r"\{\{ \$labels\.(\w+) \}\}", lambda match: labels.get(match.group(1), ""), text)


def expected(rule, labels):
    if labels is None:
        return []
    return [{"exp_labels": {**labels, **rule["labels"]}, "exp_annotations": {name: rendered(text, labels) for name, text in rule["annotations"].items()}}]


def promtool(directory, rules, cases):
    """Runs promtool and returns its result. Each alert has a file of its own (JSON is YAML, too), so that promtool does not evaluate all
    rules for each case."""
    for name, entries in cases.items():
        (directory / f"{name}.rules").write_text(json.dumps({"groups": [{"name": "viewtally", "rules": [rules[name]]}]}))
        tests = [{"interval": "1m", "input_series": inputs, "alert_rule_test": [{"eval_time": f"{minute}m", "alertname": name,
                  "exp_alerts": expected(RULES[name], labels)}]} for inputs, minute, labels in entries]
        (directory / f"{name}.yml").write_text(json.dumps({"rule_files": [f"{name}.rules"], "evaluation_interval": "1m", "tests": tests}))
    return subprocess.run(["promtool", "test", "rules", *(str(directory / f"{name}.yml") for name in cases)], capture_output=True, text=True,
                          check=False)


def test_promtool_accepts_the_alert_rules():
    done = subprocess.run(["promtool", "check", "rules", str(ALERTS)], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and f"{len(RULES)} rules found" in done.stdout, done


def test_each_alert_fires_only_under_its_condition(tmp_path):
    assert set(CASES) == set(RULES)
    for name, entries in CASES.items():
        assert any(labels is not None for *_, labels in entries) and any(labels is None for *_, labels in entries), name
    done = promtool(tmp_path, RULES, CASES)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("expression", ["vector(1) < 0", 'label_replace(vector(1), "job", "viewtally", "", "")'], ids=["never", "always"])
def test_cases_detect_a_rule_that_never_or_always_fires(tmp_path, expression):
    broken = {name: {**rule, "expr": expression} for name, rule in RULES.items()}
    done = promtool(tmp_path, broken, CASES)
    assert done.returncode != 0
    assert set(re.findall(r"alertname: (\w+)", done.stdout + done.stderr)) == set(RULES)


@pytest.mark.parametrize("name", RULES)
def test_each_alert_has_a_runbook(name):
    assert RULES[name]["annotations"]["runbook"] == f"docs/runbooks.md#{name.lower()}"
    section = re.search(rf"^## {name}\n(.*?)(?=^## |\Z)", RUNBOOKS, re.M | re.S).group(1)
    assert re.findall(r"^\*\*(Means|Look at|Do)\.\*\* ", section, re.M) == ["Means", "Look at", "Do"]


def test_each_metric_of_alerts_and_dashboard_is_documented():
    documents = "".join((ROOT / "docs" / name).read_text(encoding="utf-8") for name in ("metrics.md", "postgresql.md"))
    documented = set(re.findall(r"^\| `(\w+)`", documents, re.M))
    expressions = {name: rule["expr"] for name, rule in RULES.items()}
    for panel in json.loads((ROOT / "contrib/grafana/viewtally.json").read_text(encoding="utf-8"))["panels"]:
        expressions.update({f"{panel['title']} {target['refId']}": target["expr"] for target in panel.get("targets", [])})
    assert len(expressions) > len(RULES) + 50
    for name, expression in expressions.items():
        for metric in re.findall(r"\b((?:viewtally|process)_\w+)", re.sub('"[^"]*"', "", expression)):
            assert re.sub("_bucket$", "", metric) in documented, (name, metric)


def test_panels_named_in_runbooks_exist():
    titles = {panel["title"] for panel in json.loads((ROOT / "contrib/grafana/viewtally.json").read_text(encoding="utf-8"))["panels"]}
    named = set(re.findall(r"\*([^*]+)\*", " ".join(re.findall(r"panels? (\*[^*]+\*(?:(?:,| and) \*[^*]+\*)*)", re.sub(r"\s+", " ", RUNBOOKS)))))
    named -= {", ", " and "}
    assert named and named <= titles, named - titles


def test_every_alert_is_documented():
    """docs/monitoring.md has a table of the alerts, each linked to its runbook."""
    text = (ROOT / "docs/monitoring.md").read_text(encoding="utf-8")
    for name in RULES:
        assert f"[{name}](runbooks.md#{name.lower()})" in text, name
