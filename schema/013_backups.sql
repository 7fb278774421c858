-- Scheduled backups: the lease that lets one process make them, and the newest results.
-- additive: yes
-- cost: constant
PRAGMA user_version = 13;

-- Leases by name; refresh_lease has the rules. The lease of the refresh stays in refresh_lease, so that the previous
-- release and this one exclude each other.
CREATE TABLE leases (
    name       TEXT    PRIMARY KEY,
    fence      INTEGER NOT NULL,
    holder     TEXT    NOT NULL,
    taken_at   INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO leases (name, fence, holder, taken_at, expires_at) VALUES ('backup', 0, '', 0, 0);

-- One row: the newest scheduled backup that was completed, and the newest failure since. NULL: none.
CREATE TABLE backup_state (
    id          INTEGER PRIMARY KEY CHECK (id = 1),
    started_at  INTEGER,
    finished_at INTEGER,
    bytes       INTEGER,
    file        TEXT,
    failed_at   INTEGER,
    error       TEXT
) STRICT;
INSERT INTO backup_state (id) VALUES (1);
