/* Prints the statements that run on PostgreSQL, one per line: NAME, the number of parameters, the text, and
 * the text for SQLite, separated by tabs. */
#include "store/pg/pg_translate.h"

#include <stdio.h>

int main(void)
{
    for (int i = 0; i < QUERY_COUNT; i++) {
        const struct pg_translated *t = pg_translate((enum query)i);
        if (t->text)
            printf("%s\t%d\t%s\t%s\n", sql_queries[i].name, t->param_count, t->text, sql_queries[i].text);
    }
    return 0;
}
