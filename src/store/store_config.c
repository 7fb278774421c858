/* Translates the section [store] of the configuration. */
#include "store/store_config.h"

#include "config/key_rows.h"
#include "pg/pg_options.h"

#include <stdlib.h>
#include <string.h>

enum err store_url_check(const char *url, struct error *error)
{
    struct pg_options where;
    const enum err err = pg_options_parse(&where, url, NULL, NULL, error);
    pg_options_fini(&where);
    return err;
}

enum err config_check_store_url(struct str value, struct error *error)
{
    struct error why = {0};
    if (!value.len)
        return OK;
    char *url = strndup(value.p, value.len);
    if (!url)
        return error_set(error, ERR_NOMEM, "cannot be checked: out of memory");
    const enum err err = store_url_check(url, &why);
    free(url);
    return err ? error_set(error, err, "is not a usable URL: %s", why.text) : OK;
}

enum err store_config_check(const struct config *c, struct error *error)
{
    return store_config_is_file(c) ? OK : store_server_check(c->store.url, c->store.password_file, error);
}

bool store_config_is_file(const struct config *c)
{
    return !*c->store.url;
}

const char *store_config_name(const struct config *c)
{
    return store_config_is_file(c) ? c->store.path : c->store.url;
}

struct store_options store_options_from_config(const struct config *c, enum store_mode mode)
{
    return (struct store_options){
        .path = c->store.path,
        .url = c->store.url,
        .password_file = c->store.password_file,
        .connections = (int)c->store.connections,
        .hold_ms = (int)c->store.hold_ms,
        .mode = mode,
        .busy_timeout_ms = mode == STORE_WRITE ? (int)c->store.busy_timeout_ms : 0,
    };
}
