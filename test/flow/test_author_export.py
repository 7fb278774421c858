"""author export and the import of its files: what they contain, equal responses, and lines that must be rejected."""
import hashlib
import json
import re
import stat
import threading

import pytest

from lib import oauth
from lib.lines import author, book, reading, uid, video
from lib.viewtally import Viewtally

DAY = "2026-07-01T00:00:00Z"
OLD_DAY = "2026-06-25T00:00:00Z"


def at(day, hour=0):
    return f"2026-07-{day:02}T{hour:02}:00:00Z"


def world_lines(name):
    return [author(name), book(f"{name} book", name), book(f"{name} other", name, subtitle="Ü 😀"),
            video(f"{name} one", name, DAY, ("youtube", "tiktok"), book_id=uid(f"{name} book")),
            video(f"{name} two", name, OLD_DAY, ("facebook",), title=None), video(f"{name} draft", name),
            reading(f"{name} one", at(2), 900, likes=3), reading(f"{name} one", at(3), 20000, comments=0), reading(f"{name} one", at(3), 70, "tiktok"),
            reading(f"{name} two", at(2), 1500, "facebook", baseline=True), reading(f"{name} two", at(4), 2700, "facebook")]


@pytest.fixture
def source(viewtally):
    """Ann, with keys and an app, and Bob."""
    viewtally.import_lines(world_lines("Ann") + world_lines("Bob"))
    viewtally.anns = viewtally.create_key(uid("Ann"))
    viewtally.run("key", "revoke", viewtally.run("key", "create", "--author", uid("Ann"), "--name", "old", "--json").json()["id"])
    return viewtally


@pytest.fixture
def target(source, tmp_path):
    return Viewtally(tmp_path / "target", clock=source.clock)


def export(instance, name="Ann"):
    return instance.run("author", "export", uid(name), "-").out


def sealed(lines):
    """The text of an export with these lines and a correct last line. Each line is an object or a text."""
    texts = [line if isinstance(line, str) else json.dumps(line, separators=(",", ":"), ensure_ascii=False) for line in lines]
    content = "".join(text + "\n" for text in texts)
    return content + json.dumps({"type": "end", "lines": len(texts), "sha256": hashlib.sha256(content.encode()).hexdigest()}, separators=(",", ":")) + "\n"


def lines_of(text):
    return [json.loads(line) for line in text.splitlines()][:-1]


def events_of(instance, name):
    return [line for line in lines_of(export(instance, name)) if line["type"] == "event"]


def rows(instance):
    """The number of rows of each table."""
    return {table: instance.sql(f"SELECT count(*) FROM {table}")[0][0] for table in instance.tables()}


# --- the file ---

def test_export_writes_a_private_file_and_never_replaces_a_file(source):
    printed = source.run("author", "export", uid("Ann"), "ann.ndjson").out
    path = source.directory / "ann.ndjson"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert printed == f"Exported author {uid('Ann')} to ann.ndjson: 2 books, 3 videos, {printed.split(', ')[2].split()[0]} events, 2 keys.\n"
    assert path.read_text(encoding="utf-8") == export(source)
    refused = source.run("author", "export", uid("Ann"), "ann.ndjson", status=1)
    assert "ann.ndjson already exists, and nothing was written: name a new file" in refused.err
    source.run("author", "export", uid("Ann"), "missing/ann.ndjson", status=3)
    assert "no author has this id" in source.run("author", "export", uid("Nobody"), "x.ndjson", status=1).err
    assert "no author has this id" in source.run("author", "export", uid("Nobody"), "-", status=1).err
    source.run("author", "export", uid("Ann"), "/dev/full", status=2)
    assert sorted(entry.name for entry in source.directory.glob("*ndjson*")) == ["ann.ndjson"]


def test_export_contains_hashes_but_no_secrets(source):
    source.run("author", "set-login", uid("Ann"), "ann@example.com")
    text = export(source)
    assert hashlib.sha256(source.anns.encode()).hexdigest() in text
    assert source.anns not in text and "ann@example.com" not in text and uid("Bob") not in text
    assert source.run("author", "export", "ann@example.com", "-").out == text


# --- import ---

