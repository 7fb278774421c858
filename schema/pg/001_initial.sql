-- The schema on PostgreSQL. Tables and columns have the names of the SQLite schema (schema/*.sql), whose comments also apply here.
-- The differences:
--
-- Integers, times, days and flags are bigint, so that every parameter and result has one of five types: bigint, text, bytea, uuid, and
-- boolean for results. Texts are compared byte by byte, as in SQLite, whatever the collation of the database is.
--
-- An update of PostgreSQL writes a new version of the row. It writes no index ("HOT") if no indexed column has changed and the page has
-- room. So no index contains a column that a reading changes, and the tables that readings update have a fillfactor. The write-ahead log
-- contains only the bytes between the first and the last one that differ, so in these tables the columns that never change come first.
--
-- There are no triggers, and no foreign keys from the tables that readings and imports fill: each new row would lock the row of its author.

-- schema: the number of the last migration that was applied. last_event_id: the last id that was assigned from the global sequence of
-- event ids.
CREATE TABLE meta (
    key   text COLLATE "C" PRIMARY KEY,
    value bigint NOT NULL
);
INSERT INTO meta (key, value) VALUES ('last_event_id', 0);

-- One row: a random number, which is part of every ETag.
CREATE TABLE store (
    id bytea NOT NULL CHECK (length(id) = 16)
);
INSERT INTO store (id) VALUES (uuid_send(gen_random_uuid()));

-- The barriers of the processes (src/pg/pg_barrier.h).
CREATE TABLE barriers (
    process text COLLATE "C" PRIMARY KEY,
    n       bigint      NOT NULL,
    at      timestamptz NOT NULL
);

-- authors

CREATE TABLE authors (
    id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid               uuid   NOT NULL UNIQUE,
    created_at         bigint NOT NULL,
    name               text   COLLATE "C" NOT NULL,
    plan_active        bigint NOT NULL DEFAULT 1 CHECK (plan_active IN (0, 1)),
    books_count        bigint NOT NULL DEFAULT 0,
    videos_count       bigint NOT NULL DEFAULT 0, -- posted videos
    last_event_id      bigint NOT NULL DEFAULT 0,
    feed_rev           bigint NOT NULL DEFAULT 1,
    rev                bigint NOT NULL DEFAULT 1,
    views_refreshed_at bigint
) WITH (fillfactor = 50);
CREATE INDEX authors_by_age ON authors (created_at, uuid);

-- Authors that were erased. hash: SHA-256 of a prefix and the author's UUID (src/store/erase.c).
CREATE TABLE erased_authors (
    hash      bytea  PRIMARY KEY CHECK (length(hash) = 32),
    erased_at bigint NOT NULL
);

-- Views gained by all videos of an author, by day and platform. Baselines are in the row of day -2147483648.
CREATE TABLE author_daily (
    author_id bigint NOT NULL,
    day       bigint NOT NULL,
    platform  bigint NOT NULL,
    gained    bigint NOT NULL,
    PRIMARY KEY (author_id, day, platform)
) WITH (fillfactor = 90);

-- books and videos

CREATE TABLE books (
    id            bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    author_id     bigint NOT NULL REFERENCES authors (id),
    created_at    bigint NOT NULL,
    uuid          uuid   NOT NULL UNIQUE,
    title         text   COLLATE "C" NOT NULL,
    subtitle      text   COLLATE "C" NOT NULL DEFAULT '',
    videos_posted bigint NOT NULL DEFAULT 0
);
CREATE INDEX books_by_author ON books (author_id, created_at DESC, uuid DESC);

-- id: the author's id times 2^24, plus a number that counts up from 1 for each author.
CREATE TABLE videos (
    id                  bigint PRIMARY KEY,
    author_id           bigint NOT NULL,
    book_id             bigint,
    posted_at           bigint,
    first_reading_at    bigint,
    baseline            bigint NOT NULL DEFAULT 0,
    baseline_pending    bigint NOT NULL DEFAULT 0,
    went_viral_at       bigint,
    is_viral            bigint GENERATED ALWAYS AS ((went_viral_at IS NOT NULL)::integer) STORED,
    views_when_viral    bigint,
    uuid                uuid   NOT NULL UNIQUE,
    title               text   COLLATE "C",
    thumbnail_url       text   COLLATE "C",
    milestones          bytea  NOT NULL DEFAULT '',
    author_median_views bigint,
    compared_videos     bigint NOT NULL,
    threshold           bigint NOT NULL,
    views               bigint NOT NULL DEFAULT 0,
    views_updated_at    bigint,
    posts               bytea  NOT NULL DEFAULT '',
    days                bytea  NOT NULL DEFAULT ''
) WITH (fillfactor = 70);
-- Packed columns stay in the row, uncompressed, unless the row does not fit in a page.
ALTER TABLE videos ALTER milestones SET STORAGE MAIN, ALTER posts SET STORAGE MAIN, ALTER days SET STORAGE MAIN;
CREATE INDEX videos_of_author ON videos (author_id, id);
CREATE INDEX videos_by_author ON videos (author_id, posted_at DESC, uuid DESC) WHERE posted_at IS NOT NULL;
CREATE INDEX videos_by_viral ON videos (author_id, is_viral, posted_at DESC, uuid DESC) WHERE posted_at IS NOT NULL;
CREATE INDEX videos_by_book ON videos (book_id, posted_at DESC, uuid DESC) WHERE posted_at IS NOT NULL;
CREATE INDEX videos_by_book_viral ON videos (book_id, is_viral, posted_at DESC, uuid DESC) WHERE posted_at IS NOT NULL;
CREATE INDEX videos_comparable ON videos (author_id, posted_at DESC, uuid DESC)
    WHERE posted_at IS NOT NULL AND first_reading_at IS NOT NULL;
CREATE INDEX videos_pending ON videos (author_id, id) WHERE baseline_pending = 1;

CREATE TABLE post_keys (
    platform bigint NOT NULL,  -- order of the contract: 0 tiktok 1 instagram 2 youtube 3 facebook 4 pinterest
    video_id bigint NOT NULL,
    post_id  text   COLLATE "C" NOT NULL,
    PRIMARY KEY (platform, post_id)
);

CREATE TABLE events (
    author_id           bigint NOT NULL,
    id                  bigint NOT NULL,
    video_id            bigint NOT NULL,
    type                bigint NOT NULL,  -- 0 video.went_viral, 1 video.milestone_reached
    occurred_at         bigint NOT NULL,
    value               bigint NOT NULL,
    threshold           bigint,
    author_median_views bigint,
    PRIMARY KEY (author_id, id)
);

-- apps, API keys and authorization codes

CREATE TABLE apps (
    id                       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    client_id                text   COLLATE "C" NOT NULL UNIQUE,
    name                     text   COLLATE "C" NOT NULL,
    home_url                 text   COLLATE "C",
    secret_hash              bytea  CHECK (length(secret_hash) = 32),
    created_at               bigint NOT NULL,
    removed_at               bigint,
    webhook_url              text   COLLATE "C",
    webhook_secret           bytea,  -- sealed, as are all secrets of webhooks
    webhook_old_secret       bytea,
    webhook_old_secret_until bigint
);

CREATE TABLE app_redirects (
    app_id bigint NOT NULL REFERENCES apps (id),
    uri    text   COLLATE "C" NOT NULL,
    PRIMARY KEY (app_id, uri)
);

CREATE TABLE api_keys (
    id           bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    author_id    bigint NOT NULL REFERENCES authors (id),
    created_at   bigint NOT NULL,
    app_id       bigint REFERENCES apps (id),
    uuid         uuid   NOT NULL UNIQUE,
    hash         bytea  NOT NULL UNIQUE CHECK (length(hash) = 32),  -- SHA-256 of the whole key
    name         text   COLLATE "C" NOT NULL,
    suffix       text   COLLATE "C" NOT NULL CHECK (length(suffix) = 4),
    last_used_at bigint,
    revoked_at   bigint
) WITH (fillfactor = 80);
CREATE INDEX api_keys_by_author ON api_keys (author_id, created_at, id);
CREATE INDEX api_keys_live ON api_keys (author_id, created_at, id) WHERE revoked_at IS NULL;
CREATE INDEX api_keys_by_app ON api_keys (app_id, author_id, id) WHERE app_id IS NOT NULL;

CREATE TABLE oauth_codes (
    hash         bytea  PRIMARY KEY CHECK (length(hash) = 32),  -- SHA-256 of the code
    app_id       bigint NOT NULL REFERENCES apps (id),
    author_id    bigint NOT NULL REFERENCES authors (id),
    redirect_uri text   COLLATE "C" NOT NULL,
    challenge    text   COLLATE "C" NOT NULL,
    created_at   bigint NOT NULL,
    used_at      bigint,
    key_id       bigint REFERENCES api_keys (id),
    webhook_url  text   COLLATE "C"
);
CREATE INDEX oauth_codes_idle ON oauth_codes (created_at) WHERE key_id IS NULL;
CREATE INDEX oauth_codes_spent ON oauth_codes (created_at) WHERE key_id IS NOT NULL;

-- sign-ins

CREATE TABLE logins (
    author_id       bigint PRIMARY KEY REFERENCES authors (id),
    name            text   COLLATE "C" NOT NULL UNIQUE,
    password        text   COLLATE "C",
    password_set_at bigint
);

CREATE TABLE invitations (
    hash       bytea  PRIMARY KEY CHECK (length(hash) = 32),
    author_id  bigint NOT NULL REFERENCES authors (id),
    login      text   COLLATE "C",
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    used_at    bigint
);
CREATE INDEX invitations_by_author ON invitations (author_id);

CREATE TABLE sessions (
    hash       bytea  PRIMARY KEY CHECK (length(hash) = 32),
    author_id  bigint NOT NULL REFERENCES authors (id),
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL,
    seen_at    bigint NOT NULL
) WITH (fillfactor = 80);
CREATE INDEX sessions_by_author ON sessions (author_id);
CREATE INDEX sessions_by_expiry ON sessions (expires_at);

CREATE TABLE devices (
    hash       bytea  PRIMARY KEY CHECK (length(hash) = 32),
    author_id  bigint NOT NULL REFERENCES authors (id),
    created_at bigint NOT NULL,
    expires_at bigint NOT NULL
);
CREATE INDEX devices_by_author ON devices (author_id, created_at, hash);
CREATE INDEX devices_by_expiry ON devices (expires_at);

-- accounts, posts and limits at the platforms

CREATE TABLE platform_credentials (
    id                 bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    author_id          bigint NOT NULL REFERENCES authors (id),
    api                bigint NOT NULL,  -- 0 tiktok 1 instagram 2 instagram-facebook 3 youtube 4 facebook 5 pinterest
    account_id         text   COLLATE "C" NOT NULL,
    account_name       text   COLLATE "C",
    scopes             text   COLLATE "C" NOT NULL DEFAULT '',
    access_sealed      bytea  NOT NULL,
    refresh_sealed     bytea,
    access_expires_at  bigint,
    refresh_expires_at bigint,
    obtained_at        bigint NOT NULL,
    is_personal        bigint NOT NULL DEFAULT 0 CHECK (is_personal IN (0, 1)),
    state              bigint NOT NULL DEFAULT 0,  -- 0 connected, 1 reconnect required
    version            bigint NOT NULL DEFAULT 1,
    tier               bigint NOT NULL DEFAULT 0,
    dropped            text   COLLATE "C" NOT NULL DEFAULT '',
    tier_until         bigint,
    refresh_sent_at    bigint,
    failures           bigint NOT NULL DEFAULT 0,
    last_error         text   COLLATE "C",
    last_error_at      bigint,
    last_ok_at         bigint,
    UNIQUE (api, account_id)
) WITH (fillfactor = 80);
CREATE INDEX platform_credentials_by_state ON platform_credentials (api, state);
CREATE INDEX platform_credentials_by_author ON platform_credentials (author_id, api, account_id);

CREATE TABLE platform_posts (
    platform      bigint NOT NULL,
    post_id       text   COLLATE "C" NOT NULL,
    resolved_id   text   COLLATE "C",
    credential_id bigint,
    views_source  bigint NOT NULL DEFAULT 0,
    is_permanent  bigint NOT NULL DEFAULT 0,
    misses        bigint NOT NULL DEFAULT 0,
    missed_since  bigint,
    requested_at  bigint,
    PRIMARY KEY (platform, post_id)
) WITH (fillfactor = 80);

CREATE TABLE platform_limits (
    api   bigint NOT NULL,
    name  text   COLLATE "C" NOT NULL,
    value bigint NOT NULL,
    until bigint,
    PRIMARY KEY (api, name)
) WITH (fillfactor = 50);

CREATE TABLE platform_links (
    state_hash   bytea  PRIMARY KEY CHECK (length(state_hash) = 32),
    session_hash bytea  NOT NULL,
    author_id    bigint NOT NULL REFERENCES authors (id),
    api          bigint NOT NULL,
    verifier     bytea,
    created_at   bigint NOT NULL
);
CREATE INDEX platform_links_by_age ON platform_links (created_at);

-- webhooks

CREATE TABLE webhook_endpoints (
    id               bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    uuid             uuid   NOT NULL UNIQUE,
    author_id        bigint NOT NULL REFERENCES authors (id),
    app_id           bigint REFERENCES apps (id),
    url              text   COLLATE "C" NOT NULL,
    types            bigint NOT NULL,
    secret           bytea,
    old_secret       bytea,
    old_secret_until bigint,
    created_at       bigint NOT NULL,
    state            bigint NOT NULL DEFAULT 0,  -- 0 active, 1 paused, 2 paused after failures, 3 ended by status 410
    state_at         bigint NOT NULL,
    position         bigint NOT NULL,
    failures         bigint NOT NULL DEFAULT 0,
    next_attempt_at  bigint,
    attempts         bigint NOT NULL DEFAULT 0
) WITH (fillfactor = 50);
CREATE INDEX webhook_endpoints_by_author ON webhook_endpoints (author_id, id);
CREATE UNIQUE INDEX webhook_endpoints_by_app ON webhook_endpoints (app_id, author_id) WHERE app_id IS NOT NULL;
CREATE INDEX webhook_endpoints_by_state ON webhook_endpoints (state, next_attempt_at);

CREATE TABLE webhook_attempts (
    endpoint_id bigint NOT NULL REFERENCES webhook_endpoints (id),
    number      bigint NOT NULL,
    event_id    bigint NOT NULL,
    at          bigint NOT NULL,
    took_ms     bigint NOT NULL,
    status      bigint NOT NULL,
    error       text   COLLATE "C",
    is_manual   bigint NOT NULL,
    PRIMARY KEY (endpoint_id, number)
);

CREATE TABLE webhook_requests (
    endpoint_id  bigint NOT NULL REFERENCES webhook_endpoints (id),
    event_id     bigint NOT NULL,
    requested_at bigint NOT NULL,
    PRIMARY KEY (endpoint_id, event_id)
);

-- the audit log

CREATE TABLE audit (
    author_id  bigint NOT NULL REFERENCES authors (id) ON DELETE CASCADE,
    id         bigint NOT NULL,
    at         bigint NOT NULL,
    action     text   COLLATE "C" NOT NULL,
    actor      text   COLLATE "C" NOT NULL,
    actor_name text   COLLATE "C",
    address    text   COLLATE "C",
    subject    text   COLLATE "C",
    details    text   COLLATE "C",
    PRIMARY KEY (author_id, id)
);
CREATE INDEX audit_by_author ON audit (author_id, at, id);
CREATE INDEX audit_by_time ON audit (at, author_id, id);

-- leases, the refresh, the spool, and scheduled backups

CREATE TABLE leases (
    name       text   COLLATE "C" PRIMARY KEY,
    fence      bigint NOT NULL,
    taken_at   bigint NOT NULL,
    expires_at bigint NOT NULL,
    holder     text   COLLATE "C" NOT NULL
) WITH (fillfactor = 50);
INSERT INTO leases (name, fence, holder, taken_at, expires_at) VALUES ('backup', 0, '', 0, 0);

CREATE TABLE refresh_lease (
    id         bigint PRIMARY KEY CHECK (id = 1),
    fence      bigint NOT NULL,
    taken_at   bigint NOT NULL,
    expires_at bigint NOT NULL,
    holder     text   COLLATE "C" NOT NULL
) WITH (fillfactor = 50);
INSERT INTO refresh_lease (id, fence, holder, taken_at, expires_at) VALUES (1, 0, '', 0, 0);

CREATE TABLE refresh_runs (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    cause       bigint NOT NULL,  -- 0 schedule, 1 command, 2 a new file in the spool
    holder      text   COLLATE "C" NOT NULL,
    started_at  bigint NOT NULL,
    finished_at bigint,
    outcome     bigint,           -- 0 succeeded, 1 partial, 2 failed, 3 stopped, 4 abandoned; NULL: running
    is_complete bigint GENERATED ALWAYS AS ((cause <> 2 AND outcome IN (0, 1))::integer) STORED,
    error       text   COLLATE "C"
);
CREATE INDEX refresh_runs_complete ON refresh_runs (is_complete, id);
CREATE INDEX refresh_runs_unfinished ON refresh_runs (outcome) WHERE outcome IS NULL;

CREATE TABLE refresh_counts (
    run_id   bigint NOT NULL REFERENCES refresh_runs (id) ON DELETE CASCADE,
    source   bigint NOT NULL,  -- 0 spool, 1 simulated, 2 platforms
    platform bigint NOT NULL,
    name     text   COLLATE "C" NOT NULL,
    value    bigint NOT NULL,
    PRIMARY KEY (run_id, source, platform, name)
);

CREATE TABLE spool_files (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name        text   COLLATE "C" NOT NULL UNIQUE,
    size        bigint NOT NULL,
    inode       bigint NOT NULL,
    modified_ns bigint NOT NULL,
    applied_at  bigint,
    step_at     bigint,
    step_author uuid
) WITH (fillfactor = 50);

CREATE TABLE spool_errors (
    file_id bigint NOT NULL REFERENCES spool_files (id) ON DELETE CASCADE,
    line    bigint NOT NULL,
    reason  text   COLLATE "C" NOT NULL,
    PRIMARY KEY (file_id, line)
);

CREATE TABLE backup_state (
    id          bigint PRIMARY KEY CHECK (id = 1),
    started_at  bigint,
    finished_at bigint,
    bytes       bigint,
    file        text   COLLATE "C",
    failed_at   bigint,
    error       text   COLLATE "C"
);
INSERT INTO backup_state (id) VALUES (1);
