"""The spool with real files and a real server: each file is applied at once, exactly once, and moved afterwards."""
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess

import pytest

from lib import wait
from lib.lines import author, reading, uid, video
from lib.metrics import scrape
from lib.refreshing import pinned_to_our_processor
from lib.spool import Spool
from lib.viewtally import ROOT

POSTED = "2026-07-01T08:00:00Z"
DAY = 24 * 3600 * 1000
WORLD = [author("Ada"), video("a", "Ada", POSTED), video("b", "Ada", POSTED)]


@pytest.fixture
def spool(tmp_path):
    return Spool(tmp_path / "spool")


@pytest.fixture
def service(viewtally, spool):
    viewtally.configure({"refresh": {"source": "spool", "spool_dir": spool.path}})
    return viewtally


@pytest.fixture
def ada(service):
    service.import_lines(WORLD)
    return service.create_key(uid("Ada"))


def views_of(service, key, name):
    with service.client(key) as client:
        return client.get(f"/videos/{uid(name)}").json()["data"]["views"]


def first_run(service):
    """Waits for the end of the run at the start. Afterwards, only the watch of the directory causes runs."""
    wait.until(lambda: "refresh: succeeded in" in service.log, "the first run")


def test_file_is_applied_as_soon_as_it_arrives(service, spool, ada):
    with service, service.client(ada, timeout=90) as client:
        first_run(service)
        cursor = client.get("/events?after=latest").json()["next_cursor"]
        spool.drop("one.ndjson", [reading("a", "2026-07-09T00:00:00Z", 1500)])
        events = client.get(f"/events?after={cursor}&wait=55").json()["data"]
        assert [(event["type"], event["milestone"]) for event in events] == [("video.milestone_reached", 1000)]
        wait.until(lambda: spool.done == ["one.ndjson"], "the file to be moved")
        assert not spool.waiting and not spool.bad


def test_bad_lines_are_reported_and_good_ones_applied(service, spool, ada):
    with service:
        spool.drop("mixed.ndjson", [reading("a", "2026-07-09T00:00:00Z", 20), "{", reading("nobody", "2026-07-09T00:00:00Z", 1),
                                    reading("b", "2026-07-09T01:00:00Z", 30), reading("b", "2026-06-01T00:00:00Z", 3), "",
                                    video("c", "Nobody")])
        wait.until(lambda: spool.bad == ["mixed.ndjson", "mixed.ndjson.errors"], "the file and its report")
        assert spool.errors("mixed.ndjson") == [
            (2, "not valid JSON: the line ends too early"), (3, "unknown post"),
            (5, "observed_at is before the post's posted_at"), (7, "author_id is unknown")]
        assert not spool.waiting and not spool.done
        assert (views_of(service, ada, "a"), views_of(service, ada, "b")) == (20, 30)


def test_unknown_fields_are_ignored_with_a_warning(service, spool, ada):
    """A newer program may write fields that this version does not know yet."""
    with service:
        first_run(service)
        spool.drop("newer.ndjson", [reading("b", "2026-07-09T00:00:00Z", 5), {**reading("a", "2026-07-09T00:00:00Z", 20), "watch_time": 7, "x": 1},
                                    author("Ada", plan=False)])
        wait.until(lambda: spool.done == ["newer.ndjson"], "the file to be moved")
        assert not spool.bad and views_of(service, ada, "a") == 20
        warnings = wait.until(lambda: [line for line in service.log.splitlines() if "newer.ndjson: ignored" in line], "the warning")
        assert len(warnings) == 1 and " warn " in warnings[0], warnings
        assert warnings[0].endswith('ignored unknown fields in 2 lines, first in line 2: watch_time is not a field of a reading')
        wait.until(lambda: scrape(service).get("viewtally_refresh_spool_unknown_field_lines_total") == 2, "the metric")


def refresh(service, status=0):
    return service.run("refresh", status=status)


