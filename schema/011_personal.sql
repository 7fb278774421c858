-- Marks Pinterest accounts that are not business accounts, because Pinterest provides no analytics for them.
-- additive: yes
-- cost: constant
PRAGMA user_version = 11;

ALTER TABLE platform_credentials ADD COLUMN is_personal INTEGER NOT NULL DEFAULT 0 CHECK (is_personal IN (0, 1));
