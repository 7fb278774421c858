/* Prints the statements that run on PostgreSQL, one per line. A line has the name, the number of
 * parameters, the text for PostgreSQL and the text for SQLite, separated by tabs. Statements that take arrays
 * are only for PostgreSQL and have no text for SQLite. */
#include "store/pg/pg_bulk.h"
#include "store/pg/pg_queries.h"
#include "store/pg/pg_translate.h"

#include <stdio.h>

int main(void)
{
    for (int i = 0; i < QUERY_COUNT; i++) {
        const struct pg_translated *t = pg_translate((enum query)i);
        if (t->text)
            printf("%s\t%d\t%s\t%s\n", sql_queries[i].name, t->param_count, t->text, sql_queries[i].text);
    }
    printf("KEY_OWNERS\t1\t%s\t\n", PG_KEY_OWNERS);
    printf("HEADS\t1\t%s\t\n", PG_HEADS);
    printf("VIDEOS_BY_ROWS\t1\t%s\t\n", PG_VIDEOS_BY_ROWS);
    printf("POST_OWNERS\t2\t%s\t\n", PG_POST_OWNERS);
    printf("SAVE_MANY_COUNTS\t%d\t%s\t\n", PG_BULK_COLUMNS, pg_bulk_text);
    return 0;
}