def at(minute):
    return f"2026-07-09T{minute // 60:02}:{minute % 60:02}:00Z"


def test_refresh_prints_its_result_as_a_table_or_json(service, spool, ada):
    spool.drop("one.ndjson", [reading("a", at(1), 10), "{"])
    state, heading, *lines = refresh(service, status=1).out.splitlines()
    assert re.fullmatch(r"refresh: partial in \d+ ms", state) and heading.split() == ["SOURCE", "PLATFORM", "COUNTER", "VALUE"]
    assert [line.split() for line in lines] == [["spool", "youtube", "accepted", "1"], ["spool", "-", "videos", "1"], ["spool", "-", "bad_lines", "1"]]
    spool.drop("two.ndjson", [reading("a", at(2), 20)])
    printed = service.run("refresh", "--json").json()
    assert printed["state"] == "succeeded" and printed["duration_ms"] >= 0
    assert printed["counts"] == [{"source": "spool", "platform": "youtube", "name": "accepted", "value": 1},
                              {"source": "spool", "platform": None, "name": "videos", "value": 1}]
    assert service.run("refresh", "--json").json()["counts"] == []


def test_new_file_with_the_same_name_is_applied(service, spool, ada):
    for views in (10, 20, 30):
        spool.drop("same.ndjson", [reading("a", at(views), views)])
        refresh(service)
    assert len(spool.done) == 3 and "same.ndjson" in spool.done and not spool.waiting
    contents = sorted((spool.path / "done" / name).read_text() for name in spool.done)
    assert [json.loads(content)["views"] for content in contents] == [10, 20, 30]
    spool.drop("same.ndjson", ["{"])
    refresh(service, status=1)
    spool.drop("same.ndjson", ["}"])
    refresh(service, status=1)
    assert len([name for name in spool.bad if name.endswith(".ndjson.errors")]) == 2
    assert len([name for name in spool.bad if name.endswith(".ndjson")]) == 2
    with service:
        assert views_of(service, ada, "a") == 30


def test_files_are_applied_in_order_of_modification(service, spool, ada):
    spool.drop("a-last.ndjson", [reading("a", at(3), 30)], modified=3000)
    spool.drop("z-first.ndjson", [reading("a", at(1), 10)], modified=1000)
    spool.drop("b-second.ndjson", [reading("a", at(2), 20)], modified=2000)
    spool.drop("c-second.ndjson", [reading("b", at(2), 5)], modified=2000)
    refresh(service)
    assert len(spool.done) == 4 and not spool.bad       # in any other order a reading would be rejected as stale


def test_entries_that_are_not_ndjson_files_are_ignored(service, spool, ada, tmp_path):
    outside = tmp_path / "outside"
    outside.write_text(json.dumps(reading("a", at(1), 5000)) + "\n")
    (spool.path / "link.ndjson").symlink_to(outside)
    (spool.path / "dangling.ndjson").symlink_to(tmp_path / "nothing")
    (spool.path / "directory.ndjson").mkdir()
    os.mkfifo(spool.path / "fifo.ndjson")
    for name in (".hidden.ndjson", "unfinished.ndjson.tmp", "other.json", "n" * 201 + ".ndjson"):
        spool.drop(name, [reading("a", at(1), 5000)])
    left = spool.waiting
    spool.drop("good.ndjson", [reading("a", at(1), 7)])
    finished = refresh(service)
    assert spool.done == ["good.ndjson"] and spool.waiting == left
    assert "fifo.ndjson is not a regular file and is ignored" in finished.err
    with service:
        assert views_of(service, ada, "a") == 7


