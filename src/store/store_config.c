/* Translates the section [store] of the configuration. */
#include "store/store_config.h"

#include "config/key_rows.h"
#include "pg/pg_options.h"

#include <stdlib.h>
#include <string.h>

enum err config_check_store_url(struct str value, struct error *error)
{
    struct pg_options where;
    struct error why = {0};
    if (!value.len)
        return OK;
    char *url = strndup(value.p, value.len);
    if (!url)
        return error_set(error, ERR_NOMEM, "cannot be checked: out of memory");
    const enum err err = pg_options_parse(&where, url, NULL, &why);
    pg_options_fini(&where);
    free(url);
    return err ? error_set(error, err, "is not a usable URL: %s", why.text) : OK;
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
        .hold_ms = (int)c->store.hold_ms,
        .mode = mode,
        .busy_timeout_ms = mode == STORE_WRITE ? (int)c->store.busy_timeout_ms : 0,
    };
}
