-- The first schema. Times are ms since 1970 UTC, days are days since 1970-01-01, UUIDs are 16-byte blobs.
-- Rows refer to each other by small integers; UUIDs are what clients see.

-- "VwTl": tells our databases from others. The version is set by each migration, inside its transaction.
PRAGMA application_id = 0x5677546c;
PRAGMA user_version = 1;

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;

-- last_event_id: the newest id of the global event sequence that was ever given out. store_id: random, new after a restore;
-- it goes into ETags so that two databases never share one.
INSERT INTO meta (key, value) VALUES ('last_event_id', 0), ('store_id', randomblob(16));

CREATE TABLE authors (
    id            INTEGER PRIMARY KEY,
    uuid          BLOB    NOT NULL UNIQUE CHECK (length(uuid) = 16),
    name          TEXT    NOT NULL,
    plan_active   INTEGER NOT NULL DEFAULT 1 CHECK (plan_active IN (0, 1)),
    created_at    INTEGER NOT NULL,
    rev           INTEGER NOT NULL DEFAULT 1, -- grows with every change that an answer could show, other than to its keys
    last_event_id INTEGER NOT NULL DEFAULT 0, -- the author's newest event; 0: none
    books_count   INTEGER NOT NULL DEFAULT 0, -- kept by the triggers below
    videos_count  INTEGER NOT NULL DEFAULT 0, -- posted videos; kept by the triggers below
    views_refreshed_at INTEGER               -- the newest views_updated_at of the author's videos
) STRICT;
CREATE INDEX authors_by_age ON authors (created_at, uuid);

CREATE TABLE api_keys (
    id           INTEGER PRIMARY KEY,
    uuid         BLOB    NOT NULL UNIQUE CHECK (length(uuid) = 16),
    author_id    INTEGER NOT NULL REFERENCES authors (id),
    hash         BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32), -- SHA-256 of the whole key
    name         TEXT    NOT NULL,
    suffix       TEXT    NOT NULL CHECK (length(suffix) = 4),       -- the key's last 4 characters, to recognise it by
    created_at   INTEGER NOT NULL,
    last_used_at INTEGER,
    revoked_at   INTEGER
) STRICT;
CREATE INDEX api_keys_by_author ON api_keys (author_id, created_at, id);

CREATE TABLE books (
    id            INTEGER PRIMARY KEY,
    uuid          BLOB    NOT NULL UNIQUE CHECK (length(uuid) = 16),
    author_id     INTEGER NOT NULL REFERENCES authors (id),
    title         TEXT    NOT NULL,
    subtitle      TEXT    NOT NULL DEFAULT '',
    created_at    INTEGER NOT NULL,
    videos_posted INTEGER NOT NULL DEFAULT 0 -- kept by the triggers below
) STRICT;
CREATE INDEX books_by_author ON books (author_id, created_at DESC, uuid DESC);