def test_author_imported_while_the_server_runs_gives_the_same_responses_as_at_the_source(source, target):
    target.ensure_database()
    target.import_lines(world_lines("Carl"))
    with source, target:
        result = target.run("import", "-", stdin=export(source))
        assert "exports    1 imported, 0 rejected\nauthors    1 new" in result.out
        with source.client(source.anns) as left, target.client(source.anns) as right:
            for path in ("/account", "/books", "/videos", "/events", "/stats?start_date=2026-06-20&end_date=2026-07-20",
                         "/stats?start_date=2026-06-20&end_date=2026-07-20&group_by=platform", "/events?after=latest"):
                assert left.get(path).body == right.get(path).body, path
    assert export(target) == export(source)
    actions = [entry["action"] for entry in target.run("audit", "--author", uid("Ann"), "--json").json()]
    assert actions[-1] == "author.imported" and "key.created" not in actions


def test_later_readings_of_an_imported_author_give_the_same_results_as_at_the_source(source, target):
    """The source and the target import the same later readings. Event ids continue to ascend."""
    target.run("import", "--create", "-", stdin=export(source))
    for instance in (source, target):
        instance.import_lines([reading("Ann one", at(5), 60000), reading("Ann two", at(6), 9000000, "facebook"), video("Ann new", "Ann", at(5))])
    left, right = (lines_of(export(instance)) for instance in (source, target))
    ids = [int(line.pop("id").removeprefix("evt_")) for line in right if line["type"] == "event"]
    assert ids == sorted(ids) and len(set(ids)) == len(ids) > 5
    assert [line for line in left if line["type"] in ("state", "gains", "video")] == [line for line in right if line["type"] in ("state", "gains", "video")]


def test_export_whose_posted_at_is_later_than_the_last_reading_can_be_imported(source, target):
    """An import may have moved posted_at to a time after a stored reading. Only new readings are compared with
    posted_at."""
    source.import_lines([video("Ann one", "Ann", at(5), ("youtube", "tiktok"), book_id=uid("Ann book"))])
    target.run("import", "--create", "-", stdin=export(source))
    assert at(5)[:-1] in export(source) and export(target) == export(source)


def test_one_file_may_contain_several_exports_and_other_lines(source, target):
    other = "".join(json.dumps(line) + "\n" for line in world_lines("Carl") + [reading("Ann one", at(5), 60000)])
    result = target.run("import", "--create", "--json", "-", stdin=export(source) + other + export(source, "Bob")).json()
    assert result["exports"] == {"imported": 2, "rejected": 0} and result["authors"]["new"] == 3
    assert result["videos"]["new"] == 9 and result["readings"]["rejected"] == 0
    assert export(target, "Bob") == export(source, "Bob")


def test_dry_run_changes_nothing(source, target):
    target.ensure_database()
    before = rows(target)
    result = target.run("import", "--dry-run", "-", stdin=export(source))
    assert "Dry run" in result.out and "exports    1 imported" in result.out and rows(target) == before


def test_apps_whose_keys_are_imported_are_registered_as_removed(source, target):
    app = oauth.add_app(source)
    source.sql("UPDATE api_keys SET app_id = (SELECT id FROM apps) WHERE name = 'test'")
    target.run("import", "--create", "-", stdin=export(source))
    assert export(target) == export(source)
    assert target.sql("SELECT client_id, secret_hash, removed_at IS NOT NULL FROM apps") == [(app["client_id"], None, True)]
    target.sql("UPDATE apps SET name = 'Another'")
    assert target.sql("SELECT count(*) FROM app_redirects") == [(0,)]
    target.run("author", "erase", uid("Ann"))
    refused = target.run("import", "--allow-erased", "-", stdin=export(source), status=1)
    assert "client_id belongs to an app with another name or home_url in this database" in refused.err


def test_erased_author_is_imported_only_on_request(source):
    text = export(source)
    with_keys = lines_of(text)
    source.run("author", "erase", uid("Ann"))
    refused = source.run("import", "-", stdin=text, status=1)
    assert refused.err == "-:1: this author was erased (to create the author again, import with --allow-erased)\n"
    source.run("import", "--allow-erased", "-", stdin=text)
    assert lines_of(export(source)) == with_keys


