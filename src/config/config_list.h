/* Splits a comma-separated configuration value into NUL-terminated strings. */
#ifndef VT_CONFIG_CONFIG_LIST_H
#define VT_CONFIG_CONFIG_LIST_H

#include "base/vec.h"

struct config_list {
    VEC(char *) texts;
};

/* Splits `value`, a CONFIG_LIST value. Free the result with config_list_fini(). */
void config_list_init(struct config_list *list, const char *value);
void config_list_fini(struct config_list *list);

#endif
