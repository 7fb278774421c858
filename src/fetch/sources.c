/* The table of sources. */
#include "fetch/sources.h"

#include "fetch/fetch.h"
#include "refresh/simulated.h"
#include "refresh/spool.h"

static const struct source *const known[SOURCE_KINDS] = {
    [SOURCE_SPOOL] = &spool_source,
    [SOURCE_SIMULATED] = &simulated_source,
    [SOURCE_PLATFORMS] = &platform_source,
};

static void add_named(void *ctx, struct str name)
{
    bool *wanted = ctx;
    for (int i = 0; i < SOURCE_KINDS; i++)
        wanted[i] = wanted[i] || str_eq(name, str_from_cstr(source_name((enum source_kind)i)));
}

struct source_list sources_from_config(const struct config *config)
{
    struct source_list list = {{NULL}};
    bool wanted[SOURCE_KINDS] = {false};
    int n = 0;
    config_each_item(config->refresh.source, add_named, wanted);
    /* In the order of their kinds: the spool is first, because it may create the videos that the other
     * sources read. */
    for (int i = 0; i < SOURCE_KINDS; i++)
        if (wanted[i])
            list.sources[n++] = known[i];
    return list;
}