def test_spool_rejects_an_export(source):
    spool = source.directory / "spool"
    spool.mkdir()
    text = export(source)
    source.run("author", "erase", uid("Ann"))
    (spool / "ann.ndjson").write_text(text, encoding="utf-8")
    source.run("refresh", env={"VIEWTALLY_REFRESH_SOURCE": "spool", "VIEWTALLY_REFRESH_SPOOL_DIR": str(spool)}, status=None)
    errors = (spool / "bad" / "ann.ndjson.errors").read_text(encoding="utf-8")
    assert errors == "1: an export of an author cannot be imported here: import the file with viewtally import\n"
    assert source.run("author", "export", uid("Ann"), "-", status=1).out == ""


# --- event ids ---

def test_event_ids_of_another_author_are_rejected(source, target):
    target.run("import", "--create", "-", stdin=export(source))
    lines = lines_of(export(source, "Bob"))
    ids = {line["id"] for line in lines_of(export(source)) if line["type"] == "event"}
    events = [line for line in lines if line["type"] == "event"]
    events[2]["id"] = max(ids, key=lambda text: int(text[4:]))
    for number, event in enumerate(events[3:], 1):
        event["id"] = f"evt_{int(events[2]['id'][4:]) + number}"
    first, second = int(min(ids, key=lambda text: int(text[4:]))[4:]) - 20, int(min(ids, key=lambda text: int(text[4:]))[4:]) - 10
    events[0]["id"], events[1]["id"] = f"evt_{first}", f"evt_{second}"
    text = sealed(lines)
    number = 1 + lines.index(events[2])
    before = rows(target)
    refused = target.run("import", "-", stdin=text, status=1)
    assert refused.err == (f"-:{number}: another author of this database has an event with the id {events[2]['id']}: import with --new-event-ids "
                           "(clients then receive the author's events once more)\n")
    assert rows(target) == before
    target.run("import", "--new-event-ids", "-", stdin=text)
    new = events_of(target, "Bob")
    assert len(new) == len(events) and min(int(line["id"][4:]) for line in new) > max(int(text[4:]) for text in ids)
    assert [{**line, "id": 0} for line in new] == [{**line, "id": 0} for line in events]


def test_export_of_an_installation_whose_clock_was_wrong_is_imported_with_new_event_ids(source, target):
    now = source.clock.wall_ms
    source.clock.set_wall(now + 20 * 24 * 3600 * 1000)
    source.import_lines(world_lines("Eve"))
    source.clock.set_wall(now)
    text = export(source, "Eve")
    target.run("import", "--create", "-", stdin=export(source))
    refused = target.run("import", "-", stdin=text, status=1)
    assert "the highest id that an import accepts at present: import with --new-event-ids (clients then receive" in refused.err
    target.run("import", "--new-event-ids", "-", stdin=text)
    old, new = (events_of(installation, "Eve") for installation in (source, target))
    assert [{**line, "id": 0} for line in new] == [{**line, "id": 0} for line in old]
    assert max(int(line["id"][4:]) for line in new) < now + 1000 < min(int(line["id"][4:]) for line in old)


# --- lines that must be rejected ---

def find(lines, kind, number=0):
    return [line for line in lines if line["type"] == kind][number]


def change(kind, number=0, **fields):
    def apply(lines):
        line = find(lines, kind, number)
        line.update(fields)
        return 1 + lines.index(line)
    return apply


def nested(kind, number, name, index, **fields):
    def apply(lines):
        find(lines, kind, number)[name][index].update(fields)
        return 1 + lines.index(find(lines, kind, number))
    return apply


def twice(kind, number=0):
    def apply(lines):
        at_index = lines.index(find(lines, kind, number))
        lines.insert(at_index + 1, dict(lines[at_index]))
        return at_index + 2
    return apply


def without(kind, number=0, name=None):
    def apply(lines):
        line = find(lines, kind, number)
        at_index = lines.index(line)
        if name:
            del line[name]
        else:
            lines.remove(line)
        return at_index + 1
    return apply


def moved_to_end(title):
    def apply(lines):
        line, = [line for line in lines if line.get("title") == title]
        lines.remove(line)
        lines.append(line)
        return len(lines)
    return apply


def reordered(lines):
    """Reverses the fields of the state line: valid JSON, but not what an export writes. Returns the number of the last
    line."""
    state = find(lines, "state")
    position = lines.index(state)
    lines[position] = dict(reversed(state.items()))
    return len(lines) + 1


