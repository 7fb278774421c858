"""`viewtally import`: every kind of bad line and its reason, dry runs, huge and truncated files."""
import contextlib
import json
import os
import pathlib
import re
import resource
import signal
import sqlite3
import subprocess
import threading

import pytest

from lib import wait
from lib.doctor import use_link
from lib.lines import author, book, post, reading, uid, video
from lib.viewtally import SANITIZER_REPORT, encode_lines

POSTED = "2026-07-01T08:00:00Z"
WORLD = [author("Ada"), author("Bob"), book("Novel", "Ada", created_at="2026-01-01T00:00:00Z"),
         book("Tales", "Bob", created_at="2026-01-01T00:00:00Z"), video("a", "Ada", POSTED), video("b", "Bob", POSTED),
         reading("a", "2026-07-09T00:00:00Z", 10), reading("b", "2026-07-09T00:00:00Z", 10)]
PLATFORMS = "is not one of: tiktok instagram youtube facebook pinterest"
TIME = "is not a UTC time like 2026-06-15T12:00:00Z"
URL = "is not an http or https URL"


def without(line, *names):
    return {name: value for name, value in line.items() if name not in names}


def new_video(**fields):
    return video("new", "Ada", **fields)


def with_post(**fields):
    return new_video(posts=[{name: value for name, value in {**post("new", POSTED), **fields}.items() if value is not ...}])


def count(value, name="views"):
    return {**reading("a", "2026-07-09T01:00:00Z"), name: value}


def raw_count(text):
    return f'{{"type":"reading","platform":"youtube","post_id":"youtube-a","observed_at":"2026-07-09T01:00:00Z","views":{text}}}'


