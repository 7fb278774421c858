/* Reads the password file, and parses the URL. */
#include "store/pg/pg_where.h"

#include "pg/pg_password.h"
#include "store/store_config.h"

#include <string.h>

enum err pg_where_parse(struct pg_options *where, const char *url, const char *password_file,
                        struct error *error)
{
    char password[PG_PASSWORD_SIZE] = "";
    struct error why;
    *where = (struct pg_options){0};
    enum err err = password_file && *password_file ? pg_password_read(password_file, password, error) : OK;
    if (err)
        return err;
    err = pg_options_parse(where, url, password, password_file, &why);
    explicit_bzero(password, sizeof password);
    return err ? error_set(error, err, "[store] url: %s", why.text) : OK;
}

enum err store_server_check(const char *url, const char *password_file, struct error *error)
{
    struct pg_options where;
    const enum err err = pg_where_parse(&where, url, password_file, error);
    pg_options_fini(&where);
    return err;
}