BIG = 2 ** 53
HUGE = 10 ** 30
# The state lines are, in this order: one (two posts, viral), two (baseline), draft.
BAD = [
    ("an export has one author, in its first line", lambda lines: lines.insert(1, json.dumps(lines[0])) or 2),
    ("the export has format 2, and this version of viewtally reads format 1", change("author", export=2)),
    ("name is missing", without("author", name="name")),
    ("planactive is not a field of the author of an export (did you mean plan_active?)", change("author", planactive=True)),
    ("hash is not 64 lower-case hexadecimal digits", change("key", hash="G" * 64)),
    ("hash is shorter than 64 bytes", change("key", hash="0" * 63)),
    ("hash is empty", change("key", hash="")),
    ("suffix is longer than 4 bytes", change("key", suffix="abcde")),
    ("the database has a key with this id or hash", twice("key")),
    ("client_id is not the client_id of a preceding app line", change("key", client_id="unknown")),
    ("the database has a book with this id", twice("book")),
    ("author_id is not the author of the export", change("book", author_id=uid("Bob"))),
    ("title, subtitle or created_at is missing", without("book", name="subtitle")),
    ("author_id is not the author of the export", change("video", author_id=uid("Bob"))),
    ("author_id is not the author of the export", without("video", name="author_id")),
    ("book_id, title or thumbnail_url is missing", without("video", name="title")),
    ("a post lacks post_id, url or posted_at", lambda lines: find(lines, "video")["posts"][0].pop("url") or 1 + lines.index(find(lines, "video"))),
    ("the posts are not in the order tiktok", lambda lines: find(lines, "video")["posts"].reverse() or 1 + lines.index(find(lines, "video"))),
    ("a video and its state are not in two adjacent lines", twice("video")),
    ("a video and its state are not in two adjacent lines", without("state")),
    ("a video and its state are not in two adjacent lines", twice("state")),
    ("video_id is not the id of the video in the line before", change("state", video_id=uid("Bob one"))),
    ("the posts of the state differ from the posts of the video", lambda lines: find(lines, "state")["posts"].pop() and 1 + lines.index(find(lines, "state"))),
    ("the posts of the state differ from the posts of the video", nested("state", 0, "posts", 0, platform="pinterest")),
    ("posts[0].views is negative", nested("state", 0, "posts", 0, views=-1)),
    ("posts[0].views is too large", nested("state", 0, "posts", 0, views=BIG)),
    ("posts[1].likes is too large", nested("state", 0, "posts", 1, likes=HUGE)),
    ("posts[0].views is not an integer", nested("state", 0, "posts", 0, views=1.5)),
    ("baseline and the days sum up to less than the views of the posts", nested("state", 0, "posts", 0, views=71)),
    ("baseline and the days sum up to more than the views of the posts", nested("state", 0, "days", 0, views=901)),
    ("baseline and the days sum up to more than the views of the posts", nested("state", 0, "days", 0, views=5 * (BIG - 1))),
    ("days[0].views is too large", nested("state", 0, "days", 0, views=5 * BIG)),
    ("the days do not ascend", lambda lines: find(lines, "state")["days"].reverse() or 1 + lines.index(find(lines, "state"))),
    ("the days do not ascend", nested("state", 0, "days", 1, date="2026-07-02")),
    ("a day is before the first reading or after the last one", nested("state", 0, "days", 0, date="2026-07-01")),
    ("a day is before the first reading or after the last one", nested("state", 0, "days", 1, date="2026-07-04")),
    ("days[0].date is not a date like 2026-06-15", nested("state", 0, "days", 0, date="2026-02-30")),
    ("a day has no views", nested("state", 0, "days", 0, views=0)),
    ("baseline is above the views", change("state", 1, baseline=3000)),
    ("a post has views, but no views_updated_at", nested("state", 0, "posts", 0, views_updated_at=None)),
    ("a post has a later views_updated_at than the video", nested("state", 0, "posts", 0, views_updated_at="2026-07-03T00:00:00.001Z")),
    ("first_reading_at is after views_updated_at", change("state", first_reading_at="2026-07-04T00:00:00Z")),
    ("first_reading_at and views_updated_at must both be null", change("state", first_reading_at=None)),
    ("views_updated_at is in the future", change("state", views_updated_at="2999-01-01T00:00:00Z")),
    ("a milestone is above the views", change("state", 1, milestones=[{"views": 10000, "reached_at": "2026-07-02T00:00:00Z"}])),
    ("a milestone is not one of 1000, 10000", nested("state", 0, "milestones", 0, views=1001)),
    ("a milestone is not one of 1000, 10000", nested("state", 0, "milestones", 0, views=0)),
    ("the milestones do not ascend", nested("state", 0, "milestones", 1, views=1000)),
    ("a milestone was reached after views_updated_at", nested("state", 0, "milestones", 1, reached_at="2026-07-09T00:00:00Z")),
    ("a milestone was reached earlier than a lower milestone", nested("state", 0, "milestones", 1, reached_at="2026-07-01T00:00:00Z")),
    ("went_viral_at and views_when_viral must both be null or both be given", change("state", views_when_viral=None)),
    ("views_when_viral is above the views", change("state", views_when_viral=10 ** 6)),
    ("views_when_viral is below the threshold", change("state", views_when_viral=10)),
    ("went_viral_at is after views_updated_at", change("state", went_viral_at="2026-07-09T00:00:00Z")),
    ("the views reach the threshold, but went_viral_at is null", change("state", 1, threshold=2000)),
    ("author_median_views is null with 5 or more compared_videos", change("state", 1, compared_videos=7)),
    ("compared_videos is too large", change("state", 1, compared_videos=501, author_median_views=5)),
    ("corrected is true, but neither a milestone nor", change("state", 1, corrected=True)),
    ("views_source is too large", nested("state", 0, "posts", 0, views_source=256)),
    ("days has more than 4000 items", change("state", days=[{"date": "2026-07-02", "views": 1}] * 4001)),
    ("milestones has more than 36 items", change("state", milestones=[{"views": 1000, "reached_at": DAY}] * 37)),
    ("days[0] is not an object", change("state", days=[17])),
    ("the platforms gained more views than the videos on this date", lambda lines: find(lines, "gains", 1).update(views=10 ** 9) or 1 + lines.index(find(lines, "gains", 1))),
    ("the baselines of the platforms are larger than those of the videos", lambda lines: find(lines, "gains").update(views=10 ** 18) or 1 + lines.index(find(lines, "gains"))),
    ("the gains lines are not in ascending order of date and platform", twice("gains", 1)),
    ("views is 0", change("gains", 1, views=0)),
    ("views is too large", change("gains", views=HUGE)),
    ("the ids of the events do not ascend", twice("event")),
    ("id is not evt_ and a positive number", change("event", id="evt_0")),
    ("id is not evt_ and a positive number", change("event", id="evt_-1")),
    ("id is not evt_ and a positive number", change("event", id="evt_99999999999999999999")),
    ("the highest id that an import accepts at present", change("event", id=f"evt_{2 ** 62}")),
    ("video_id is not a video of the export", change("event", video_id=uid("Bob one"))),
    ("the event is not among the milestones of its video", change("event", milestone=50000)),
    ("the event is not among the milestones of its video", change("event", occurred_at="2026-07-09T00:00:00Z")),
    ("event is not video.went_viral or video.milestone_reached", change("event", event="video.gone")),
    ("video.milestone_reached needs a milestone, and no views, threshold or author_median_views", change("event", views=1)),
    ("the lines of the export are not in the required order", moved_to_end("Ann other")),
    ("type is not one of app, key, book", change("gains", type="reading")),
    ("is not a string", change("book", title=5)),
    ("an export of what was imported would differ", reordered),
]


