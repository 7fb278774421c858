/* The items of a comma-separated configuration value as NUL-terminated strings. */
#ifndef VT_CONFIG_CONFIG_LIST_H
#define VT_CONFIG_CONFIG_LIST_H

#include "base/vec.h"

struct config_list {
    VEC(char *) texts;
};

/* The caller frees the list with config_list_fini(). */
void config_list_init(struct config_list *list, const char *value);
void config_list_fini(struct config_list *list);

#endif
