-- Hashes of the ids of erased authors. With them, a restore of an older backup erases these authors again.
-- additive: yes
-- cost: constant
PRAGMA user_version = 16;

CREATE TABLE erased_authors (
    hash      BLOB    PRIMARY KEY CHECK (length(hash) = 32),  -- SHA-256 of a prefix and the author's UUID (src/store/erase.c)
    erased_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
