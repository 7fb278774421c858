-- The daily gains of a video in its row. This release writes both them and the older forms, the table `daily` and the column `recent`,
-- and reads only them, so the previous release can use the database. The next minor release drops the older forms, the triggers and
-- the index below.
-- additive: yes
-- cost: 40000 ms and 100 MB per million videos
PRAGMA user_version = 18;

-- Packed (src/store/day_pack.h). Empty: no gains. If their sum is not views - baseline, the previous release has added gains, or the
-- migration has not reached the video yet (meta.days_filled_to); then the rows of `daily` are valid.
ALTER TABLE videos ADD COLUMN days BLOB NOT NULL DEFAULT x'';

-- The videos of an existing database are filled in slices after this migration.
INSERT INTO meta (key, value) SELECT 'days_filled_to', 9223372036854775807 WHERE NOT EXISTS (SELECT 1 FROM videos);

-- A correction by the previous release takes from `daily` only. A later gain of the same size would restore the sum, so the packed
-- days are emptied.
CREATE TRIGGER daily_lowered AFTER UPDATE OF gained ON daily WHEN NEW.gained < OLD.gained BEGIN
    UPDATE videos SET days = x'' WHERE id = NEW.video_id AND days <> x'';
END;
CREATE TRIGGER daily_deleted AFTER DELETE ON daily BEGIN
    UPDATE videos SET days = x'' WHERE id = OLD.video_id AND days <> x'';
END;

-- Only statements of the previous release name this index. No index holds a column that a reading changes any more.
DROP INDEX videos_in_stats;
CREATE INDEX videos_in_stats ON videos (author_id, posted_at DESC, uuid DESC) WHERE posted_at IS NOT NULL;
