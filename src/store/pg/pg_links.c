/* Each link prepares its statements once for each connection. The link PG_LINK_PAGES prepares all SELECT
 * statements that precede QUERY_FIRST_RARE. This takes some milliseconds. */
#include "store/pg/pg_links.h"

#include "base/check.h"
#include "store/pg/pg_queries.h"
#include "store/pg/pg_translate.h"
#include "store/pg/pg_where.h"
#include "store/slow_query.h"
#include "store/store.h"

#include <stdio.h>
#include <uv.h>

/* The statements that a link prepares, for each enum pg_link_use. */
struct pg_link_table {
    struct pg_statement statements[PG_READS];
    int count;
    char processes[STORE_CONNECTIONS_MAX][UV_MAXHOSTNAMESIZE + 16]; /* see pg_link_options; by number */
};

static struct {
    uv_once_t once;
    struct pg_link_table of[PG_LINK_USES];
    int index[PG_READS]; /* by read: the index of its statement in the table of its link; -1: none */
} tables = {.once = UV_ONCE_INIT};

static void add(enum pg_link_use use, int read, const char *name, const char *text)
{
    struct pg_link_table *table = &tables.of[use];
    tables.index[read] = table->count;
    table->statements[table->count++] = (struct pg_statement){.name = name, .sql = text, .is_read = true};
}

/* Sets the names of the links. All processes on a machine use the same names, so they share the rows in
 * `barriers`. This is harmless. */
static void name_links(void)
{
    static const char *const names[PG_LINK_USES] = {[PG_LINK_HEADS] = "heads", [PG_LINK_PAGES] = "pages"};
    char host[UV_MAXHOSTNAMESIZE];
    size_t size = sizeof host;
    if (uv_os_gethostname(host, &size))
        (void)snprintf(host, sizeof host, "unknown");
    for (int use = 0; use < PG_LINK_USES; use++) {
        for (int i = 0; i < STORE_CONNECTIONS_MAX; i++) {
            char *process = tables.of[use].processes[i];
            (void)snprintf(process, sizeof tables.of[use].processes[i], "%s %s %d", host, names[use], i + 1);
        }
    }
}

static void build_tables(void)
{
    for (int i = 0; i < QUERY_COUNT; i++) {
        const char *text = i < QUERY_FIRST_RARE ? pg_translate((enum query)i)->text : NULL;
        tables.index[i] = -1;
        if (text && str_starts_with(str_from_cstr(text), STR("SELECT ")))
            add(PG_LINK_PAGES, i, sql_queries[i].name, text);
    }
    add(PG_LINK_HEADS, PG_READ_KEY_OWNERS, "vt_key_owners", PG_KEY_OWNERS);
    add(PG_LINK_HEADS, PG_READ_HEADS, "vt_heads", PG_HEADS);
    name_links();
}

enum err pg_links_open(struct pg_link **out, const struct store_options *options, enum pg_link_use use,
                       int number, struct error *error)
{
    struct pg_options where;
    CHECK(number < STORE_CONNECTIONS_MAX);
    uv_once(&tables.once, build_tables);
    enum err err = pg_where_parse(&where, options->url, options->password_file, error);
    if (err) {
        pg_options_fini(&where);
        return err;
    }
    const struct pg_link_table *table = &tables.of[use];
    const struct pg_link_options link = {.statements = table->statements,
                                         .statement_count = table->count,
                                         .process = table->processes[number],
                                         .hold_ms = options->hold_ms,
                                         .held_max = pg_links_held_max(options, use)};
    *out = pg_link_new(options->loop, &where, &link);
    return *out ? OK : error_set(error, ERR_NOMEM, "out of memory");
}

enum next pg_links_query(struct pg_link *link, int read, struct pg_params *params, struct waiter *w,
                         struct pg_reply *reply)
{
    CHECK(tables.index[read] >= 0);
    return pg_link_query(link, tables.index[read], params, w, reply);
}

int pg_links_held_max(const struct store_options *options, enum pg_link_use use)
{
    const int links = use == PG_LINK_PAGES ? options->connections : 1;
    const int share = options->held_max / PG_LINK_USES / links;
    return share < 1 ? 1 : share > PG_QUEUE_MAX ? PG_QUEUE_MAX : share;
}

void pg_links_report_slow(int read, const struct pg_reply *reply)
{
    const enum pg_link_use use = read < QUERY_COUNT ? PG_LINK_PAGES : PG_LINK_HEADS;
    const char *text = tables.of[use].statements[tables.index[read]].sql;
    if (slow_query_report(text, reply->took_us / 1000) && read < QUERY_COUNT)
        slow_query_request_plan((enum query)read);
}

uint64_t pg_links_incarnation(const struct pg_incarnation *incarnation)
{
    return ((uint64_t)incarnation->started_us << 12) + incarnation->timeline + 1;
}
