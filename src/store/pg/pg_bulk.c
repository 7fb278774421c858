/* Collects rows for an UPDATE statement, each parameter of which is an array with the values of one
 * column. */
#include "store/pg/pg_bulk.h"

#include "base/check.h"

const char pg_bulk_name[] = "vt_save_counts";
const char pg_bulk_text[] =
    "UPDATE videos SET views = u.views, baseline = u.baseline, views_updated_at = u.updated_at, "
    "threshold = u.threshold, author_median_views = u.median, compared_videos = u.compared, posts = u.posts, "
    "milestones = u.milestones, days = u.days FROM unnest($1::bigint[], $2::bigint[], $3::bigint[], "
    "$4::bigint[], $5::bigint[], $6::bigint[], $7::bigint[], $8::bytea[], $9::bytea[], $10::bytea[]) "
    "u (id, views, baseline, updated_at, threshold, median, compared, posts, milestones, days) "
    "WHERE videos.id = u.id";

enum { FIRST_BYTEA = 7 };

void pg_bulk_init(struct pg_bulk *bulk)
{
    bulk->count = 0;
    for (int i = 0; i < PG_BULK_COLUMNS; i++)
        pg_array_init(&bulk->columns[i], i < FIRST_BYTEA ? PG_ARRAY_I64 : PG_ARRAY_BYTES);
}

void pg_bulk_fini(struct pg_bulk *bulk)
{
    for (int i = 0; i < PG_BULK_COLUMNS; i++)
        pg_array_fini(&bulk->columns[i]);
}

static bool contains(const struct pg_bulk *bulk, int64_t video_row)
{
    for (int i = 0; i < bulk->count; i++)
        if (bulk->video_rows[i] == video_row)
            return true;
    return false;
}

static void add_value(struct pg_array *column, const struct pg_value *v)
{
    if (v->kind == PG_VALUE_NULL)
        pg_array_add_null(column);
    else if (v->kind == PG_VALUE_I64)
        pg_array_add_i64(column, v->i64);
    else
        pg_array_add_bytes(column, v->bytes);
}

bool pg_bulk_add(struct pg_bulk *bulk, const struct pg_cursor *c)
{
    CHECK(c->value_count == PG_BULK_COLUMNS);
    if (bulk->count == PG_BULK_MAX || contains(bulk, c->values[0].i64))
        return false;
    bulk->video_rows[bulk->count++] = c->values[0].i64;
    for (int i = 0; i < PG_BULK_COLUMNS; i++)
        add_value(&bulk->columns[i], &c->values[i]);
    return true;
}

void pg_bulk_take(struct pg_bulk *bulk, struct pg_params *params)
{
    pg_params_init(params);
    for (int i = 0; i < PG_BULK_COLUMNS; i++)
        pg_params_add_array(params, &bulk->columns[i]);
    pg_bulk_clear(bulk);
}

void pg_bulk_clear(struct pg_bulk *bulk)
{
    bulk->count = 0;
    for (int i = 0; i < PG_BULK_COLUMNS; i++)
        pg_array_clear(&bulk->columns[i]);
}
