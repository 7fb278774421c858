-- The hourly refresh: the lease, the runs and their results, and the files of the spool.
-- additive: yes
-- cost: constant
PRAGMA user_version = 2;

-- One row. Only the holder of the lease may apply readings of a run. `fence` grows with every change of the holder, and each
-- transaction of a run checks it, so a process that was suspended cannot write after another process has acquired the lease.
CREATE TABLE refresh_lease (
    id         INTEGER PRIMARY KEY CHECK (id = 1),
    fence      INTEGER NOT NULL,
    holder     TEXT    NOT NULL,  -- host, process id and a random part; '' if no process holds it
    taken_at   INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT;
INSERT INTO refresh_lease (id, fence, holder, taken_at, expires_at) VALUES (1, 0, '', 0, 0);

CREATE TABLE refresh_runs (
    id          INTEGER PRIMARY KEY,
    cause       INTEGER NOT NULL,  -- 0 schedule, 1 command, 2 a new file in the spool (then only the spool is read)
    holder      TEXT    NOT NULL,
    started_at  INTEGER NOT NULL,
    finished_at INTEGER,           -- NULL: running, or abandoned and not marked yet
    outcome     INTEGER,           -- 0 succeeded, 1 partial, 2 failed, 3 stopped, 4 abandoned; NULL: running
    why         TEXT,              -- the error of a failed run, as a sentence
    -- 1: the run read all sources to the end, so no other run is due in the same hour.
    is_whole    INTEGER GENERATED ALWAYS AS (cause <> 2 AND outcome IN (0, 1)) VIRTUAL
) STRICT;
CREATE INDEX refresh_runs_whole ON refresh_runs (is_whole, id);
CREATE INDEX refresh_runs_open ON refresh_runs (outcome) WHERE outcome IS NULL;

-- The results of a run by source and platform. platform is -1 if a result belongs to no platform, such as an invalid line.
CREATE TABLE refresh_counts (
    run_id   INTEGER NOT NULL REFERENCES refresh_runs (id) ON DELETE CASCADE,
    source   INTEGER NOT NULL,  -- 0 spool, 1 simulated, 2 platforms
    platform INTEGER NOT NULL,
    name     TEXT    NOT NULL,  -- 'videos', 'accepted', 'viral_events', 'milestone_events', 'rejected:<reason>', 'bad_lines'
    value    INTEGER NOT NULL,
    PRIMARY KEY (run_id, source, platform, name)
) STRICT, WITHOUT ROWID;

-- A file of the spool, from its first transaction until it is moved to done/ or bad/. After a crash, the next run continues at the
-- position recorded here and still knows the lines that were rejected before.
CREATE TABLE spool_files (
    id          INTEGER PRIMARY KEY,
    name        TEXT    NOT NULL UNIQUE,
    size        INTEGER NOT NULL,
    inode       INTEGER NOT NULL,
    modified_ns INTEGER NOT NULL,
    applied_at  INTEGER,          -- NULL: not applied completely yet
    step_at     INTEGER,          -- observed_at of the last step that was applied
    step_author BLOB              -- author of that step
) STRICT;

CREATE TABLE spool_errors (
    file_id INTEGER NOT NULL REFERENCES spool_files (id) ON DELETE CASCADE,
    line    INTEGER NOT NULL,
    reason  TEXT    NOT NULL,
    PRIMARY KEY (file_id, line)
) STRICT, WITHOUT ROWID;
