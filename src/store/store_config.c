/* Translates the section [store] of the configuration. */
#include "store/store_config.h"

bool store_config_is_file(const struct config *c)
{
    return !c->store.url || !*c->store.url;
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
