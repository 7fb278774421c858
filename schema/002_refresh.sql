-- The hourly refresh: who may run it, and what each run did.
PRAGMA user_version = 2;

-- One row. Whoever holds the lease may apply readings of a run; `fence` grows with every change of hands, and each transaction of
-- a run checks it, so a process that slept cannot write with a lease that has gone to another.
CREATE TABLE refresh_lease (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    fence      INTEGER NOT NULL,
    holder     TEXT    NOT NULL,  -- host, process id and a random part; '' when nobody holds it
    taken_at   INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
INSERT INTO refresh_lease (id, fence, holder, taken_at, expires_at) VALUES (1, 0, '', 0, 0);

CREATE TABLE refresh_runs (
    id          INTEGER PRIMARY KEY,
    cause       INTEGER NOT NULL,  -- 0 schedule, 1 command, 2 a file in the spool: then only the spool was read
    holder      TEXT    NOT NULL,
    started_at  INTEGER NOT NULL,
    finished_at INTEGER,           -- NULL: at work, or lost
    outcome     INTEGER,           -- 0 done, 1 done in part, 2 failed, 3 stopped, 4 lost (killed, or it slept too long); NULL: at work
    why         TEXT,              -- of a failure, a sentence
    -- A run of all sources that came to its end: no other is due for its hour.
    is_whole    INTEGER GENERATED ALWAYS AS (cause <> 2 AND outcome IN (0, 1)) VIRTUAL
) STRICT;
CREATE INDEX refresh_runs_whole ON refresh_runs (is_whole, id);
CREATE INDEX refresh_runs_open ON refresh_runs (outcome) WHERE outcome IS NULL;

-- What a run did, for each source and platform (-1: not of one platform, as a line that could not be read).
CREATE TABLE refresh_counts (
    run_id   INTEGER NOT NULL REFERENCES refresh_runs (id) ON DELETE CASCADE,
    source   INTEGER NOT NULL,  -- 0 spool, 1 simulated, 2 platforms
    platform INTEGER NOT NULL,
    name     TEXT    NOT NULL,  -- 'videos', 'accepted', 'viral_events', 'milestone_events', 'rejected:<reason>', 'bad_lines'
    value    INTEGER NOT NULL,
    PRIMARY KEY (run_id, source, platform, name)
) STRICT, WITHOUT ROWID;

-- A spool file from its first transaction until it has been moved away. A crash in between finds here how far it got, and what
-- was wrong with it so far.
CREATE TABLE spool_files (
    id          INTEGER PRIMARY KEY,
    name        TEXT    NOT NULL UNIQUE,
    size        INTEGER NOT NULL,
    inode       INTEGER NOT NULL,
    modified_ns INTEGER NOT NULL,
    applied_at  INTEGER,          -- NULL: not all of it is applied yet
    step_at     INTEGER,          -- the last step that is applied: its observed_at
    step_author BLOB              -- and author
) STRICT;

CREATE TABLE spool_errors (
    file_id INTEGER NOT NULL REFERENCES spool_files (id) ON DELETE CASCADE,
    line    INTEGER NOT NULL,
    reason  TEXT    NOT NULL,
    PRIMARY KEY (file_id, line)
) STRICT, WITHOUT ROWID;
