-- The recent days of a video in its row, so that statistics of the last week read no other table.
-- additive: no
-- cost: 8000 ms and 0 MB per million videos
PRAGMA user_version = 7;

-- A packed copy (src/store/pack.h) of the newest rows of `daily`, written in the same transaction. NULL: the next gain creates it.
ALTER TABLE videos ADD COLUMN recent BLOB;