BAD = [
    # JSON
    ("{", "not valid JSON: the line ends too early"),
    ('{"type":"author","id":', "not valid JSON: the line ends too early"),
    ('{"type":"author"} x', re.compile(r"not valid JSON: .+ at byte 19")),
    ("{'type':'author'}", re.compile(r"not valid JSON: .+ at byte 2")),
    ("type,id", re.compile(r"not valid JSON: .+ at byte \d+")),
    ('{"type":"author","id":NaN}', re.compile(r"not valid JSON: .+ at byte \d+")),
    (b'{"type":"author","name":"\xff"}', re.compile(r"not valid JSON: .+ at byte \d+")),
    (b'{"type":"author","name":"\xed\xa0\x80"}', re.compile(r"not valid JSON: .+ at byte \d+")),
    (b'{"type":"author","name":"\xc0\xaf"}', re.compile(r"not valid JSON: .+ at byte \d+")),
    ('{"type":"author","name":"\\ud800"}', re.compile(r"not valid JSON: .+ at byte \d+")),
    (b'{"type":"author"}\x00', re.compile(r"not valid JSON: .+ at byte \d+")),
    ("[" * 100_000, re.compile(r"not valid JSON: .+")),
    ("[]", "not a JSON object"), ("null", "not a JSON object"), ('"author"', "not a JSON object"), ("1", "not a JSON object"),
    ("[" * 500 + "]" * 500, "not a JSON object"),
    # type
    ("{}", "type is missing"), ({"type": 1}, "type is not a string"), ({"type": None}, "type is not a string"),
    ({"type": "Author"}, "type is not one of author, book, video, reading"), ({"type": ""}, "type is not one of author, book, video, reading"),
    # authors
    (without(author("New"), "id"), "id is missing"), (author("New", id=None), "id is null"), (author("New", id=7), "id is not a UUID"),
    (author("New", id="x" * 36), "id is not a UUID"), (author("New", id="{" + uid("x") + "}"), "id is not a UUID"),
    (without(author("New"), "name"), "name is missing"), (author("New", name=""), "name is empty"), (author("New", name=None), "name is null"),
    (author("New", name=5), "name is not a string"), (author("New", name=["x"]), "name is not a string"),
    (author("New", name="x" * 2001), "name is longer than 2000 bytes"), (author("New", name="é" * 1001), "name is longer than 2000 bytes"),
    (author("New", name="a\0b"), "name contains U+0000"), (author("New", plan_active=1), "plan_active is not true or false"),
    (author("New", plan_active="true"), "plan_active is not true or false"), (author("New", plan_active=None), "plan_active is null"),
    (f'{{"type":"author","id":"{uid("New")}","name":"a","name":"a"}}', "name is given twice"),
    (f'{{"type":"author","id":"{uid("New")}","name":"a","type":"author"}}', "type is given twice"),
    # books
    (without(book("New", "Ada"), "author_id"), "author_id is missing"), (book("New", "Nobody"), "author_id is unknown"),
    (book("New", "Ada", author_id=None), "author_id is null"), (without(book("New", "Ada"), "title"), "title is missing"),
    (book("New", "Ada", title=""), "title is empty"), (book("New", "Ada", title=None), "title is null"),
    (book("New", "Ada", subtitle="x" * 2001), "subtitle is longer than 2000 bytes"),
    (book("Novel", "Bob"), "id belongs to another author"), (book("Novel", "Nobody"), "author_id is unknown"),
    (book("New", "Ada", created_at="2026-02-30T00:00:00Z"), f"created_at {TIME}"),
    (book("New", "Ada", created_at="2026-02-03"), f"created_at {TIME}"),
    (book("New", "Ada", created_at="2026-02-03T00:00:00+01:00"), f"created_at {TIME}"),
    (book("New", "Ada", created_at=1767225600), f"created_at {TIME}"),
    (book("New", "Ada", created_at="1969-12-31T23:59:59Z"), f"created_at {TIME}"),
    (book("New", "Ada", created_at="2026-02-03T24:00:00Z"), f"created_at {TIME}"),
    # videos
    (without(new_video(), "author_id"), "author_id is missing"), (video("new", "Nobody"), "author_id is unknown"),
    (video("a", "Bob"), "id belongs to another author"), (new_video(book_id=uid("None")), "book_id is unknown"),
    (new_video(book_id=uid("Tales")), "book_id belongs to another author"), (new_video(book_id="x"), "book_id is not a UUID"),
    (new_video(title=""), "title is empty"), (new_video(title=1), "title is not a string"),
    (new_video(thumbnail_url="ftp://a/b"), f"thumbnail_url {URL}"), (new_video(thumbnail_url="https://"), f"thumbnail_url {URL}"),
    (new_video(thumbnail_url="https://a/b c"), f"thumbnail_url {URL}"), (new_video(thumbnail_url="https://a/\n"), f"thumbnail_url {URL}"),
    (new_video(thumbnail_url=""), f"thumbnail_url {URL}"), (new_video(thumbnail_url="https://" + "a" * 2041), "thumbnail_url is longer than 2048 bytes"),
    (new_video(posts={}), "posts is not a list"), (new_video(posts=None), "posts is not a list"), (new_video(posts=[1]), "posts[0] is not an object"),
    (with_post(platform="vine"), f"posts[0].platform {PLATFORMS}"), (with_post(platform=None), "posts[0].platform is null"),
    (with_post(platform=...), "posts[0].platform is missing"), (with_post(post_id=...), "posts[0].post_id is missing"),
    (with_post(post_id=""), "posts[0].post_id is empty"), (with_post(post_id="x" * 256), "posts[0].post_id is longer than 255 bytes"),
    (with_post(posted_at=...), "posts[0].posted_at is missing"), (with_post(posted_at="now"), f"posts[0].posted_at {TIME}"),
    (with_post(url="javascript:alert(1)"), f"posts[0].url {URL}"), (with_post(post_id="youtube-a"), "posts[0].post_id belongs to another video"),
    (new_video(posts=[post("new", POSTED), post("other", POSTED)]), "posts[1].platform is the same as in an earlier post"),
    (new_video(posts=[post("new", POSTED, "tiktok"), post("b", POSTED)]), "posts[1].post_id belongs to another video"),
    # unknown fields
    (author("New", plan=True), 'plan is not a field of an author (did you mean plan_active?)'),
    (book("New", "Ada", titel="x"), 'titel is not a field of a book (did you mean title?)'),
    (new_video(thumbnail="https://a.example"), 'thumbnail is not a field of a video (did you mean thumbnail_url?)'),
    (with_post(id="x"), 'id is not a field of a post'), (with_post(posted="now"), 'posted is not a field of a post (did you mean posted_at?)'),
    ({**count(5), "view": 6}, 'view is not a field of a reading (did you mean views?)'),
    (author("New", **{"a\0\x1b[2J\u2028": 1}), 'a\\u0000\\u001b[2J\\u2028 is not a field of an author'),
    (author("New", **{"": 1}), '"" is not a field of an author'),
    (author("New", **{"é" * 100: 1}), f'{"é" * 24} is not a field of an author'),
    # readings: fields
    (without(reading("a", POSTED), "platform"), "platform is missing"), (without(reading("a", POSTED), "post_id"), "post_id is missing"),
    (without(reading("a", POSTED), "observed_at"), "observed_at is missing"), (reading("a", "soon"), f"observed_at {TIME}"),
    (reading("a", POSTED, platform="Youtube"), f"platform {PLATFORMS}"), (reading("a", POSTED, baseline="yes"), "baseline is not true or false"),
    (count(-1), "views is negative"), (count("5"), "views is not an integer"), (count(1.5), "views is not an integer"), (count(True), "views is not an integer"),
    (raw_count("1e3"), "views is not an integer"), (raw_count("10.0"), "views is not an integer"), (count([]), "views is not an integer"),
    (raw_count("01"), re.compile(r"not valid JSON: .+ at byte \d+")), (raw_count("+1"), re.compile(r"not valid JSON: .+ at byte \d+")),
    (raw_count("9007199254740992"), "views is too large"), (raw_count("9" * 400), "views is too large"), (raw_count("-9" + "9" * 400), "views is negative"),
    (count(-1, "likes"), "likes is negative"), (count("x", "comments"), "comments is not an integer"), (count(2**53, "shares"), "shares is too large"),
    (count({}, "saves"), "saves is not an integer"),
    # readings: against the database
    (reading("nobody", "2026-07-09T01:00:00Z", 1), "unknown post"), (reading("a", "2026-07-09T01:00:00Z", 1, "tiktok"), "unknown post"),
    (reading("a", "2026-07-10T12:01:00.001Z", 1), "observed_at is more than 60 s in the future"),
    (reading("a", "9999-12-31T23:59:59Z", 1), "observed_at is more than 60 s in the future"),
    (reading("a", "2026-07-01T07:59:59.999Z", 1), "observed_at is before the post's posted_at"),
]