def test_bad_exports_are_rejected_with_line_and_reason_and_change_nothing(source, target):
    """All bad exports are in one input. The good one at its end shows that they have changed nothing."""
    target.ensure_database()
    target.import_lines(world_lines("Carl"))
    good = export(source)
    text, expected, before = "", [], 0
    for reason, damage in BAD:
        lines = lines_of(good)
        number = damage(lines)
        text += sealed(lines)
        expected.append((before + number, reason))
        before += len(lines) + 1
    count_before = rows(target)
    rejected = target.run("import", "-", stdin=text, status=1)
    found = [(int(number), reason) for number, reason in re.findall(r"^-:(\d+): (.*)$", rejected.err, re.M)]
    assert [number for number, _ in found] == [number for number, _ in expected], list(zip(found, expected))
    for (_, reason), (number, wanted) in zip(found, expected):
        assert wanted in reason, f"line {number}: {wanted!r} expected, {reason!r} reported"
    assert f"exports    0 imported, {len(BAD)} rejected" in rejected.out and rows(target) == count_before
    target.run("import", "-", stdin=good)
    assert export(target) == good


def reported(instance, text):
    """Imports bytes that must be rejected. Returns what was reported."""
    return instance.run("import", "-", stdin=text, status=1).err


def test_damaged_files_are_rejected(source, target):
    target.ensure_database()
    good = export(source).encode()
    lines = good.splitlines(keepends=True)
    missing = '-:1: the last line of this export, {"type":"end",…}, is missing, so nothing of it was imported: was the file truncated?\n'
    for cut in range(len(lines) - 1, 1, -3):
        assert reported(target, b"".join(lines[:cut])) == missing
    assert reported(target, b"".join(lines[:4]) + lines[4][:30]) == missing
    assert reported(target, b"".join(lines[:-1])) == missing
    assert reported(target, b"".join(lines[:-1]) * 2).count("is missing, so nothing of it was imported") == 2
    damaged = f"-:{len(lines)}: sha256 does not match the preceding lines: the export is damaged or was edited\n"
    assert reported(target, good.replace(b'"name":"Ann"', b'"name":"Ane"')) == damaged
    assert reported(target, good.replace(b"Ann one", b"Ann o\xffe")).startswith("-:6: not valid JSON")
    assert "-:3: not valid JSON" in reported(target, b"".join(lines[:2]) + b"\n" + b"".join(lines[2:]))
    assert "lines are missing or were added" in reported(target, b"".join(lines[:-2]) + lines[-1])
    assert "the line is longer than 1 MiB" in reported(target, b"".join(lines[:2]) + b"x" * (1 << 20) + b"x\n" + b"".join(lines[2:]))
    outside = reported(target, b"".join(lines[1:]))
    assert outside.startswith("-:1: a line of this type is only valid within an export")
    assert rows(target)["authors"] == rows(target)["events"] == rows(target)["api_keys"] == 0
    target.run("import", "-", stdin=good)


