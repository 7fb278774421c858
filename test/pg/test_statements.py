"""Every statement on a real PostgreSQL: it can be prepared, its types are those that viewtally encodes and decodes, and
its plan reads few rows.

The statements come from build/MODE/pg_statements (test/pg/pg_statements.c).
"""
import json
import pathlib
import re
import sqlite3

import pytest
from lib.pgdriver import statement_texts
from lib.postgres import SUPERUSER, SqlError

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SCHEMA = "".join(path.read_text() for path in sorted((ROOT / "schema/pg").glob("*.sql")))
FILL = (pathlib.Path(__file__).parent / "fill.sql").read_text()
TYPES = {"bigint", "text", "bytea", "uuid"}
PARAMETER_TYPES = TYPES | {"bigint[]", "bytea[]", "text[]"}
RESULT_TYPES = TYPES | {"boolean"}
# What `viewtally migrate` sets for the role.
ROLE_SETTINGS = ("plan_cache_mode = force_generic_plan", "enable_bitmapscan = off", "enable_hashjoin = off", "enable_mergejoin = off", "jit = off",
                 "random_page_cost = 1.1")

# Statements that may sort any number of rows, with the reason. A sort of rows that a LIMIT has bounded is allowed.
SORTED = {"CREDENTIAL_ERRORS": "`platform status`, an operator's command", "APP_WITH_REDIRECTS": "the redirect URIs of one app"}
# Statements that may read a whole table or index, with the reason.
SCANNED = {
    "STORE_ID": "one row", "NEW_STORE_ID": "one row", "MOVE_META": "a few rows",
    "MOVE_CLEAR_META": "a few rows", "MOVE_STORE_ID": "one row",
    "AUTHORS": "the command that lists all authors", "APPS": "the command that lists all apps",
    "PENDING": "all of a partial index", "RUNS_ABANDON": "all of a partial index",
}
# Statements that read a range of an index without a condition `=` on its first column.
RANGES = {
    "VIDEO_INSERT": "the ids of the author's videos", "ANCESTOR": "the rows of meta with a prefix, for `restore`",
}
# Statements that read such a range for several authors. No request runs one of them.
SEVERAL_AUTHORS = {
    "AUTHOR_NEXT", "DAYS_OF_VIDEOS", "CREDENTIALS", "WEBHOOKS", "WEBHOOKS_DUE", "WEBHOOK_SECRETS", "WEBHOOK_REQUESTS", "APP_SECRETS",
    "AUDIT_ALL", "AUDIT_OLD", "SESSIONS_PURGE", "DEVICES_PURGE", "LINKS_PURGE", "CODES_PURGE_IDLE", "CODES_PURGE_SPENT",
    "RUNS", "RUNS_PRUNE", "SPOOL_NEXT",
}
# Statements whose plan is only good once the tables have statistics.
NEEDS_STATISTICS = {
    "VIDEOS_COUNT_LIVE": "counts the posts of an author at the start of a refresh run",
    "WEBHOOKS_DUE": "PostgreSQL 17 begins with the authors while both tables are empty",
}


@pytest.fixture(scope="module")
def statements():
    return {s.name: (s.count, s.postgres) for s in statement_texts()}


@pytest.fixture(scope="module")
def empty(cluster):
    cluster.sql("CREATE DATABASE statements_empty", "postgres")
    cluster.sql(SCHEMA, "statements_empty")
    return "statements_empty"


@pytest.fixture(scope="module")
def filled(cluster):
    cluster.sql("CREATE DATABASE statements_filled", "postgres")
    cluster.sql(SCHEMA + FILL, "statements_filled")
    cluster.sql("VACUUM ANALYZE", "statements_filled")
    return "statements_filled"


def run_each(cluster, database, statements, make):
    """Runs SQL for each statement in one session and returns the output by the name of the statement."""
    script = "".join(f"\\echo == {name}\n{make(name, *statement)}\n" for name, statement in statements.items())
    rows = cluster.sql(script, database)
    output, name = {}, None
    for row in rows:
        line = "\t".join(row)
        if line.startswith("== "):
            name = line[3:]
            output[name] = []
        else:
            output[name].append(line)
    return output


# -- types ---------------------------------------------------------------------------------------------------------------------------------------

def test_parameter_types_in_postgresql_match_those_that_viewtally_sends(cluster, empty, statements):
    types = run_each(cluster, empty, statements, lambda name, count, text: f"PREPARE {name} AS {text};\n"
                     f"SELECT unnest(parameter_types) FROM pg_prepared_statements WHERE name = '{name.lower()}';")
    assert types.keys() == statements.keys()
    assert {name: found for name, found in types.items() if set(found) - PARAMETER_TYPES or len(found) != statements[name][0]} == {}


