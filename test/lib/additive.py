"""The rules for additive migrations: a program that was written for the older schema can use the migrated database.

docs/internals.md explains the rules. The code checks statements only. The author of a migration
must check that old programs tolerate new values and rows.
"""
import re
import sqlite3

COMMENT = re.compile(r"--[^\n]*")
DECLARED = re.compile(r"^-- additive: (yes|no)$", re.M)
CREATE_TABLE = re.compile(r"CREATE TABLE (\w+) \(", re.I)
CREATE_INDEX = re.compile(r"CREATE (UNIQUE )?INDEX (\w+) ON (\w+) ", re.I)
DROP_INDEX = re.compile(r"DROP INDEX (\w+)", re.I)
CREATE_TRIGGER = re.compile(r"CREATE TRIGGER \w+ AFTER .* BEGIN UPDATE (\w+) SET (\w+) = [^,;]*; END", re.I)
NOTE = re.compile(r"INSERT INTO meta \(", re.I)
ADD_COLUMN = re.compile(r"ALTER TABLE (\w+) ADD COLUMN (.*)", re.I)
CLEAR = re.compile(r"UPDATE \w+ SET \w+ = NULL WHERE ", re.I)
INSERT = re.compile(r"INSERT INTO (\w+) \(", re.I)
VERSION = re.compile(r"PRAGMA user_version = \d+", re.I)
REFERENCE = re.compile(r"REFERENCES (\w+) \(\w+\)( ON DELETE (CASCADE|SET NULL))?", re.I)


def is_declared_additive(text):
    declared, = DECLARED.findall(text)
    return declared == "yes"


def statements(text):
    """Yields the statements of a migration without comments, on one line each."""
    statement = ""
    for part in re.split(r"(?<=;)", COMMENT.sub("", text)):
        statement += part
        if sqlite3.complete_statement(statement):
            yield " ".join(statement.split()).rstrip("; ")
            statement = ""
    assert not statement.strip(), f"not a complete statement: {statement}"


class Program:
    """What the statements of the program (src/store/queries.h and others) do to the tables."""

    def __init__(self, sql):
        self.deletes_from = set(re.findall(r"DELETE FROM (?:main\.)?(\w+)", sql))
        self.replaces_rows_of = set(re.findall(r"INSERT OR REPLACE INTO (?:main\.)?(\w+)", sql))


def _finding(statement, created, program, text):
    if VERSION.fullmatch(statement):
        return None
    reference = next((match for match in REFERENCE.finditer(statement) if not match[2]
                      and match[1] not in created and match[1] in program.deletes_from), None)
    if reference:
        return f"an older program could no longer delete rows of {reference[1]}: add ON DELETE CASCADE or SET NULL"
    if match := CREATE_TABLE.match(statement):
        created.add(match[1])
        return None
    if match := CREATE_INDEX.match(statement):
        return "an older program may write rows that violate a UNIQUE index" if match[1] and match[3] not in created else None
    if (match := DROP_INDEX.match(statement)) and re.search(rf"CREATE INDEX {match[1]} ON", text):
        return None     # the index gets other columns; statements of older programs that name it still work
    if (match := CREATE_TRIGGER.match(statement)) and f"{match[1]}.{match[2]}" in created:
        return None     # older programs do not read a column that they do not know
    if NOTE.match(statement):
        return None     # older programs do not read keys of meta that they do not know
    if CLEAR.match(statement):
        return None     # older programs expect NULL in a nullable column
    if match := ADD_COLUMN.match(statement):
        created.add(f"{match[1]}.{match[2].split()[0]}")
        if re.search(r"\bNOT NULL\b", match[2], re.I) and not re.search(r"\bDEFAULT\b", match[2], re.I):
            return "a NOT NULL column needs a DEFAULT"
        return f"older programs replace rows of {match[1]} and would reset the column" if match[1] in program.replaces_rows_of else None
    if match := INSERT.match(statement):
        return None if match[1] in created else f"inserts rows into the existing table {match[1]}"
    return "not additive"


def findings(text, program):
    """Returns the reasons why a migration is not additive, each with its statement."""
    created = set()
    found = ((statement, _finding(statement, created, program, text)) for statement in statements(text))
    return [f"{reason}: {statement}" for statement, reason in found if reason]