def test_files_with_unusual_names_are_applied(service, spool, ada):
    names = ["empty.ndjson", "blank.ndjson", "-rf.ndjson", "a b\n\x1b[31m\".ndjson", "ünï.ndjson", "n" * 193 + ".ndjson", "%s%n.ndjson"]
    for name, lines in zip(names, ["", "\n \r\n", *[json.dumps(reading("a", at(i), i)) for i in range(5)]]):     # no newline at the end
        spool.drop(name, lines, modified=1000 + names.index(name))
    spool.drop(os.fsdecode(b"\xff\xfe.ndjson"), [reading("a", at(9), 99)])
    finished = refresh(service)
    assert sorted(spool.done) == sorted([*names, os.fsdecode(b"\xff\xfe.ndjson")]) and not spool.bad
    assert "\x1b" not in finished.err and finished.err.count("\n") == len(finished.err.splitlines())
    with service:
        assert views_of(service, ada, "a") == 99


def test_file_is_not_applied_while_it_is_written(service, spool, ada):
    """A program writes the file in the spool instead of renaming a complete file into it. No line is lost."""
    message = "slow.ndjson is still being written and is left for later"
    with service, open(spool.path / "slow.ndjson", "w") as file:
        wait.until(lambda: message in service.log, "the message about the empty file")
        for minute in range(500):
            file.write(json.dumps(reading("a", at(minute), minute + 1)) + "\n")
            file.flush()
        messages = service.log.count(message)
        file.write("\n")
        file.flush()
        wait.until(lambda: service.log.count(message) > messages + 1, "the message about the complete file")
        assert not spool.done
        file.close()            # the watch of the directory reports no close
        wait.until(lambda: views_of(service, ada, "a") == 500, "the finished file")
        wait.until(lambda: spool.done == ["slow.ndjson"], "the finished file to be moved away")
        assert not spool.bad


def read_position(pid, path):
    """Returns how many bytes of the file a process has read, or None if it does not have the file open."""
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):
            if os.readlink(f"/proc/{pid}/fd/{name}") == str(path):
                return int(pathlib.Path(f"/proc/{pid}/fdinfo/{name}").read_text().split()[1])
    return None


def test_file_that_changes_during_reading_is_applied_later(service, spool, ada):
    """The writer has closed the file, so only its size and time show the change. No line is applied before the
    next run reads the file again."""
    path = spool.path / "changing.ndjson"
    spool.drop(path.name, [reading("a", at(minute), minute + 1) for minute in range(1440)] * 60)
    size = path.stat().st_size
    # The command inherits the processor of this test, so it cannot read the whole file between two checks.
    with pinned_to_our_processor([]):
        process = service.command("refresh")
        wait.until(lambda: (read_position(process.pid, path) or 0) > 0, "the file to be read", pause_most=0)
        process.send_signal(signal.SIGSTOP)
    position = read_position(process.pid, path)
    assert position and position < size, "too fast: the test needs a larger file"
    with open(path, "a") as file:
        file.write(json.dumps(reading("b", at(1), 7)) + "\n")
    process.send_signal(signal.SIGCONT)
    _, err = process.communicate(timeout=120)
    assert b"changing.ndjson is still being written and is left for later" in err, err
    assert spool.waiting == ["changing.ndjson"]
    with service:
        wait.until(lambda: spool.done == ["changing.ndjson"], "the file to be read again")
        assert (views_of(service, ada, "a"), views_of(service, ada, "b")) == (1440, 7) and not spool.bad


def test_report_of_a_bad_file_is_written_by_a_later_run_if_it_cannot_be_written_at_first(service, spool, ada):
    obstacle = spool.path / "bad" / ".f.ndjson.errors"
    obstacle.mkdir(parents=True)
    spool.drop("f.ndjson", [reading("a", at(1), 10), "{", reading("a", at(2), 20)])
    finished = refresh(service, status=3)
    assert "f.ndjson was read, but the report of its bad lines cannot be written to bad/" in finished.err
    refresh(service, status=3)
    obstacle.rmdir()
    refresh(service)
    assert spool.bad == ["f.ndjson", "f.ndjson.errors"] and not spool.waiting
    assert [line for line, _ in spool.errors("f.ndjson")] == [2]         # a reading applied twice would also be reported
    with service:
        assert views_of(service, ada, "a") == 20


