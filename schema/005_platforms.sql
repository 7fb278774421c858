-- Connected platform accounts with their tokens, the state of single posts, and limits that outlive a run.
-- additive: yes
-- cost: constant
PRAGMA user_version = 5;

-- One account of an author at a platform. Tokens are sealed (src/vault/seal.h); `version` grows with every write, so a
-- refreshed pair never overwrites a newer one.
CREATE TABLE platform_credentials (
    id                 INTEGER PRIMARY KEY AUTOINCREMENT,  -- not reused, because platform_posts may still refer to a deleted account
    author_id          INTEGER NOT NULL REFERENCES authors (id),
    api                INTEGER NOT NULL,  -- 0 tiktok 1 instagram 2 instagram-facebook 3 youtube 4 facebook 5 pinterest
    account_id         TEXT    NOT NULL,  -- the platform's id: open_id, channel, user or page
    account_name       TEXT,              -- for display
    scopes             TEXT    NOT NULL DEFAULT '',
    access_sealed      BLOB    NOT NULL,
    refresh_sealed     BLOB,
    access_expires_at  INTEGER,           -- NULL: does not expire
    refresh_expires_at INTEGER,
    obtained_at        INTEGER NOT NULL,
    state              INTEGER NOT NULL DEFAULT 0,  -- 0 connected, 1 reconnect required
    version            INTEGER NOT NULL DEFAULT 1,  -- of the tokens; grows with every write
    refresh_sent_at    INTEGER,           -- a token refresh was sent and no response was stored, so the tokens may be used up
    failures           INTEGER NOT NULL DEFAULT 0,  -- consecutive
    last_error         TEXT,              -- an outcome and a short code, such as "reconnect 190.460"; never a message of the platform
    last_error_at      INTEGER,
    last_ok_at         INTEGER,
    tier               INTEGER NOT NULL DEFAULT 0,  -- the request form that works for this account
    dropped            TEXT    NOT NULL DEFAULT '', -- metrics that the platform rejected
    tier_until         INTEGER,                     -- when tier and dropped expire and are determined again
    UNIQUE (api, account_id)              -- an account belongs to one author
) STRICT;
CREATE INDEX platform_credentials_by_state ON platform_credentials (api, state);
CREATE INDEX platform_credentials_by_author ON platform_credentials (author_id, api, account_id);

-- What is known about a post beyond its counts. Most posts have no row.
CREATE TABLE platform_posts (
    platform      INTEGER NOT NULL,
    post_id       TEXT    NOT NULL,       -- as in post_keys
    resolved_id   TEXT,                   -- the platform's id of the video, if post_id is another one (TikTok's publish_id)
    credential_id INTEGER,                -- the account that can read it, if the author has several
    views_source  INTEGER NOT NULL DEFAULT 0,  -- the metric that counts as views; never changes once chosen
    misses        INTEGER NOT NULL DEFAULT 0,  -- consecutive readings in which the platform did not return it
    missed_since  INTEGER,
    is_permanent  INTEGER NOT NULL DEFAULT 0,  -- 1: the platform will never return counts
    asked_at      INTEGER,
    PRIMARY KEY (platform, post_id)
) STRICT, WITHOUT ROWID;

-- Limits of an app that outlive a run and a restart, by API and name: quota units used on a day, how long a circuit breaker stays
-- open, whether bulk calls are permitted.
CREATE TABLE platform_limits (
    api        INTEGER NOT NULL,
    name       TEXT    NOT NULL,
    value      INTEGER NOT NULL,
    until      INTEGER,                   -- end of the limit; NULL: it has no end
    PRIMARY KEY (api, name)
) STRICT, WITHOUT ROWID;

-- Linkings of platform accounts that have begun in a browser and whose callback has not arrived yet.
CREATE TABLE platform_links (
    state_hash   BLOB    PRIMARY KEY CHECK (length(state_hash) = 32),  -- SHA-256 of `state`
    session_hash BLOB    NOT NULL,        -- of the session that began the linking, or of the author if a proxy signs authors in
    author_id    INTEGER NOT NULL REFERENCES authors (id),
    api          INTEGER NOT NULL,
    verifier     BLOB,                    -- of PKCE (RFC 7636), sealed like a token
    created_at   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX platform_links_by_age ON platform_links (created_at);
