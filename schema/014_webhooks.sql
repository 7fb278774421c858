-- Webhooks: the endpoints to which events are sent, the newest attempts of each endpoint, and requests to send an event
-- once more. An app has one secret for all authors. An endpoint that an author has created has a secret of its own.
-- additive: yes
-- cost: constant
PRAGMA user_version = 14;

ALTER TABLE apps ADD COLUMN webhook_url TEXT;                  -- NULL: the app polls
ALTER TABLE apps ADD COLUMN webhook_secret BLOB;               -- sealed, as are all secrets of webhooks
ALTER TABLE apps ADD COLUMN webhook_old_secret BLOB;           -- also signs until webhook_old_secret_until
ALTER TABLE apps ADD COLUMN webhook_old_secret_until INTEGER;

-- The webhook URL that the consent page has shown. NULL: it has shown none, so the exchange of the code creates no endpoint.
ALTER TABLE oauth_codes ADD COLUMN webhook_url TEXT;

CREATE TABLE webhook_endpoints (
    id               INTEGER PRIMARY KEY AUTOINCREMENT,
    uuid             BLOB    NOT NULL UNIQUE CHECK (length(uuid) = 16),
    author_id        INTEGER NOT NULL REFERENCES authors (id),
    app_id           INTEGER REFERENCES apps (id),  -- NULL: created by the author
    url              TEXT    NOT NULL,
    types            INTEGER NOT NULL,              -- one bit per event type; 0: all types
    secret           BLOB,                          -- NULL: the secret of the app
    old_secret       BLOB,                          -- also signs until old_secret_until
    old_secret_until INTEGER,
    created_at       INTEGER NOT NULL,
    state            INTEGER NOT NULL DEFAULT 0,    -- 0 active, 1 paused, 2 paused after failures, 3 ended by status 410
    state_at         INTEGER NOT NULL,
    position         INTEGER NOT NULL,              -- all events up to this id are delivered, or have other types
    failures         INTEGER NOT NULL DEFAULT 0,    -- failed attempts in a row for the first event after the position
    next_attempt_at  INTEGER,                       -- NULL: at once
    attempts         INTEGER NOT NULL DEFAULT 0     -- number of the newest row in webhook_attempts
) STRICT;
CREATE INDEX webhook_endpoints_by_author ON webhook_endpoints (author_id, id);
CREATE UNIQUE INDEX webhook_endpoints_by_app ON webhook_endpoints (app_id, author_id) WHERE app_id IS NOT NULL;
CREATE INDEX webhook_endpoints_by_state ON webhook_endpoints (state, next_attempt_at);

-- The newest 50 attempts of each endpoint. Each new attempt deletes the oldest one.
CREATE TABLE webhook_attempts (
    endpoint_id INTEGER NOT NULL REFERENCES webhook_endpoints (id),
    number      INTEGER NOT NULL,
    event_id    INTEGER NOT NULL,  -- 0: a test
    at          INTEGER NOT NULL,
    took_ms     INTEGER NOT NULL,
    status      INTEGER NOT NULL,  -- of HTTP; 0: no response
    error       TEXT,              -- NULL: delivered
    is_manual   INTEGER NOT NULL,  -- 1: requested in webhook_requests
    PRIMARY KEY (endpoint_id, number)
) STRICT, WITHOUT ROWID;

-- Requests of authors and operators to send one event, or a test. Deleted after the attempt.
CREATE TABLE webhook_requests (
    endpoint_id  INTEGER NOT NULL REFERENCES webhook_endpoints (id),
    event_id     INTEGER NOT NULL,  -- 0: a test
    requested_at INTEGER NOT NULL,
    PRIMARY KEY (endpoint_id, event_id)
) STRICT, WITHOUT ROWID;
