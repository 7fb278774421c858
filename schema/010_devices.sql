-- Browsers that have signed in before. The limit of failed sign-ins per account does not apply to them.
-- additive: yes
-- cost: constant
PRAGMA user_version = 10;

CREATE TABLE devices (
    hash       BLOB    PRIMARY KEY CHECK (length(hash) = 32),  -- SHA-256 of the cookie's secret
    author_id  INTEGER NOT NULL REFERENCES authors (id),
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX devices_by_author ON devices (author_id, created_at);
CREATE INDEX devices_by_expiry ON devices (expires_at);
