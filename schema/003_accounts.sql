-- Logins of authors, invitations and sessions. Secrets are stored only as hashes.
-- additive: yes
-- cost: constant
PRAGMA user_version = 3;

CREATE TABLE logins (
    author_id       INTEGER PRIMARY KEY REFERENCES authors (id),
    name            TEXT    NOT NULL UNIQUE,  -- the login name, in lower case
    password        TEXT,                     -- Argon2id in libsodium's text form; NULL: no password (a proxy signs the author in)
    password_set_at INTEGER
) STRICT;

-- An author has at most one open invitation. A new one replaces it.
CREATE TABLE invitations (
    hash       BLOB    PRIMARY KEY CHECK (length(hash) = 32),  -- SHA-256 of the link's secret
    author_id  INTEGER NOT NULL REFERENCES authors (id),
    login      TEXT,                                           -- the login name that the operator chose; NULL: the author chooses one
    created_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    used_at    INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX invitations_by_author ON invitations (author_id);

CREATE TABLE sessions (
    hash       BLOB    PRIMARY KEY CHECK (length(hash) = 32),  -- SHA-256 of the cookie's secret
    author_id  INTEGER NOT NULL REFERENCES authors (id),
    created_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,  -- last use, written at most once a minute; the idle limit counts from it
    expires_at INTEGER NOT NULL   -- end of the session, however often it is used
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_author ON sessions (author_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

-- The live keys of an author.
CREATE INDEX api_keys_live ON api_keys (author_id, created_at, id) WHERE revoked_at IS NULL;
