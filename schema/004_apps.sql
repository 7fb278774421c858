-- Apps that authors connect through OAuth 2.0.
-- additive: yes
-- cost: constant
PRAGMA user_version = 4;

CREATE TABLE apps (
    id          INTEGER PRIMARY KEY,
    client_id   TEXT    NOT NULL UNIQUE,
    name        TEXT    NOT NULL,
    home_url    TEXT,
    secret_hash BLOB CHECK (length(secret_hash) = 32),  -- NULL: a public client
    created_at  INTEGER NOT NULL,
    removed_at  INTEGER
) STRICT;

CREATE TABLE app_redirects (
    app_id INTEGER NOT NULL REFERENCES apps (id),
    uri    TEXT    NOT NULL,
    PRIMARY KEY (app_id, uri)
) STRICT, WITHOUT ROWID;

-- The app that the key belongs to. NULL: created on the author's pages or by the operator.
ALTER TABLE api_keys ADD COLUMN app_id INTEGER REFERENCES apps (id);
CREATE INDEX api_keys_by_app ON api_keys (app_id, author_id) WHERE app_id IS NOT NULL;

CREATE TABLE oauth_codes (
    hash         BLOB    PRIMARY KEY CHECK (length(hash) = 32),  -- SHA-256 of the code
    app_id       INTEGER NOT NULL REFERENCES apps (id),
    author_id    INTEGER NOT NULL REFERENCES authors (id),
    redirect_uri TEXT    NOT NULL,
    challenge    TEXT    NOT NULL,  -- S256
    created_at   INTEGER NOT NULL,
    used_at      INTEGER,           -- time of the first exchange, even if it failed; a code can be used once
    key_id       INTEGER REFERENCES api_keys (id)  -- the key that the exchange created; using the code again revokes it
) STRICT, WITHOUT ROWID;
-- For purging. Codes that created a key are kept longer, so that a late second use still revokes the key.
CREATE INDEX oauth_codes_idle ON oauth_codes (created_at) WHERE key_id IS NULL;
CREATE INDEX oauth_codes_spent ON oauth_codes (created_at) WHERE key_id IS NOT NULL;
