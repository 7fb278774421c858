/* Splits comma-separated values. */
#include "config/config_list.h"

#include "base/check.h"
#include "config/config.h"

#include <string.h>

static void add_item(void *ctx, struct str item)
{
    struct config_list *list = ctx;
    char *text = xmalloc(item.len + 1);
    memcpy(text, item.p, item.len);
    text[item.len] = '\0';
    *VEC_ADD(&list->texts) = text;
}

void config_list_init(struct config_list *list, const char *value)
{
    *list = (struct config_list){.texts = {.items = NULL}};
    config_each_item(value, add_item, list);
}

void config_list_fini(struct config_list *list)
{
    for (size_t i = 0; i < list->texts.count; i++)
        free(list->texts.items[i]);
    VEC_FREE(&list->texts);
}