def test_result_types_in_postgresql_match_those_that_viewtally_reads(cluster, empty, statements):
    columns = run_each(cluster, empty, statements, lambda name, count, text: f"{text} \\gdesc")
    wrong = {}
    for name, lines in columns.items():
        for line in lines:
            column, _, kind = line.partition("\t")
            if kind and kind not in RESULT_TYPES:
                wrong[name] = (column, kind)
    assert wrong == {}
    assert sum("\tuuid" in line for lines in columns.values() for line in lines) > 20     # the descriptions were really read


# -- plans ---------------------------------------------------------------------------------------------------------------------------------------

def plans(cluster, database, statements, *settings):
    def explain(name, count, text):
        arguments = f"({', '.join(['NULL'] * count)})" if count else ""
        return f"PREPARE q AS {text};\nEXPLAIN (FORMAT JSON) EXECUTE q{arguments};\nDEALLOCATE q;"
    session = "".join(f"SET {setting};\n" for setting in (*ROLE_SETTINGS, *settings))
    cluster.sql("SELECT 1", database)
    first = next(iter(statements))
    output = run_each(cluster, database, statements, lambda name, count, text: (session if name == first else "") + explain(name, count, text))
    return {name: json.loads("\n".join(lines))[0]["Plan"] for name, lines in output.items()}


def nodes(plan):
    yield plan
    for child in plan.get("Plans", ()):
        yield from nodes(child)


def leading_column(cluster, database):
    """Returns {index: its first column}."""
    return dict(cluster.sql("SELECT c.relname, a.attname FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid "
                            "JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0] WHERE c.relnamespace = 'public'::regnamespace",
                            database))


def findings(name, plan, leading):
    """Yields the parts of a plan that are not allowed: sorts, full scans, and joins and scans that do not use an index
    directly."""
    for node in nodes(plan):
        kind, condition = node["Node Type"], node.get("Index Cond", "")
        if "Sort" in kind and name not in SORTED and all(below["Node Type"] != "Limit" for below in nodes(node)):
            yield f"{name}: sorts by {node['Sort Key']}"
        if ("Hash" in kind and kind != "Aggregate") or "Bitmap" in kind or "Merge" in kind:
            yield f"{name}: {kind}"
        if name in SCANNED or name.startswith("MOVE_LAST_"):        # MOVE_LAST_… reads one row: LIMIT 1
            continue
        if kind == "Seq Scan" or ("Index" in kind and not condition):
            yield f"{name}: reads all of {node['Relation Name']}"
        elif "Index" in kind and name not in SEVERAL_AUTHORS | RANGES.keys() and not name.startswith("MOVE_LIST_") and not re.search(rf"\({leading[node['Index Name']]} = ", condition):
            yield f"{name}: reads a range of {node['Index Name']}: {condition}"


@pytest.mark.parametrize("kind", ["filled", "empty"])
def test_query_plans_read_few_rows(cluster, request, statements, kind):
    """Plans must be good even in an empty database, because a session keeps them until the next ANALYZE. In the filled
    one, the test disables full scans, which PostgreSQL would choose for such small tables."""
    database = request.getfixturevalue(kind)
    made = plans(cluster, database, statements, *(["enable_seqscan = off"] if kind == "filled" else []))
    leading = leading_column(cluster, database)
    for name in NEEDS_STATISTICS if kind == "empty" else ():
        del made[name]
    assert "\n".join(found for name, plan in made.items() for found in findings(name, plan, leading)) == ""


def test_each_listed_exception_is_needed(cluster, filled, statements):
    made = plans(cluster, filled, statements, "enable_seqscan = off")
    kinds = {name: {node["Node Type"] for node in nodes(plan)} for name, plan in made.items()}
    assert {name for name in SORTED if "Sort" not in kinds[name]} == set()
    assert (SCANNED.keys() | SEVERAL_AUTHORS | RANGES.keys()) - statements.keys() == set()
    scans = {name: [node for node in nodes(made[name]) if "Scan" in node["Node Type"]] for name in SCANNED.keys() | SEVERAL_AUTHORS | RANGES.keys()}
    assert {name for name, found in scans.items() if all(" = $" in node.get("Index Cond", "") for node in found)} == set()


@pytest.mark.parametrize("text, found", [
    ("SELECT id FROM videos WHERE views = $1", "reads all of videos"),
    ("SELECT id FROM videos WHERE id > $1 LIMIT 1", "reads a range of videos_pkey"),
    ("SELECT id FROM videos WHERE author_id = $1 ORDER BY views", "sorts by"),
    ("SELECT id FROM videos ORDER BY id LIMIT $1", "reads all of videos"),
])
def test_query_plans_with_full_scans_range_scans_or_sorts_are_found(cluster, filled, text, found):
    made = plans(cluster, filled, {"BAD": (1, text)}, "enable_seqscan = off")
    assert [finding for finding in findings("BAD", made["BAD"], leading_column(cluster, filled)) if found in finding]


# -- effects -------------------------------------------------------------------------------------------------------------------------------------