def test_later_run_finishes_a_file_whose_name_is_not_utf8(service, spool, ada):
    """The database has a record of the file until it was moved. PostgreSQL stores only UTF-8."""
    name = os.fsdecode(b"\xff" * 150 + b".ndjson")
    obstacle = spool.path / "bad" / f".{name}.errors"
    obstacle.mkdir(parents=True)
    spool.drop(name, [reading("a", at(1), 10), "{", reading("a", at(2), 20)])
    refresh(service, status=3)
    obstacle.rmdir()
    refresh(service)
    assert spool.bad == [name, f"{name}.errors"] and not spool.waiting
    assert [line for line, _ in spool.errors(name)] == [2]      # a reading applied twice would also be reported


def test_recreated_spool_directory_is_watched_again(service, spool, ada):
    with service:
        first_run(service)
        spool.drop("one.ndjson", [reading("a", at(1), 10)])
        wait.until(lambda: spool.done, "the first file")
        shutil.rmtree(spool.path)
        spool.path.mkdir()
        spool.drop("two.ndjson", [reading("a", at(2), 20)])
        wait.until(lambda: spool.done == ["two.ndjson"], "the file in the new directory")
        moved = spool.path.rename(spool.path.with_name("moved"))
        wait.until(lambda: "cannot be watched" in service.log, "the message that it is missing")
        moved.rename(spool.path)
        spool.drop("three.ndjson", [reading("a", at(3), 30)])
        wait.until(lambda: "three.ndjson" in spool.done, "the file in the restored directory")
        wait.until(lambda: "is watched again" in service.log, "the directory to be watched again")
        assert views_of(service, ada, "a") == 30


def test_two_servers_share_one_spool(service, spool, ada, make_viewtally, clock):
    """Each file is applied by one server, and both serve the result."""
    other = make_viewtally({"store": service.settings["store"], "refresh": service.settings["refresh"]}, clock=clock)
    values = [1000, 10000, None, 50000]         # None: the viral event, whose views are the threshold of 10,000
    with service, other, service.client(ada) as client:
        for n in range(30):
            spool.drop(f"{n:02}.ndjson", [reading("a", at(n), 100 * (n + 1) ** 2)], modified=1000 + n)
        wait.until(lambda: len(spool.done) == 30, "all files")
        assert not spool.bad and not spool.waiting
        assert views_of(other, ada, "a") == views_of(service, ada, "a") == 90000
        assert [event.get("milestone") for event in client.get("/events").json()["data"]] == values
        days = client.get("/stats", {"start_date": "2026-07-09", "end_date": "2026-07-09"}).json()["data"][0]["days"]
        assert [day["views"] for day in days] == [90000]


def big_file(seed=1):
    """Thousands of readings at many times, mixed with bad lines of all kinds."""
    rng = random.Random(seed)
    lines = [author("Eve"), video("e", "Eve", POSTED, ("youtube", "tiktok"))]
    for minute in range(1400):
        for name, platform in (("a", "youtube"), ("b", "youtube"), ("e", "youtube"), ("e", "tiktok")):
            lines.append(reading(name, at(minute), minute * rng.randrange(1, 60), platform, likes=rng.randrange(100)))
        if minute % 50 == 0:
            lines += ["nonsense", reading("nobody", at(minute), 1), reading("a", "2026-06-01T00:00:00Z", 1)]
    rng.shuffle(lines)
    return lines


def results(installation, key):
    with installation, installation.client(key) as client:
        events = [{**event, "id": None} for event in client.get("/events", {"limit": 100}).json()["data"]]
        return client.get("/videos").json()["data"], events, client.get("/stats", {"start_date": "2026-07-01", "end_date": "2026-07-10"}).json()


