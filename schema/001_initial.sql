-- The first schema. Times are ms since 1970 UTC, days are days since 1970-01-01, UUIDs are 16-byte blobs.
-- Rows refer to each other by integer ids. The API shows only UUIDs.
-- additive: no
-- cost: constant

-- "VwTl" marks a database of viewtally. Each migration sets user_version in its own transaction.
PRAGMA application_id = 0x5677546c;
PRAGMA user_version = 1;

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value ANY NOT NULL
) STRICT, WITHOUT ROWID;

-- last_event_id: the last id that was assigned from the global sequence of event ids. store_id: a random number, replaced by a
-- restore. It is part of every ETag, so two databases never have the same ETag.
INSERT INTO meta (key, value) VALUES ('last_event_id', 0), ('store_id', randomblob(16));

CREATE TABLE authors (
    id            INTEGER PRIMARY KEY,
    uuid          BLOB    NOT NULL UNIQUE CHECK (length(uuid) = 16),
    name          TEXT    NOT NULL,
    plan_active   INTEGER NOT NULL DEFAULT 1 CHECK (plan_active IN (0, 1)),
    created_at    INTEGER NOT NULL,
    rev           INTEGER NOT NULL DEFAULT 1, -- grows with every change that can be visible in a response, except changes of keys
    last_event_id INTEGER NOT NULL DEFAULT 0, -- id of the author's newest event; 0: no event yet
    books_count   INTEGER NOT NULL DEFAULT 0, -- maintained by the triggers below
    videos_count  INTEGER NOT NULL DEFAULT 0, -- posted videos; maintained by the triggers below
    views_refreshed_at INTEGER               -- the newest views_updated_at of the author's videos
) STRICT;
CREATE INDEX authors_by_age ON authors (created_at, uuid);

CREATE TABLE api_keys (
    id           INTEGER PRIMARY KEY,
    uuid         BLOB    NOT NULL UNIQUE CHECK (length(uuid) = 16),
    author_id    INTEGER NOT NULL REFERENCES authors (id),
    hash         BLOB    NOT NULL UNIQUE CHECK (length(hash) = 32), -- SHA-256 of the whole key
    name         TEXT    NOT NULL,
    suffix       TEXT    NOT NULL CHECK (length(suffix) = 4),       -- the last 4 characters of the key, for display
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
    videos_posted INTEGER NOT NULL DEFAULT 0 -- maintained by the triggers below
) STRICT;
CREATE INDEX books_by_author ON books (author_id, created_at DESC, uuid DESC);

-- A row contains everything that the JSON of a video shows. Posts and milestones are packed (src/store/pack.h), so a page of
-- videos is one range scan. The counts are in the packed posts; post_keys only maps the id of a post to its video.
CREATE TABLE videos (
    id                   INTEGER PRIMARY KEY,
    uuid                 BLOB    NOT NULL UNIQUE CHECK (length(uuid) = 16),
    author_id            INTEGER NOT NULL REFERENCES authors (id),
    book_id              INTEGER REFERENCES books (id),
    posted_at            INTEGER,                     -- when its first post was published; NULL: not posted yet, so not listed
    views                INTEGER NOT NULL DEFAULT 0,  -- sum of the views of its posts
    baseline             INTEGER NOT NULL DEFAULT 0,  -- part of views that existed before the first reading; no day has gained it
    first_reading_at     INTEGER,                     -- smallest observed_at of its readings; NULL: no reading yet
    views_updated_at     INTEGER,                     -- largest observed_at
    went_viral_at        INTEGER,                     -- NULL: not viral. Once set, this and the next four stored columns never change
    is_viral             INTEGER GENERATED ALWAYS AS (went_viral_at IS NOT NULL) VIRTUAL,
    views_when_viral     INTEGER,
    threshold            INTEGER NOT NULL,
    author_median_views  INTEGER,
    compared_videos      INTEGER NOT NULL,
    baseline_pending     INTEGER NOT NULL DEFAULT 0,  -- 1: the import that set the baseline has not finalized it yet
    title                TEXT,
    thumbnail_url        TEXT,
    posts                BLOB NOT NULL DEFAULT x'',
    milestones           BLOB NOT NULL DEFAULT x''
) STRICT;
CREATE INDEX videos_by_author ON videos (author_id, posted_at DESC, uuid DESC) WHERE posted_at IS NOT NULL;
CREATE INDEX videos_by_viral ON videos (author_id, is_viral, posted_at DESC, uuid DESC) WHERE posted_at IS NOT NULL;
CREATE INDEX videos_by_book ON videos (book_id, posted_at DESC, uuid DESC) WHERE posted_at IS NOT NULL;
CREATE INDEX videos_by_book_viral ON videos (book_id, is_viral, posted_at DESC, uuid DESC) WHERE posted_at IS NOT NULL;
-- The videos whose views count for the author's median are one range of this index. Videos without a reading are not in it.
CREATE INDEX videos_comparable ON videos (author_id, posted_at DESC, uuid DESC)
    WHERE posted_at IS NOT NULL AND first_reading_at IS NOT NULL;
CREATE INDEX videos_pending ON videos (author_id) WHERE baseline_pending = 1;

CREATE TABLE post_keys (
    platform INTEGER NOT NULL,  -- order of the contract: 0 tiktok 1 instagram 2 youtube 3 facebook 4 pinterest
    post_id  TEXT    NOT NULL,
    video_id INTEGER NOT NULL REFERENCES videos (id),
    PRIMARY KEY (platform, post_id)
) STRICT, WITHOUT ROWID;

-- Views gained on a UTC day. gained_total is the sum of the video's gains up to and including that day, so a running total needs only
-- one row: views_total = baseline + gained_total.
CREATE TABLE daily (
    video_id     INTEGER NOT NULL REFERENCES videos (id),
    day          INTEGER NOT NULL,
    gained       INTEGER NOT NULL,
    gained_total INTEGER NOT NULL,
    PRIMARY KEY (video_id, day)
) STRICT, WITHOUT ROWID;

-- Ids are assigned from meta.last_event_id. The primary key begins with the author, so a page of events is one range scan.
CREATE TABLE events (
    author_id   INTEGER NOT NULL REFERENCES authors (id),
    id          INTEGER NOT NULL,
    video_id    INTEGER NOT NULL REFERENCES videos (id),
    type        INTEGER NOT NULL,  -- 0 video.went_viral, 1 video.milestone_reached
    occurred_at INTEGER NOT NULL,
    value       INTEGER NOT NULL,  -- went_viral: views at that time; milestone_reached: the milestone
    threshold           INTEGER,   -- only for video.went_viral
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