def test_saving_a_reading_changes_no_index(cluster, filled, statements):
    updates = {
        "SAVE_COUNTS": "($1, 100, 10, 5, 6, 7, 8, '\\x01', '\\x02', '\\x03')",
        "AUTHOR_TOUCH": "(1, 99)",
        "AUTHOR_SET_LAST_EVENT_ID": "(1, 99)",
    }
    script = "".join(f"PREPARE {name} AS {statements[name][1]};\nEXECUTE {name}{values.replace('$1', '(1 << 24) + 3')};\n" for name, values in updates.items())
    counted = cluster.sql(f"BEGIN;\n{script}SELECT relname, n_tup_upd, n_tup_hot_upd FROM pg_stat_xact_user_tables "
                          "WHERE relname IN ('authors', 'videos') ORDER BY relname; ROLLBACK;", filled)
    assert counted == [["authors", "2", "2"], ["videos", "1", "1"]]


def test_ordinary_rows_stay_uncompressed_in_the_table(cluster, empty):
    columns = "id, author_id, uuid, compared_videos, threshold, posts, days"
    cluster.sql(f"INSERT INTO videos ({columns}) VALUES (1, 1, gen_random_uuid(), 0, 1, decode(repeat('00', 900), 'hex'), decode(repeat('00', 300), 'hex')), "
                "(2, 1, gen_random_uuid(), 0, 1, decode(repeat('ab', 12288), 'hex'), '')", empty)
    assert cluster.sql("SELECT pg_column_size(posts) - length(posts) <= 4, pg_column_size(days) - length(days) <= 4 FROM videos WHERE id = 1", empty) == [["t", "t"]]
    assert cluster.sql("SELECT posts = decode(repeat('ab', 12288), 'hex') FROM videos WHERE id = 2", empty) == [["t"]]
    cluster.sql("DELETE FROM videos", empty)


def test_statement_that_cannot_be_prepared_is_found(cluster, empty):
    with pytest.raises(SqlError, match="ifnull"):
        run_each(cluster, empty, {"BAD": (0, "SELECT ifnull(1, 2)")}, lambda name, count, text: f"PREPARE {name} AS {text};")


# -- the schema ----------------------------------------------------------------------------------------------------------------------------------

def sqlite_columns():
    """Names and NOT NULL of the columns of each table. A primary key of one column cannot be NULL."""
    database = sqlite3.connect(":memory:")
    for path in sorted((ROOT / "schema").glob("*.sql")):
        database.executescript(path.read_text())
    tables = [name for name, in database.execute("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
    return {(table, row[1]): bool(row[3] or row[5]) for table in tables for row in database.execute(f"PRAGMA table_xinfo({table})")}


def test_tables_and_columns_are_those_of_sqlite(cluster, empty):
    rows = cluster.sql("SELECT c.relname, a.attname, a.attnotnull FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid "
                       "WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0", empty)
    postgres = {(table, column): not_null == "t" for table, column, not_null in rows}
    sqlite = {key: not_null for key, not_null in sqlite_columns().items() if key[0] != "daily" and key != ("videos", "recent")}
    assert {key for key in postgres.keys() - sqlite.keys() if key[0] not in ("store", "barriers")} == set()
    assert sqlite.keys() - postgres.keys() == set()
    assert {key for key, not_null in sqlite.items() if not_null != postgres[key]} == set()


def test_columns_have_four_types_and_texts_compare_bytes(cluster, empty):
    rows = cluster.sql("SELECT c.relname, a.attname, format_type(a.atttypid, NULL), coalesce(l.collname, '') FROM pg_attribute a "
                       "JOIN pg_class c ON c.oid = a.attrelid LEFT JOIN pg_collation l ON l.oid = a.attcollation "
                       "WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND c.relname <> 'barriers'", empty)
    assert {tuple(row) for row in rows if row[2] not in TYPES or (row[2] == "text") != (row[3] == "C")} == set()


def test_references_to_authors_and_keys_have_an_index(cluster, empty):
    """When PostgreSQL deletes a row, it looks for rows that refer to it. A restore deletes all authors and keys."""
    assert cluster.sql("SELECT conname FROM pg_constraint k WHERE contype = 'f' AND confrelid IN ('authors'::regclass, 'api_keys'::regclass) AND NOT EXISTS "
                       "(SELECT FROM pg_index i WHERE i.indrelid = k.conrelid AND i.indkey[0] = k.conkey[1] AND i.indpred IS NULL)", empty) == []


def test_role_with_rights_on_rows_only_can_insert_an_author(cluster, empty):
    """The id is an identity column, so no right on its sequence is needed."""
    cluster.sql("CREATE ROLE serving LOGIN; GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO serving", empty)
    cluster.sql("INSERT INTO authors (uuid, created_at, name) VALUES (gen_random_uuid(), 1, 'a')", empty, user="serving")
    assert cluster.sql("SELECT count(*) FROM authors", empty, user=SUPERUSER) == [["1"]]