def as_bytes(line):
    return line if isinstance(line, bytes) else (line if isinstance(line, str) else json.dumps(line)).encode()


def rejections(done, name="-"):
    """Returns the rejected lines on standard error as {line number: reason}."""
    reasons = {}
    for line in done.err.splitlines():
        match = re.fullmatch(rf"{re.escape(str(name))}:(\d+): (.*)", line)
        assert match and int(match.group(1)) not in reasons, line
        reasons[int(match.group(1))] = match.group(2)
    return reasons


def summary(done):
    """The summary of an import as {first word: rest}."""
    return {line.split()[0]: line[10:].strip() for line in done.out.splitlines() if line[:1].strip() and not line.startswith("Dry")}


class World:
    def __init__(self, instance, lines=()):
        self.instance = instance
        self.clock = instance.clock
        instance.import_lines([*WORLD, *lines])
        self.keys = {name: instance.create_key(uid(name)) for name in ("Ada", "Bob")}

    def serve(self):
        self.instance.start()
        self.client = self.instance.client()
        return self

    def bodies(self):
        return {(name, path): self.client.get(path, key=key).body for name, key in self.keys.items()
                for path in ("/books", "/videos", "/stats", "/events")}

    def views(self, name="Ada"):
        return {item["title"]: item["views"] for item in self.client.get("/videos", {"limit": 100}, key=self.keys[name]).json()["data"]}


