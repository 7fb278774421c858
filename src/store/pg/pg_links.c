/* Prepares all SELECT statements of queries.h on each link: a hundred statements take some milliseconds, once
 * for each connection. */
#include "store/pg/pg_links.h"

#include "base/check.h"
#include "store/pg/pg_queries.h"
#include "store/pg/pg_translate.h"
#include "store/pg/pg_where.h"
#include "store/store.h"

#include <stdio.h>
#include <uv.h>

static struct {
    uv_once_t once;
    struct pg_statement statements[PG_READS];
    int count, index[PG_READS];                          /* index: from a read to its statement; -1: none */
    char process[PG_LINK_USES][UV_MAXHOSTNAMESIZE + 16]; /* see pg_link_options */
} table = {.once = UV_ONCE_INIT};

static void add(int read, const char *name, const char *text)
{
    table.index[read] = table.count;
    table.statements[table.count++] = (struct pg_statement){.name = name, .sql = text, .is_read = true};
}

/* Processes of the same machine share the rows in `barriers`, which is harmless. */
static void name_links(void)
{
    char host[UV_MAXHOSTNAMESIZE];
    size_t size = sizeof host;
    if (uv_os_gethostname(host, &size))
        (void)snprintf(host, sizeof host, "unknown");
    (void)snprintf(table.process[PG_LINK_HEADS], sizeof table.process[0], "%s heads", host);
    (void)snprintf(table.process[PG_LINK_PAGES], sizeof table.process[0], "%s pages", host);
}

static void build_table(void)
{
    for (int i = 0; i < QUERY_COUNT; i++) {
        const char *text = pg_translate((enum query)i)->text;
        table.index[i] = -1;
        if (text && str_starts_with(str_from_cstr(text), STR("SELECT ")))
            add(i, sql_queries[i].name, text);
    }
    add(PG_READ_KEY_OWNERS, "vt_key_owners", PG_KEY_OWNERS);
    add(PG_READ_HEADS, "vt_heads", PG_HEADS);
    name_links();
}

enum err pg_links_open(struct pg_link **out, const struct store_options *options, enum pg_link_use use,
                       struct error *error)
{
    struct pg_options where;
    uv_once(&table.once, build_table);
    enum err err = pg_where_parse(&where, options->url, options->password_file, error);
    if (err) {
        pg_options_fini(&where);
        return err;
    }
    const struct pg_link_options link = {.statements = table.statements,
                                         .statement_count = table.count,
                                         .process = table.process[use],
                                         .hold_ms = options->hold_ms};
    *out = pg_link_new(options->loop, &where, &link);
    return *out ? OK : error_set(error, ERR_NOMEM, "out of memory");
}

enum next pg_links_query(struct pg_link *link, int read, struct pg_params *params, struct waiter *w,
                         struct pg_reply *reply)
{
    CHECK(table.index[read] >= 0);
    return pg_link_query(link, table.index[read], params, w, reply);
}

uint64_t pg_links_incarnation(const struct pg_incarnation *incarnation)
{
    return ((uint64_t)incarnation->started_us << 12) + incarnation->timeline + 1;
}
