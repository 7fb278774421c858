/* Sends its statements with pg_sql_read(), because they have array parameters, which the SQL interface
 * (sql.h) does not support. */
#include "store/pg/pg_ahead.h"

#include "base/check.h"
#include "store/pg/pg_queries.h"
#include "store/pg/pg_reads.h"

#include <stdlib.h>

/* ---- reading videos ahead ---- */

static int64_t row_at(struct pg_ahead *ahead, int index)
{
    ahead->cursor.row = index;
    return pg_cursor_i64(&ahead->cursor.statement, 0);
}

/* Returns the index of the row of the video, or -1 if the video is not loaded or was taken. */
static int find(struct pg_ahead *ahead, int64_t video_row)
{
    const int count = ahead->videos ? pg_result_rows(ahead->videos) : 0;
    int low = 0, high = count;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        if (row_at(ahead, middle) < video_row)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && !ahead->taken[low] && row_at(ahead, low) == video_row ? low : -1;
}

static enum err load(struct pg_ahead *ahead, struct pg_sql *db, const int64_t *video_rows, size_t count)
{
    struct pg_params params;
    pg_ahead_clear(ahead);
    pg_params_init(&params);
    pg_params_add_i64s(&params, video_rows, (int)count);
    const enum err err =
        pg_sql_read(db, "VIDEOS_BY_ROWS", PG_VIDEOS_BY_ROWS, &params, PG_STATEMENT_MS, &ahead->videos);
    if (err)
        return err;
    ahead->taken = xcalloc((size_t)pg_result_rows(ahead->videos) + 1, sizeof ahead->taken[0]);
    pg_received_begin(&ahead->cursor, ahead->videos);
    return OK;
}

enum err pg_ahead_load_videos(struct pg_ahead *ahead, struct pg_sql *db, const int64_t *video_rows,
                              size_t needed, size_t count)
{
    for (size_t i = 0; i < needed; i++)
        if (find(ahead, video_rows[i]) < 0)
            return load(ahead, db, video_rows, count);
    return OK;
}

struct sql_statement *pg_ahead_take_video(struct pg_ahead *ahead, int64_t video_row)
{
    const int index = find(ahead, video_row);
    if (index < 0)
        return NULL;
    ahead->taken[index] = true;
    ahead->cursor.row = index;
    return &ahead->cursor.statement;
}

void pg_ahead_clear(struct pg_ahead *ahead)
{
    pg_result_free(ahead->videos);
    free(ahead->taken);
    ahead->videos = NULL;
    ahead->taken = NULL;
}

/* ---- reading posts ahead ---- */

static void encode_keys(struct pg_params *params, const struct post_key *keys, size_t count)
{
    int64_t *platforms = xmalloc(count * sizeof *platforms);
    struct str *ids = xmalloc(count * sizeof *ids);
    for (size_t i = 0; i < count; i++) {
        platforms[i] = keys[i].platform;
        ids[i] = keys[i].post_id;
    }
    pg_params_init(params);
    pg_params_add_i64s(params, platforms, (int)count);
    pg_params_add_texts(params, ids, (int)count);
    free(platforms);
    free(ids);
}

static enum err decode_owners(struct pg_sql *db, const struct pg_result *result, size_t count,
                              struct post_owner *out)
{
    struct pg_row row = {.result = result};
    for (; row.row < pg_result_rows(result); row.row++) {
        const int64_t number = pg_row_i64(&row, 0);
        const struct post_owner owner = {.video_row = pg_row_i64(&row, 1), .author_row = pg_row_i64(&row, 2)};
        if (row.bad || number < 1 || number > (int64_t)count)
            return sql_report_damage(&db->sql, "owner of a post");
        out[number - 1] = owner;
    }
    return OK;
}

enum err pg_ahead_find_posts(struct pg_sql *db, const struct post_key *keys, size_t count,
                             struct post_owner *out)
{
    struct pg_params params;
    const struct pg_result *result;
    encode_keys(&params, keys, count);
    enum err err = pg_sql_read(db, "POST_OWNERS", PG_POST_OWNERS, &params, PG_STATEMENT_MS, &result);
    if (err)
        return err;
    memset(out, 0, count * sizeof *out);
    err = decode_owners(db, result, count, out);
    pg_result_free(result);
    return err;
}