def test_import_into_a_database_that_has_the_author_changes_nothing(source):
    text = export(source)
    assert "-:1: the database already has this author: import the export into another database" in reported(source, text)
    assert export(source) == text


def test_ids_and_posts_of_another_author_are_rejected(source, target):
    """The other author has been imported from the same source, under another id."""
    lines = lines_of(export(source))
    target.run("import", "--create", "-", stdin=export(source))

    def attempt(*kinds):
        """Returns Ann's export with Bob's author id, and with new ids in the lines of the given types."""
        text = sealed(lines).replace(uid("Ann"), uid("Bob"))
        for kind in kinds:
            for line in lines:
                if line["type"] == kind:
                    text = text.replace(line["id"], uid("new " + line["id"]))
        if "key" in kinds:
            for line in lines:
                if line["type"] == "key":
                    text = text.replace(line["hash"], hashlib.sha256(line["hash"].encode()).hexdigest())
        return sealed([json.loads(line) for line in text.splitlines()][:-1])
    before = rows(target)
    for kinds, reason in (((), "the database has a key with this id or hash"), (("key",), "the database has a book with this id"),
                          (("key", "book"), "the database has a video with this id"), (("key", "book", "video"), "a post_id belongs to another video")):
        assert reason in reported(target, attempt(*kinds))
    assert rows(target) == before


# --- while the server writes ---

def test_export_is_one_snapshot_while_readings_are_applied(source):
    """The sums of each export made while readings arrive are consistent, so another database accepts it."""
    stop, failures = threading.Event(), []

    def write():
        views = 20000
        while not stop.is_set():
            views += 1000
            try:
                source.import_lines([reading("Ann one", at(4, 1), views), reading("Ann one", at(4, 1), views // 2, "tiktok")])
            except AssertionError as failure:
                failures.append(failure)
                return
    writer = threading.Thread(target=write)
    writer.start()
    try:
        texts = [export(source) for _ in range(5)]
    finally:
        stop.set()
        writer.join()
    assert not failures
    for number, text in enumerate(texts):
        other = Viewtally(source.directory / f"other{number}", clock=source.clock)
        other.run("import", "--create", "-", stdin=text)
        assert export(other) == text
