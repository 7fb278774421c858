-- Renames columns and values whose names were misleading.
-- additive: no
-- cost: constant
PRAGMA user_version = 12;

ALTER TABLE refresh_runs RENAME COLUMN why TO error;
ALTER TABLE refresh_runs RENAME COLUMN is_whole TO is_complete;
DROP INDEX refresh_runs_whole;
DROP INDEX refresh_runs_open;
CREATE INDEX refresh_runs_complete ON refresh_runs (is_complete, id);
CREATE INDEX refresh_runs_unfinished ON refresh_runs (outcome) WHERE outcome IS NULL;

ALTER TABLE platform_posts RENAME COLUMN asked_at TO requested_at;

UPDATE OR REPLACE platform_limits SET name = 'backlog' WHERE name = 'behind';
UPDATE OR REPLACE platform_limits SET name = 'last_success' WHERE name = 'answered';
