-- What the platforms let us read: tokens, what is known of single posts, and limits that outlive a run.
PRAGMA user_version = 5;

-- One account of an author at a platform. Tokens are sealed (src/vault/seal.h); `version` grows with every write, so a
-- refreshed pair never overwrites a newer one.
CREATE TABLE platform_credentials (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,  -- never given out again: platform_posts may still name one that has gone
    author_id          INTEGER NOT NULL REFERENCES authors (id),
    api                INTEGER NOT NULL,  -- 0 tiktok 1 instagram 2 instagram-facebook 3 youtube 4 facebook 5 pinterest
    account_id         TEXT    NOT NULL,  -- the platform's: open_id, channel, user, page
    account_name       TEXT,              -- for people
    scopes             TEXT    NOT NULL DEFAULT '',
    access_sealed      BLOB    NOT NULL,
    refresh_sealed     BLOB,
    access_expires_at  INTEGER,           -- NULL: it does not expire
    refresh_expires_at INTEGER,
    obtained_at        INTEGER NOT NULL,
    state              INTEGER NOT NULL DEFAULT 0,  -- 0 fine, 1 the author must sign in again
    version            INTEGER NOT NULL DEFAULT 1,  -- of the tokens
    refresh_sent_at    INTEGER,           -- a refresh was sent and its answer is not here: the pair may be spent
    failures           INTEGER NOT NULL DEFAULT 0,  -- in a row
    last_error         TEXT,              -- a verdict and a short code, such as "reconnect 190.460"; never a message
    last_error_at      INTEGER,
    last_ok_at         INTEGER,
    tier               INTEGER NOT NULL DEFAULT 0,  -- the form of the request that works for it,
    dropped            TEXT    NOT NULL DEFAULT '', -- metrics found dead,
    tier_until         INTEGER,                     -- and until when that is taken for granted
    UNIQUE (api, account_id)              -- an account is one author's
) STRICT;
CREATE INDEX platform_credentials_by_state ON platform_credentials (api, state);
CREATE INDEX platform_credentials_by_author ON platform_credentials (author_id, api, account_id);

-- What was found out about a post; most posts have no row.
CREATE TABLE platform_posts (
    platform      INTEGER NOT NULL,
    post_id       TEXT    NOT NULL,       -- as in post_keys
    resolved_id   TEXT,                   -- what the platform calls the video, where post_id is not that (TikTok's publish_id)
    credential_id INTEGER,                -- whose account answered for it, when the author has several
    views_source  INTEGER NOT NULL DEFAULT 0,  -- the definition of a view that it is read by, once chosen
    misses        INTEGER NOT NULL DEFAULT 0,  -- in a row: the platform left it out
    missed_since  INTEGER,
    is_permanent  INTEGER NOT NULL DEFAULT 0,  -- 1: will never have numbers
    asked_at      INTEGER,
    PRIMARY KEY (platform, post_id)
) STRICT, WITHOUT ROWID;

-- Limits of an app that outlive a run and a restart, by api and name: units used of a day, how long a breaker stays open, whether
-- bulk calls are granted.
CREATE TABLE platform_limits (
    api        INTEGER NOT NULL,
    name       TEXT    NOT NULL,
    value      INTEGER NOT NULL,
    until      INTEGER,                   -- when it is over; NULL: never
    PRIMARY KEY (api, name)
) STRICT, WITHOUT ROWID;

-- A linking that an author's browser began and has not brought back yet.
CREATE TABLE platform_links (
    state_hash   BLOB    PRIMARY KEY CHECK (length(state_hash) = 32),  -- SHA-256 of `state`
    session_hash BLOB    NOT NULL,        -- of the session that began it, or of the author where a proxy signs in
    author_id    INTEGER NOT NULL REFERENCES authors (id),
    api          INTEGER NOT NULL,
    verifier     BLOB,                    -- PKCE; sealed like a token
    created_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX platform_links_by_age ON platform_links (created_at);