def test_kill_9_at_any_time_does_not_affect_the_result(service, spool, ada, clock, make_viewtally, tmp_path):
    lines = big_file()
    straight = make_viewtally(clock=clock)
    straight.import_lines(WORLD)
    key = straight.create_key(uid("Ada"))
    straight.import_lines(lines, status=1)
    spool.drop("big.ndjson", lines)
    killed = 0
    for attempt in range(40):                   # the first process is killed before it starts, the last one completes
        process = service.command("refresh")
        try:
            process.communicate(timeout=0.005 * 1.3 ** attempt)
            break
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            killed += 1
            clock.advance(31_000)               # the lease of the killed process expires
    assert killed >= 3 and process.returncode in (0, 1)     # 0: the process before was killed after it had finished
    refresh(service)
    assert spool.bad == ["big.ndjson", "big.ndjson.errors"] and not spool.waiting and not spool.done
    wrong = [number for number, line in enumerate(lines, 1)
             if line == "nonsense" or line.get("post_id") == "youtube-nobody" or line.get("observed_at") == "2026-06-01T00:00:00Z"]
    assert [line for line, _ in spool.errors("big.ndjson")] == wrong
    assert results(service, ada) == results(straight, key)


def test_applied_files_are_deleted_after_thirty_days(service, spool, ada, clock):
    spool.drop("old.ndjson", [reading("a", at(1), 1)], modified=1)      # the modification time does not count
    refresh(service)
    (spool.path / "done" / "notes.txt").write_text("not a spool file")
    (spool.path / "done" / "link.ndjson").symlink_to("notes.txt")
    now = int((spool.path / "done" / "old.ndjson").stat().st_ctime * 1000)
    for days, kept in ((29, True), (31, False)):
        clock.set_wall(now + days * DAY)
        refresh(service)
        assert spool.done == ["link.ndjson", "notes.txt"] + ["old.ndjson"] * kept
    service.configure({"refresh": {"keep_done_days": 0}})
    spool.drop("kept.ndjson", [reading("a", at(2), 2)])
    refresh(service)
    clock.set_wall(now + 4000 * DAY)
    refresh(service)
    assert "kept.ndjson" in spool.done


def test_wrong_clock_deletes_no_applied_files(service, spool, ada, clock):
    spool.drop("one.ndjson", [reading("a", at(1), 1)])
    refresh(service)
    clock.set_wall(int((spool.path / "done" / "one.ndjson").stat().st_ctime * 1000))
    with service:
        first_run(service)      # a server stores the expiry floor
        wait.until(lambda: service.sql("SELECT count(*) FROM meta WHERE key LIKE 'expiry_%'")[0][0], "the floor")
    clock.advance(3652 * DAY)
    refresh(service)
    assert spool.done == ["one.ndjson"]


def test_status_reports_waiting_files(service, spool, ada):
    for name in ("one.ndjson", "two.ndjson"):
        spool.drop(name, [reading("a", at(1), 1)])
    size = sum((spool.path / name).stat().st_size for name in spool.waiting)
    assert service.run("status", "--json", status=None).json()["backlog"] == [{"source": "spool", "files": 2, "bytes": size}]
    refresh(service)
    assert service.run("status", "--json", status=None).json()["backlog"] == [{"source": "spool", "files": 0, "bytes": 0}]


def test_documented_example_feeds_the_spool(service, spool, ada, tmp_path):
    text = (ROOT / "docs/data-in.md").read_text(encoding="utf-8")
    example = re.search(r"```\n(your-exporter .*?)```", text, re.S).group(1).replace("/var/spool/viewtally", str(spool.path))
    lines = tmp_path / "lines"
    lines.write_text(json.dumps(reading("a", at(1), 42)) + "\n")
    with service:
        first_run(service)
        subprocess.run(["sh", "-ec", example.replace("your-exporter", f"cat {lines}")], check=True)
        wait.until(lambda: spool.done, "the file of the example")
        assert re.fullmatch(r"views-\d{8}T\d{6}\.ndjson", spool.done[0]) and not spool.waiting
        assert views_of(service, ada, "a") == 42
