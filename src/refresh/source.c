/* Which sources there are. */
#include "refresh/source.h"

#include "base/check.h"
#include "fetch/fetch.h"
#include "refresh/simulated.h"
#include "refresh/spool.h"

static const struct source *const known[SOURCE_KINDS] = {
    [SOURCE_SPOOL] = &spool_source,
    [SOURCE_SIMULATED] = &simulated_source,
    [SOURCE_PLATFORMS] = &platforms_source,
};

static const char *const names[SOURCE_KINDS] = {
    [SOURCE_SPOOL] = "spool",
    [SOURCE_SIMULATED] = "simulated",
    [SOURCE_PLATFORMS] = "platforms",
};

const char *source_name(enum source_kind kind)
{
    return names[kind];
}

static void add_named(void *ctx, struct str name)
{
    bool *wanted = ctx;
    for (int i = 0; i < SOURCE_KINDS; i++)
        wanted[i] = wanted[i] || str_eq(name, str_from_cstr(names[i]));
}

/* In the order of kinds: what the spool brings in is there before the others are asked. */
struct source_list sources_of(const struct config *config)
{
    struct source_list list = {{NULL}};
    bool wanted[SOURCE_KINDS] = {false};
    int n = 0;
    config_each_item(config->refresh.source, add_named, wanted);
    for (int i = 0; i < SOURCE_KINDS; i++)
        if (wanted[i] && known[i])
            list.sources[n++] = known[i];
    return list;
}

struct source_list sources_only(const struct config *config, enum source_kind kind)
{
    struct source_list all = sources_of(config), list = {{NULL}};
    for (int i = 0; all.sources[i]; i++)
        if (all.sources[i]->kind == kind)
            list.sources[0] = all.sources[i];
    return list;
}
