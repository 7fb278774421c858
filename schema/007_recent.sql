-- The last days of a video in its own row, so that statistics of the last week read no other table.
PRAGMA user_version = 7;

-- Packed (src/store/pack.h) from `daily`, which stays the truth, and written with it. NULL: not made yet; the next gain does.
ALTER TABLE videos ADD COLUMN recent BLOB;
