-- The daily gains of a video in a column of its row. This release reads only this column. So that the previous release can also use the
-- database, this release still writes the older forms, the table `daily` and the column `recent`. The next minor release drops the older
-- forms, and the triggers and the index below.
-- additive: yes
-- cost: 40000 ms and 100 MB per million videos
PRAGMA user_version = 18;

-- Packed gains (src/store/day_pack.h). Empty: no gains. If the sum of the gains is not views - baseline, the previous release has added
-- gains, or the migration has not reached the video yet (meta.days_filled_to); the rows of `daily` are then valid instead.
ALTER TABLE videos ADD COLUMN days BLOB NOT NULL DEFAULT x'';

-- The videos of an existing database are filled in slices after this migration.
INSERT INTO meta (key, value) SELECT 'days_filled_to', 9223372036854775807 WHERE NOT EXISTS (SELECT 1 FROM videos);

-- A correction by the previous release subtracts from `daily` only. After a later gain of the same size, the sum of the packed gains
-- would be right again, although single days are wrong. So the triggers empty the packed gains.
CREATE TRIGGER daily_lowered AFTER UPDATE OF gained ON daily WHEN NEW.gained < OLD.gained BEGIN
    UPDATE videos SET days = x'' WHERE id = NEW.video_id AND days <> x'';
END;
CREATE TRIGGER daily_deleted AFTER DELETE ON daily BEGIN
    UPDATE videos SET days = x'' WHERE id = OLD.video_id AND days <> x'';
END;

-- Only statements of the previous release name this index. After this, no index contains a column that most readings change.
DROP INDEX videos_in_stats;
CREATE INDEX videos_in_stats ON videos (author_id, posted_at DESC, uuid DESC) WHERE posted_at IS NOT NULL;

-- Release 0.2.0 also stored a Facebook post as resolved to itself if its page lacked the permission to look up the video id. Such a row
-- looks like that of a post without a Reel, so both are looked up once more. Release 0.2.0 also looks up an id that is NULL.
UPDATE platform_posts SET resolved_id = NULL WHERE platform = 3 AND resolved_id = post_id;
