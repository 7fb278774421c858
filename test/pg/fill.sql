-- Rows for the planner: 300 authors, one of them with 3,000 videos.
INSERT INTO authors (uuid, created_at, name) SELECT gen_random_uuid(), i, 'a' || i FROM generate_series(1, 300) i;
INSERT INTO books (author_id, created_at, uuid, title) SELECT a, i, gen_random_uuid(), 't' FROM generate_series(1, 300) a, generate_series(1, 5) i;
INSERT INTO videos (id, author_id, book_id, posted_at, first_reading_at, uuid, compared_videos, threshold, posts, days, went_viral_at)
  SELECT (a << 24) + i, a, (a - 1) * 5 + 1 + i % 5, CASE WHEN i % 10 > 0 THEN 1700000000000 + i * 1000 END, i, gen_random_uuid(), 0, 1, '\x01', '\x01', CASE WHEN i % 7 = 0 THEN 5 END
  FROM generate_series(1::bigint, 300) a, generate_series(1, CASE WHEN a = 7 THEN 3000 ELSE 60 END) i;
INSERT INTO post_keys (platform, video_id, post_id) SELECT 0, id, 'p' || id FROM videos;
INSERT INTO events (author_id, id, video_id, type, occurred_at, value) SELECT author_id, 1000 * row_number() OVER (), id, 1, 1, 1000 FROM videos;
INSERT INTO author_daily (author_id, day, platform, gained) SELECT a, d, p, 1 FROM generate_series(1, 300) a, generate_series(1, 60) d, generate_series(0, 2) p;
INSERT INTO apps (client_id, name, created_at) SELECT 'c' || i, 'n', 1 FROM generate_series(1, 30) i;
INSERT INTO app_redirects SELECT i, 'u' || j FROM generate_series(1, 30) i, generate_series(1, 3) j;
INSERT INTO api_keys (author_id, created_at, app_id, uuid, hash, name, suffix, revoked_at) SELECT a, k, CASE WHEN k < 10 THEN k END, gen_random_uuid(), sha256((a || '-' || k)::bytea), 'k', 'abcd', CASE WHEN k % 3 = 0 THEN 1 END FROM generate_series(1, 300) a, generate_series(1, 20) k;
INSERT INTO oauth_codes SELECT sha256(i::text::bytea), 1 + i % 30, 1 + i % 300, 'u', 'c', i, NULL, CASE WHEN i % 2 = 0 THEN i END FROM generate_series(1, 3000) i;
INSERT INTO logins SELECT i, 'l' || i, 'p', 1 FROM generate_series(1, 300) i;
INSERT INTO invitations SELECT sha256(i::text::bytea), 1 + i % 300, NULL, 1, 1, NULL FROM generate_series(1, 1000) i;
INSERT INTO sessions SELECT sha256(i::text::bytea), 1 + i % 300, i, i, i FROM generate_series(1, 3000) i;
INSERT INTO devices SELECT sha256(i::text::bytea), 1 + i % 300, i, i FROM generate_series(1, 3000) i;
INSERT INTO platform_credentials (author_id, api, account_id, access_sealed, obtained_at, last_error, failures) SELECT a, p, 'x' || a, '\x00', 1, 'e', 1 FROM generate_series(1, 300) a, generate_series(0, 5) p;
INSERT INTO platform_posts (platform, post_id) SELECT 0, 'p' || i FROM generate_series(1, 5000) i;
INSERT INTO platform_limits SELECT p, 'n' || i, 1, NULL FROM generate_series(0, 5) p, generate_series(1, 50) i;
INSERT INTO platform_links SELECT sha256(i::text::bytea), '\x00', 1 + i % 300, 0, NULL, i FROM generate_series(1, 1000) i;
INSERT INTO webhook_endpoints (uuid, author_id, app_id, url, types, created_at, state_at, position, next_attempt_at) SELECT gen_random_uuid(), a, CASE WHEN e < 9 THEN e END, 'u', 0, 1, 1, 0, a FROM generate_series(1, 300) a, generate_series(1, 10) e;
INSERT INTO webhook_attempts SELECT e, n, 1, 1, 1, 200, NULL, 0 FROM generate_series(1, 3000) e, generate_series(1, 5) n;
INSERT INTO webhook_requests SELECT e, n, 1 FROM generate_series(1, 3000) e, generate_series(1, 2) n;
INSERT INTO audit SELECT a, i, i * 1000 + a, 'key.created', 'author' FROM generate_series(1, 300) a, generate_series(1, 50) i;
INSERT INTO refresh_runs (cause, holder, started_at, outcome) SELECT i % 3, 'h', i, i % 5 FROM generate_series(1, 3000) i;
INSERT INTO refresh_counts SELECT i, 0, 0, 'accepted', 1 FROM generate_series(1, 3000) i;
INSERT INTO spool_files (name, size, inode, modified_ns) SELECT 'f' || i, 1, 1, 1 FROM generate_series(1, 3000) i;
INSERT INTO spool_errors SELECT i, j, 'r' FROM generate_series(1, 3000) i, generate_series(1, 3) j;
INSERT INTO erased_authors SELECT sha256(i::text::bytea), 1 FROM generate_series(1, 1000) i;
