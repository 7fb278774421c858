/* Reads, writes and compares rows of any table of move_queries.h. */
#include "store/moved_rows.h"

#include "base/check.h"
#include "base/number.h"
#include "store/daily_table.h"
#include "store/day_pack.h"
#include "store/stored_days.h"

enum { PAGE_ROWS = 1000, ARENA_BYTES = 64 * 1024, KEY_MAX_BYTES = 64 * 1024, SHOWN_MAX_BYTES = 80 };
/* Indexes of the columns of the table `videos` that show whether its packed gains are valid. */
enum { VIDEO_ID = 0, VIDEO_VIEWS = 5, VIDEO_BASELINE = 6, VIDEO_DAYS = 19 };

#define MOVED_TABLE(X, table_name, table, keys_n, keys, count, type_letters, column_names)                   \
    [MOVED_##table_name] = {.name = table,                                                                   \
                            .key_count = keys_n,                                                             \
                            .column_count = count,                                                           \
                            .types = type_letters,                                                           \
                            .columns = column_names,                                                         \
                            .list = QUERY_MOVE_LIST_##table_name,                                            \
                            .last = QUERY_MOVE_LAST_##table_name,                                            \
                            .put = QUERY_MOVE_PUT_##table_name},
const struct moved_table moved_tables[MOVED_TABLES] = {STORE_MOVED_TABLES(MOVED_TABLE, )};
#undef MOVED_TABLE

bool moved_table_has_row_ids(const struct moved_table *table)
{
    return table->key_count == 1 && str_starts_with(str_from_cstr(table->columns), STR("id,"));
}

/* ---- reading rows ---- */

static void read_columns(struct sql_statement *q, const char *types, int count, struct moved_row *out)
{
    for (int i = 0; i < count; i++) {
        struct moved_value *v = &out->values[i];
        *v = (struct moved_value){.i64 = 0};
        if (types[i] == 'i') {
            v->i64 = sql_i64_or(q, i, 0);
            v->is_null = v->i64 == 0 && sql_i64_or(q, i, 1) == 1;
        } else {
            v->bytes = sql_text(q, i);
            v->is_null = !v->bytes.p;
        }
    }
}

static bool is_valid(struct str text)
{
    return str_is_utf8(text) && (!text.len || !memchr(text.p, '\0', text.len));
}

/* Replaces invalid bytes of the texts, but not of keys, because the next page begins after the stored key. */
static void replace_invalid_bytes(struct moved_rows *rows, struct moved_row *row)
{
    for (int i = rows->table->key_count; i < rows->table->column_count; i++) {
        struct str *text = &row->values[i].bytes, rest = *text;
        struct buf valid;
        if (rows->table->types[i] != 't' || is_valid(*text))
            continue;
        buf_init(&valid, 3 * text->len); /* U+FFFD has three bytes */
        while (rest.len)
            buf_append(&valid, str_cut_character(&rest));
        *text = arena_copy(&rows->arena, buf_str(&valid));
        buf_fini(&valid);
        rows->replaced++;
    }
}

/* Replaces the column `days` if it is not valid (stored_days.h), which is the case after the previous release
 * has written the video. */
static enum err load_days(struct moved_rows *rows, struct moved_row *row)
{
    struct moved_value *v = row->values;
    struct video video = {.row = v[VIDEO_ID].i64,
                          .views = v[VIDEO_VIEWS].i64,
                          .baseline = v[VIDEO_BASELINE].i64,
                          .days = v[VIDEO_DAYS].bytes};
    const enum err err = stored_days_load(rows->store, &rows->arena, &video);
    v[VIDEO_DAYS].bytes = video.days;
    return err;
}

static void set_key(struct moved_rows *rows, const struct moved_row *row)
{
    for (int i = 0; i < rows->table->key_count; i++) {
        rows->key[i] = row->values[i].i64;
        if (rows->table->types[i] != 'i') {
            buf_reset(&rows->key_bytes, KEY_MAX_BYTES);
            buf_append(&rows->key_bytes, row->values[i].bytes);
        }
    }
}

void moved_rows_begin(struct moved_rows *rows, struct store *store, const struct moved_table *table,
                      const struct moved_row *after)
{
    /* With this key, the iteration starts at the first row, because no row has a key as small. */
    *rows = (struct moved_rows){
        .store = store, .table = table, .key = {INT64_MIN, INT64_MIN, INT64_MIN, INT64_MIN}};
    buf_init(&rows->key_bytes, KEY_MAX_BYTES);
    arena_init(&rows->arena, ARENA_BYTES);
    if (after)
        set_key(rows, after);
}

void moved_rows_end(struct moved_rows *rows)
{
    if (rows->page)
        sql_reset(rows->page);
    buf_fini(&rows->key_bytes);
    arena_fini(&rows->arena);
}

static void open_page(struct moved_rows *rows)
{
    const struct moved_table *t = rows->table;
    const struct str bytes = rows->key_bytes.len ? buf_str(&rows->key_bytes) : STR("");
    rows->page = sql_use(rows->store->sql, t->list);
    rows->page_rows = 0;
    for (int i = 0; i < t->key_count; i++) {
        if (t->types[i] == 'i')
            sql_bind_i64(rows->page, i + 1, rows->key[i]);
        else if (t->types[i] == 't')
            sql_bind_text(rows->page, i + 1, bytes);
        else
            sql_bind_bytes(rows->page, i + 1, bytes);
    }
    sql_bind_i64(rows->page, t->key_count + 1, PAGE_ROWS);
}

static void close_page(struct moved_rows *rows)
{
    struct moved_row row;
    read_columns(rows->page, rows->table->types, rows->table->key_count, &row);
    set_key(rows, &row);
    sql_reset(rows->page);
    rows->page = NULL;
}

bool moved_rows_next(struct moved_rows *rows, struct moved_row *out, enum err *err)
{
    if (rows->page && rows->page_rows == PAGE_ROWS)
        close_page(rows);
    if (!rows->page)
        open_page(rows);
    if (!sql_row(rows->store->sql, rows->page, err)) {
        rows->page = NULL;
        return false;
    }
    rows->page_rows++;
    arena_reset(&rows->arena);
    read_columns(rows->page, rows->table->types, rows->table->column_count, out);
    replace_invalid_bytes(rows, out);
    *err = OK;
    if (rows->table == &moved_tables[MOVED_VIDEOS] && daily_table_exists(rows->store))
        *err = load_days(rows, out);
    return !*err;
}

enum err moved_rows_get_last_key(struct store *store, const struct moved_table *table, struct arena *a,
                                 struct moved_row *out)
{
    struct sql_statement *q = sql_use(store->sql, table->last);
    const enum err err = sql_one(store->sql, q);
    if (err)
        return err;
    read_columns(q, table->types, table->key_count, out);
    for (int i = 0; i < table->key_count; i++)
        out->values[i].bytes = arena_copy(a, out->values[i].bytes);
    sql_reset(q);
    return OK;
}

/* ---- writing rows ---- */

/* Inserts the gains of the video into the table `daily`. The previous release reads them from this table if
 * the column `recent` of the video is NULL, as it is in a copy. */
static enum err put_days(struct store *store, const struct moved_row *row)
{
    struct day_scan scan;
    struct day_gain day;
    enum err err = OK;
    day_scan_begin(&scan, row->values[VIDEO_DAYS].bytes);
    while (!err && day_scan_next(&scan, &day)) {
        err = daily_table_insert(store, row->values[VIDEO_ID].i64, &day);
    }
    return scan.r.bad ? sql_report_damage(store->sql, "days of a video") : err;
}

enum err moved_row_put(struct store *store, const struct moved_table *table, const struct moved_row *row)
{
    struct sql_statement *q = sql_use(store->sql, table->put);
    for (int i = 0; i < table->column_count; i++) {
        const struct moved_value *v = &row->values[i];
        if (v->is_null)
            sql_bind_null(q, i + 1);
        else if (table->types[i] == 'i')
            sql_bind_i64(q, i + 1, v->i64);
        else if (table->types[i] == 't')
            sql_bind_text(q, i + 1, v->bytes);
        else
            sql_bind_bytes(q, i + 1, v->bytes);
    }
    const enum err err = sql_write_later(store->sql, q);
    if (err || table != &moved_tables[MOVED_VIDEOS] || !daily_table_exists(store))
        return err;
    return put_days(store, row);
}

/* ---- comparing keys of rows ---- */

int moved_row_compare_keys(const struct moved_table *table, const struct moved_row *a,
                           const struct moved_row *b)
{
    for (int i = 0; i < table->key_count; i++) {
        const struct moved_value *x = &a->values[i], *y = &b->values[i];
        const int order =
            table->types[i] == 'i' ? (x->i64 > y->i64) - (x->i64 < y->i64) : str_cmp(x->bytes, y->bytes);
        if (order)
            return order;
    }
    return 0;
}

static void append_value(char type, const struct moved_value *v, struct buf *out)
{
    char digits[2 * SHOWN_MAX_BYTES];
    const size_t len = v->bytes.len < SHOWN_MAX_BYTES ? v->bytes.len : SHOWN_MAX_BYTES;
    if (type == 'i') {
        buf_append_i64(out, v->i64);
    } else if (type == 'b') {
        hex_format((const uint8_t *)v->bytes.p, len, digits);
        buf_append(out, str_make(digits, 2 * len));
    } else {
        for (size_t i = 0; i < len; i++)
            buf_append_char(out, v->bytes.p[i] > ' ' && v->bytes.p[i] <= '~' ? v->bytes.p[i] : '?');
    }
}

void moved_row_format_key(const struct moved_table *table, const struct moved_row *row, struct buf *out)
{
    struct str columns = str_from_cstr(table->columns);
    for (int i = 0; i < table->key_count; i++) {
        struct str name;
        columns = str_trim(str_cut(columns, ',', &name));
        buf_append(out, i ? STR(", ") : STR(""));
        buf_append(out, name);
        buf_append(out, STR(" = "));
        append_value(table->types[i], &row->values[i], out);
    }
}