@pytest.fixture
def world(viewtally):
    return World(viewtally)


# --- bad lines ---


def test_bad_lines_are_reported_with_their_reason_and_change_nothing(world):
    world.serve()
    before = world.bodies()
    done = world.instance.import_lines(b"".join(as_bytes(line) + b"\n" for line, _ in BAD), status=1)
    reasons = rejections(done)
    for number, (line, reason) in enumerate(BAD, 1):
        actual = reasons.pop(number, None)
        assert actual and (reason.fullmatch(actual) if isinstance(reason, re.Pattern) else actual == reason), (as_bytes(line)[:200], actual)
    assert reasons == {}
    assert world.bodies() == before
    assert summary(done)["lines"] == f"{len(BAD)} read, 0 unchanged, 0 older, {len(BAD)} rejected"


def test_good_lines_between_bad_ones_are_applied(world):
    good = [video(f"good {i}", "Ada", POSTED) for i in range(len(BAD))] + [reading(f"good {i}", "2026-07-09T01:00:00Z", i) for i in range(len(BAD))]
    mixed, bad_at = [], []
    for i, line in enumerate(good):
        mixed.append(as_bytes(line))
        if i % 2:
            bad_at.append(len(mixed) + 1)
            mixed.append(as_bytes(BAD[i // 2][0]))
    done = world.instance.import_lines(b"\n".join(mixed) + b"\n", status=1)
    assert sorted(rejections(done)) == bad_at
    world.serve()
    every = {}
    cursor = None
    while True:
        page = world.client.get("/videos", {"limit": 100, "cursor": cursor}, key=world.keys["Ada"]).json()
        every.update({item["title"]: item["views"] for item in page["data"]})
        cursor = page["next_cursor"]
        if not cursor:
            break
    assert every == {"a": 10, **{f"good {i}": i for i in range(len(BAD))}}


def test_reading_after_30_days_is_rejected(world):
    world.clock.set_wall("2026-09-01T00:00:00Z")
    done = world.instance.import_lines([reading("a", "2026-07-31T08:00:00Z", 20), reading("a", "2026-07-31T08:00:00.001Z", 30)], status=1)
    assert rejections(done) == {2: "observed_at is after the video's posted_at + 30 days"}
    assert world.serve().views() == {"a": 20}


def test_unusual_but_valid_lines_are_accepted(world):
    """Blank lines, a byte order mark, CR LF, no final line end, unknown counts, upper-case ids."""
    lines = (b'\xef\xbb\xbf' + json.dumps(author("Ada", plan_active=True)).encode() + b"\r\n\r\n   \n\t\n" +
             as_bytes({**reading("a", "2026-07-09T01:00:00.123456789Z", None), "likes": None}) + b"\n" +
             as_bytes(video("a", "Ada", id=uid("a").upper())) + b"\n" +
             as_bytes(reading("a", "2026-07-09T02:00:00Z", 2**53 - 1)))
    done = world.instance.import_lines(lines)
    assert done.err == "" and summary(done)["lines"] == "4 read, 2 unchanged, 0 older, 0 rejected"
    assert world.serve().views() == {"a": 2**53 - 1}


def test_rejected_line_changes_nothing(world):
    """A video line with an invalid last post changes neither the title nor the valid post."""
    done = world.instance.import_lines([video("a", "Ada", title="Taken", posts=[post("a", POSTED, "tiktok"), post("b", POSTED, "youtube")])], status=1)
    assert rejections(done) == {1: "posts[1].post_id belongs to another video"}
    world.serve()
    (item,) = world.client.get("/videos", key=world.keys["Ada"]).json()["data"]
    assert item["title"] == "a" and [each["platform"] for each in item["platforms"]] == ["youtube"]


def test_order_of_lines_does_not_matter(make_viewtally, clock):
    lines = WORLD + [reading("a", "2026-07-09T05:00:00Z", 20000), reading("a", "2026-07-09T04:00:00Z", 1500), book("Late", "Ada", created_at=POSTED)]
    shown = []
    for order in (lines, lines[::-1]):
        world = World(make_viewtally(clock=clock))
        world.instance.import_lines(order)
        shown.append([{key: value for key, value in event.items() if key != "id"} for event in
                      world.serve().client.get("/events", key=world.keys["Ada"]).json()["data"]])
        world.instance.stop()
    assert shown[0] == shown[1] and len(shown[0]) == 3


# --- files ---


def test_one_call_imports_files_and_standard_input(world):
    directory = world.instance.directory
    (directory / "one.ndjson").write_bytes(encode_lines([reading("new", "2026-07-09T02:00:00Z", 7), "{"]))
    (directory / "two.ndjson").write_bytes(encode_lines([new_video(posts=[post("new", POSTED)])]))
    done = world.instance.run("import", "one.ndjson", "-", "two.ndjson", stdin=b"\n[]\n", status=1)
    assert sorted(done.err.splitlines()) == ["-:2: not a JSON object", "one.ndjson:2: not valid JSON: the line ends too early"]
    assert world.serve().views() == {"a": 10, "new": 7}


def test_unreadable_file_stops_the_import_before_anything_is_applied(world):
    (world.instance.directory / "good.ndjson").write_bytes(encode_lines([new_video(posts=[post("new", POSTED)])]))
    for bad, why in (("missing.ndjson", "No such file or directory"), (".", "Is a directory")):
        done = world.instance.run("import", "good.ndjson", bad, status=3)
        assert done.out == "" and done.err == f"viewtally import: the import stopped: {bad}: {why}\n"
    assert world.serve().views() == {"a": 10}


@pytest.mark.parametrize("cut", [1, 5, 60])
def test_truncated_file_is_applied_up_to_the_cut(world, cut):
    data = encode_lines([reading("a", f"2026-07-09T{hour:02}:00:00Z", hour * 100) for hour in range(1, 6)])
    done = world.instance.import_lines(data[:-cut], status=0 if cut == 1 else 1)
    assert rejections(done) == ({} if cut == 1 else {5: "not valid JSON: the line ends too early"})
    assert world.serve().views() == {"a": 500 if cut == 1 else 400}


def test_empty_file_changes_nothing(world):
    done = world.instance.import_lines(b"")
    assert done.err == "" and summary(done)["lines"] == "0 read, 0 unchanged, 0 older, 0 rejected"


def test_lines_above_1_mib_are_rejected(world):
    for length, reasons in ((1 << 20, {}), ((1 << 20) + 1, {1: "the line is longer than 1 MiB"})):
        line = as_bytes(author("Ada"))
        line += b" " * (length - len(line))
        assert len(line) == length
        assert rejections(world.instance.import_lines(line + b"\n", status=1 if reasons else 0)) == reasons


class Memory(threading.Thread):
    """Samples the memory of a process until the process ends; `most` is its peak resident memory in bytes."""

    def __init__(self, pid):
        super().__init__(daemon=True)
        self.path, self.most = f"/proc/{pid}/status", 0
        self.start()

    def run(self):
        try:
            while True:
                with open(self.path, encoding="ascii") as file:
                    most = re.search(r"VmHWM:\s+(\d+) kB", file.read())
                if not most:
                    return
                self.most = max(self.most, int(most.group(1)) * 1024)
        except OSError:
            return


def test_line_of_100_mb_takes_bounded_memory(world):
    process = world.instance.command("import", "-")
    memory = Memory(process.pid)
    chunk = b"x" * (1 << 20)
    process.stdin.write(as_bytes(reading("a", "2026-07-09T01:00:00Z", 20)) + b'\n{"type":"author","name":"')
    for _ in range(100):
        process.stdin.write(chunk)
    process.stdin.write(b'"}\n' + as_bytes(reading("a", "2026-07-09T02:00:00Z", 30)) + b"\n")
    _, err = process.communicate(timeout=60)
    assert process.returncode == 1 and err == b"-:2: the line is longer than 1 MiB\n"
    assert memory.most < (48 << 20) or "asan" in world.instance.binary, memory.most
    assert world.serve().views() == {"a": 30}


# --- dry run and replay ---


def test_dry_run_prints_a_report_and_changes_nothing(world):
    lines = [author("Ada", name="Ada L."), author("Cyd"), new_video(posts=[post("new", POSTED)]), reading("new", "2026-07-09T01:00:00Z", 20000),
             reading("a", "2026-07-09T01:00:00Z", 1000), reading("nobody", "2026-07-09T01:00:00Z", 1)]
    world.serve()
    before = world.bodies()
    files = sorted(os.listdir(world.instance.directory))
    dry = world.instance.run("import", "--dry-run", "-", stdin=encode_lines(lines), status=1)
    assert rejections(dry) == {6: "unknown post"} and dry.out.startswith("Dry run: nothing was changed.")
    assert world.bodies() == before and sorted(os.listdir(world.instance.directory)) == files
    assert {entry["name"] for entry in world.instance.run("author", "list", "--json").json()} == {"Ada", "Bob"}
    wet = world.instance.run("import", "-", stdin=encode_lines(lines), status=1)
    assert summary(dry) == summary(wet)
    assert summary(wet) == {"authors": "1 new, 1 changed, 0 unchanged", "books": "0 new, 0 changed, 0 unchanged",
                            "videos": "1 new, 0 changed, 0 unchanged", "readings": "2 applied, 0 unchanged, 0 older, 1 rejected",
                            "views": "20990 gained, 0 as baseline", "viral": "1 went viral, 0 of them by their baseline",
                            "events": "1 viral, 3 milestones", "lines": "6 read, 0 unchanged, 0 older, 1 rejected"}
    assert world.bodies() != before


def test_summary_counts_videos_that_their_baseline_makes_viral(world):
    """Finalizing finds "base". A step finds "both", which has a gain after its baseline."""
    first = "2026-07-08T00:00:00Z"
    lines = [video("base", "Ada", POSTED), reading("base", first, 20000, baseline=True),
             video("both", "Ada", POSTED), reading("both", first, 20000, baseline=True), reading("both", "2026-07-09T00:00:00Z", 30000),
             video("gain", "Ada", POSTED), reading("gain", first, 20000)]
    done = world.instance.import_lines(lines)
    assert summary(done)["viral"] == "3 went viral, 2 of them by their baseline" and summary(done)["events"].startswith("1 viral, ")


@pytest.mark.sqlite_only("locks the database file")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_during_the_copy_of_a_dry_run_leaves_no_copy(viewtally, number):
    """The copy can be as large as the database, and its name is hidden."""
    viewtally.ensure_database()
    with contextlib.closing(sqlite3.connect(viewtally.database, isolation_level=None)) as database:
        database.execute("PRAGMA locking_mode = EXCLUSIVE")
        database.execute("BEGIN EXCLUSIVE")         # the copy cannot begin
        process = viewtally.background("import", "--dry-run", "/dev/null")
        wait.until(lambda: process.poll() is not None or list(viewtally.directory.glob(".viewtally-dry-run-*")), "the copy to begin")
        process.send_signal(number)
        assert process.wait(60) == -number, process.output.read_text()
        database.execute("COMMIT")
    assert not list(viewtally.directory.glob(".viewtally*"))


@pytest.mark.sqlite_only("begins without a database")
def test_dry_run_creates_no_database(viewtally):
    assert "does not exist" in viewtally.run("import", "--dry-run", "-", stdin=encode_lines(WORLD), status=3).err
    done = viewtally.run("import", "--dry-run", "--create", "-", stdin=encode_lines(WORLD))
    assert summary(done)["authors"] == "2 new, 0 changed, 0 unchanged"
    assert not list(viewtally.directory.glob("viewtally.db*")) and not list(viewtally.directory.glob(".viewtally*"))


def test_importing_again_changes_nothing(world):
    lines = [*WORLD[:6], reading("a", "2026-07-09T01:00:00Z", 20000, likes=5), reading("a", "2026-07-09T02:00:00Z", 30000, likes=4)]
    world.instance.import_lines(lines)
    world.serve()
    before = world.bodies()
    for _ in range(3):
        done = world.instance.import_lines(lines)
        assert done.err == "" and summary(done)["readings"] == "0 applied, 1 unchanged, 1 older, 0 rejected"
        assert summary(done)["lines"] == "8 read, 7 unchanged, 1 older, 0 rejected"
        assert summary(done)["views"] == "0 gained, 0 as baseline" and summary(done)["events"] == "0 viral, 0 milestones"
        assert summary(done)["videos"] == "0 new, 0 changed, 2 unchanged"
        assert world.bodies() == before


def test_older_reading_in_another_file_is_not_an_error(world):
    done = world.instance.import_lines([reading("a", "2026-07-08T23:59:59.999Z", 1), reading("b", "2026-07-09T00:00:00Z", 10),
                                        reading("b", "2026-07-09T01:00:00Z", 10)])
    assert done.err == "" and summary(done)["readings"] == "1 applied, 1 unchanged, 1 older, 0 rejected"
    assert world.serve().views() == {"a": 10}


def test_unknown_fields_are_ignored_on_request(world):
    directory = world.instance.directory
    (directory / "one.ndjson").write_bytes(encode_lines([reading("a", "2026-07-09T02:00:00Z", 70)]))
    (directory / "two.ndjson").write_bytes(encode_lines(["", {**count(60), "rank": 1}, author("Ada", plan=False), {**count("x"), "rank": 1},
                                                         new_video(posts=[{**post("new", POSTED), "rank": {"a": []}}])]))
    done = world.instance.run("import", "--ignore-unknown", "one.ndjson", "two.ndjson", status=1)
    assert rejections(done, "two.ndjson") == {4: "views is not an integer"}
    assert summary(done)["fields"] == 'ignored in 3 lines, first in two.ndjson:2: rank is not a field of a reading'
    assert world.serve().views() == {"a": 70, "new": 0}


def test_summary_is_printed_as_json_on_request(world):
    lines = [author("Ada", plan=True), author("Cyd"), reading("a", "2026-07-09T02:00:00Z", 20000), reading("a", "2026-07-09T00:00:00Z", 10),
             reading("b", "2026-07-08T00:00:00Z", 10), reading("nobody", POSTED, 1)]
    expected = {"dry_run": True, "authors": {"new": 1, "changed": 0, "unchanged": 1}, "books": {"new": 0, "changed": 0, "unchanged": 0},
                "videos": {"new": 0, "changed": 0, "unchanged": 0}, "readings": {"applied": 1, "unchanged": 1, "older": 1, "rejected": 1},
                "views_gained": 19990, "views_as_baseline": 0, "went_viral": 1, "went_viral_by_baseline": 0, "viral_events": 1, "milestone_events": 2,
                "exports": {"imported": 0, "rejected": 0},
                "lines": {"read": 6, "unchanged": 2, "older": 1, "rejected": 1, "with_unknown_fields": 1}}
    arguments = ["import", "--json", "--ignore-unknown", "-"]
    assert world.instance.run(*arguments, "--dry-run", stdin=encode_lines(lines), status=1).json() == expected
    assert world.instance.run(*arguments, stdin=encode_lines(lines), status=1).json() == {**expected, "dry_run": False}


def test_progress_goes_to_standard_error(world):
    lines = encode_lines([reading("a", f"2026-07-09T{hour:02}:00:00Z", hour * 100) for hour in range(1, 20)])
    quiet = world.instance.run("import", "--dry-run", "-", stdin=lines)
    assert quiet.err == ""
    done = world.instance.run("import", "--progress", "-", stdin=lines)
    assert done.out == quiet.out.partition("\n")[2]
    assert re.search(r"^applying readings: 100 %", done.err, re.M) and "\r" not in done.err, done.err


def test_progress_bar_is_shown_on_a_terminal(world):
    """`script` runs the command on a terminal."""
    (world.instance.directory / "in.ndjson").write_bytes(encode_lines([author(f"a{i}") for i in range(5000)]))
    command = f"{world.instance.binary} import in.ndjson --config {world.instance.config_path}"
    done = subprocess.run(["script", "-qec", command, "/dev/null"], cwd=world.instance.directory, env=world.instance.environment(),
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0 and b"lines      5000 read" in done.stdout, done
    assert re.search(rb"\r\x1b\[K[a-z, ]+\[[#-]+\] +\d+ %", done.stdout), done


def test_import_leaves_no_file_beside_the_database(world):
    world.instance.import_lines([count(20), "{"], status=1)
    names = {path.name for path in world.instance.directory.iterdir()}
    assert {name for name in names if not name.startswith("viewtally.db")} == {"config.ini"}


# --- while the server runs ---


@pytest.mark.sqlite_only("a link to the database file")
def test_temporary_files_are_in_the_directory_of_the_database_behind_a_link(world):
    """They can be as large as the database, and `viewtally doctor` checks that directory."""
    instance = world.instance
    use_link(instance)
    process = instance.command("import", "-")

    def deleted():
        files = [os.readlink(file) for file in pathlib.Path(f"/proc/{process.pid}/fd").iterdir()]
        return {os.path.dirname(file) for file in files if file.endswith(" (deleted)")}
    wait.until(deleted, "the import to create its temporary files")
    assert deleted() == {str(instance.directory)}
    process.communicate(timeout=60)


def test_import_works_while_the_server_runs(world):
    """Every response during the import shows the state after a complete step; views never fall."""
    world.serve()
    hours = [f"2026-07-09T{hour:02}:{minute:02}:00Z" for hour in range(1, 24) for minute in range(60)]
    lines = [video(f"v{i}", "Ada", POSTED) for i in range(10)]
    lines += [reading(f"v{i}", hour, (n + 1) * 10) for n, hour in enumerate(hours) for i in range(10)]
    process = world.instance.command("import", "-")
    thread = threading.Thread(target=process.communicate, args=(encode_lines(lines),), daemon=True)
    thread.start()
    seen = [0]
    while thread.is_alive():
        views = {value for name, value in world.views().items() if name != "a"}
        assert len(views) <= 1, views                       # a step changes all ten videos or none
        seen.append(max(views, default=0))
        assert seen[-1] >= seen[-2]
    thread.join()
    assert process.returncode == 0
    wait.until(lambda: set(world.views().values()) == {10, len(hours) * 10}, "the last step")
    assert world.client.opened == 1


def test_broken_pipe_of_standard_error_does_not_crash_the_import(world):
    """`viewtally import … 2>&1 | head -1`: the reader of standard error exits early."""
    process = subprocess.Popen([world.instance.binary, "import", "-", "--config", str(world.instance.config_path)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=world.instance.environment())
    process.stdout.close()
    try:
        process.stdin.write(b"{\n" * 5000 + as_bytes(count(20)) + b"\n")
        process.stdin.close()
    except BrokenPipeError:
        pass
    assert process.wait(60) in (0, 1, 3, -13)
    assert world.serve().views()["a"] in (10, 20)


def test_file_size_limit_is_reported(world):
    """The import exits with 3 if a temporary file or the database cannot grow. Importing again completes the import."""
    lines = [video(f"v{i}", "Ada", POSTED, title="x" * 500) for i in range(2000)]

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, 600_000))

    done = subprocess.run([world.instance.binary, "import", "-", "--config", str(world.instance.config_path)], input=encode_lines(lines),
                          capture_output=True, env=world.instance.environment(), check=False, timeout=60, preexec_fn=limit)
    err = done.stderr.decode()
    assert done.returncode == 3 and "viewtally import: the import stopped: " in err and not SANITIZER_REPORT.search(err), err
    world.instance.import_lines(lines)
    world.serve()
    assert world.client.get("/account", key=world.keys["Ada"]).json()["data"]["videos_count"] == 2001