-- One row holds all that a video's JSON needs: posts and milestones are packed (src/store/pack.h), so a page of videos is one
-- range scan. The packed posts are the truth for the counts; post_keys only finds a video by a platform's own id.
CREATE TABLE videos (
    id                   INTEGER PRIMARY KEY,
    uuid                 BLOB    NOT NULL UNIQUE CHECK (length(uuid) = 16),
    author_id            INTEGER NOT NULL REFERENCES authors (id),
    book_id              INTEGER REFERENCES books (id),
    posted_at            INTEGER,                     -- earliest of its posts; NULL: not posted, not listed
    views                INTEGER NOT NULL DEFAULT 0,  -- sum over its posts
    baseline             INTEGER NOT NULL DEFAULT 0,  -- part of views that was there when it was imported
    first_reading_at     INTEGER,                     -- smallest observed_at of its readings; NULL: none yet
    views_updated_at     INTEGER,                     -- largest
    went_viral_at        INTEGER,                     -- NULL: not viral. Frozen with the four below at the crossing
    is_viral             INTEGER GENERATED ALWAYS AS (went_viral_at IS NOT NULL) VIRTUAL,
    views_when_viral     INTEGER,
    threshold            INTEGER NOT NULL,
    author_median_views  INTEGER,
    compared_videos      INTEGER NOT NULL,
    baseline_pending     INTEGER NOT NULL DEFAULT 0,  -- 1: a baseline awaits the closing pass of its import
    title                TEXT,
    thumbnail_url        TEXT,
    posts                BLOB NOT NULL DEFAULT x'',
    milestones           BLOB NOT NULL DEFAULT x''
) STRICT;
CREATE INDEX videos_by_author ON videos (author_id, posted_at DESC, uuid DESC) WHERE posted_at IS NOT NULL;
CREATE INDEX videos_by_viral ON videos (author_id, is_viral, posted_at DESC, uuid DESC) WHERE posted_at IS NOT NULL;
CREATE INDEX videos_by_book ON videos (book_id, posted_at DESC, uuid DESC) WHERE posted_at IS NOT NULL;
CREATE INDEX videos_by_book_viral ON videos (book_id, is_viral, posted_at DESC, uuid DESC) WHERE posted_at IS NOT NULL;
-- What a median is taken from: one range. Without it an author's unread videos would be looked at each time.
CREATE INDEX videos_comparable ON videos (author_id, posted_at DESC, uuid DESC)
    WHERE posted_at IS NOT NULL AND first_reading_at IS NOT NULL;
CREATE INDEX videos_pending ON videos (author_id) WHERE baseline_pending = 1;

CREATE TABLE post_keys (
    platform INTEGER NOT NULL,  -- order of the contract: 0 tiktok 1 instagram 2 youtube 3 facebook 4 pinterest
    post_id  TEXT    NOT NULL,
    video_id INTEGER NOT NULL REFERENCES videos (id),
    PRIMARY KEY (platform, post_id)
) STRICT, WITHOUT ROWID;

-- Views gained on a UTC day. gained_total is the sum of the video's gains up to and including that day, so a running total needs one
-- row and no sum: views_total = baseline + gained_total.
CREATE TABLE daily (
    video_id     INTEGER NOT NULL REFERENCES videos (id),
    day          INTEGER NOT NULL,
    gained       INTEGER NOT NULL,
    gained_total INTEGER NOT NULL,
    PRIMARY KEY (video_id, day)
) STRICT, WITHOUT ROWID;

-- Ids come from meta.last_event_id. Clustered by author: a page is one range scan.
CREATE TABLE events (
    author_id   INTEGER NOT NULL REFERENCES authors (id),
    id          INTEGER NOT NULL,
    video_id    INTEGER NOT NULL REFERENCES videos (id),
    type        INTEGER NOT NULL,  -- 0 video.went_viral, 1 video.milestone_reached
    occurred_at INTEGER NOT NULL,
    value       INTEGER NOT NULL,  -- views at that moment, or the milestone
    threshold           INTEGER,   -- of video.went_viral
    author_median_views INTEGER,
    PRIMARY KEY (author_id, id)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER books_inserted AFTER INSERT ON books BEGIN
    UPDATE authors SET books_count = books_count + 1 WHERE id = NEW.author_id;
END;

CREATE TRIGGER videos_inserted AFTER INSERT ON videos WHEN NEW.posted_at IS NOT NULL BEGIN
    UPDATE authors SET videos_count = videos_count + 1 WHERE id = NEW.author_id;
    UPDATE books SET videos_posted = videos_posted + 1 WHERE id = NEW.book_id;
END;

CREATE TRIGGER videos_updated AFTER UPDATE OF posted_at, book_id ON videos
WHEN OLD.book_id IS NOT NEW.book_id OR (OLD.posted_at IS NULL) <> (NEW.posted_at IS NULL) BEGIN
    UPDATE books SET videos_posted = videos_posted - 1 WHERE id = OLD.book_id AND OLD.posted_at IS NOT NULL;
    UPDATE books SET videos_posted = videos_posted + 1 WHERE id = NEW.book_id AND NEW.posted_at IS NOT NULL;
    UPDATE authors SET videos_count = videos_count + (NEW.posted_at IS NOT NULL) - (OLD.posted_at IS NOT NULL)
        WHERE id = NEW.author_id;
END;
