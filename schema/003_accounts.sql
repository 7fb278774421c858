-- Authors who sign in. Secrets are stored as hashes only.
PRAGMA user_version = 3;

CREATE TABLE logins (
    author_id       INTEGER PRIMARY KEY REFERENCES authors (id),
    name            TEXT    NOT NULL UNIQUE,  -- what the author types, folded to lower case
    password        TEXT,                     -- Argon2id in libsodium's text form; NULL: none set (a proxy signs in)
    password_set_at INTEGER
) STRICT;

-- One is open for an author at most: a new one takes the place of the older.
CREATE TABLE invitations (
    hash       BLOB    PRIMARY KEY CHECK (length(hash) = 32),  -- SHA-256 of the link's secret
    author_id  INTEGER NOT NULL REFERENCES authors (id),
    login      TEXT,                                           -- the name that the operator chose; NULL: the author's choice
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at    INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX invitations_by_author ON invitations (author_id);

CREATE TABLE sessions (
    hash       BLOB    PRIMARY KEY CHECK (length(hash) = 32),  -- SHA-256 of the cookie's secret
    author_id  INTEGER NOT NULL REFERENCES authors (id),
    created_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,  -- written at most once a minute; the idle limit counts from it
    expires_at INTEGER NOT NULL   -- absolute
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_author ON sessions (author_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- The keys that an author sees and counts.
CREATE INDEX api_keys_live ON api_keys (author_id, created_at, id) WHERE revoked_at IS NULL;
