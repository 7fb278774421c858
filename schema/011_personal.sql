-- Pinterest accounts that are not business accounts: Pinterest gives them no analytics.
PRAGMA user_version = 11;

ALTER TABLE platform_credentials ADD COLUMN is_personal INTEGER NOT NULL DEFAULT 0 CHECK (is_personal IN (0, 1));
