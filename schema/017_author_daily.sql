-- The views that an author's videos gained on each platform and day, for statistics by platform. Gains from before this migration, and
-- gains that an older program records later, are not in this table. Statistics compute them as the gains of the videos minus the gains
-- here.
-- additive: yes
-- cost: constant
PRAGMA user_version = 17;

-- day is days since 1970-01-01. Baselines, which no day has gained, are in the row of day -2147483648, before all dates.
CREATE TABLE author_daily (
    author_id INTEGER NOT NULL REFERENCES authors (id),
    day       INTEGER NOT NULL,
    platform  INTEGER NOT NULL,  -- as in post_keys
    gained    INTEGER NOT NULL,
    PRIMARY KEY (author_id, day, platform)
) STRICT, WITHOUT ROWID;
