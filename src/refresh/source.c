/* Names of the sources, and lists of them. */
#include "refresh/source.h"

#include <stddef.h>

const char *source_name(enum source_kind kind)
{
    static const char *const names[SOURCE_KINDS] = {
        [SOURCE_SPOOL] = "spool",
        [SOURCE_SIMULATED] = "simulated",
        [SOURCE_PLATFORMS] = "platforms",
    };
    return names[kind];
}

struct source_list source_list_only(const struct source_list *list, enum source_kind kind)
{
    struct source_list only = {{NULL}};
    for (int i = 0; list->sources[i]; i++)
        if (list->sources[i]->kind == kind)
            only.sources[0] = list->sources[i];
    return only;
}
