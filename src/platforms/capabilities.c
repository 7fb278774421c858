/* Prints the capability table from the descriptors. */
#include "platforms/capabilities.h"

#include "base/json.h"
#include "platforms/platform.h"

void capabilities_print(struct buf *out)
{
    buf_append(out, STR("| platform | views | likes | comments | shares | saves |\n"
                        "| --- | --- | --- | --- | --- | --- |\n"));
    for (int api = 0; api < PLATFORM_APIS; api++) {
        const struct platform_desc *desc = platform_desc((enum platform_api)api);
        buf_printf(out, "| %s |", desc->title);
        for (int k = 0; k < COUNT_KINDS; k++)
            buf_append(out, desc->measurable[k] ? STR(" yes |") : STR(" no |"));
        buf_append_char(out, '\n');
    }
}

void capabilities_print_json(struct buf *out)
{
    static const char *const names[COUNT_KINDS] = {[COUNT_VIEWS] = "views",
                                                   [COUNT_LIKES] = "likes",
                                                   [COUNT_COMMENTS] = "comments",
                                                   [COUNT_SHARES] = "shares",
                                                   [COUNT_SAVES] = "saves"};
    json_open(out, '[');
    for (int api = 0; api < PLATFORM_APIS; api++) {
        const struct platform_desc *desc = platform_desc((enum platform_api)api);
        json_open(out, '{');
        JSON_STR(out, "api", str_from_cstr(desc->name));
        JSON_STR(out, "title", str_from_cstr(desc->title));
        for (int k = 0; k < COUNT_KINDS; k++) {
            json_key(out, str_from_cstr(names[k]));
            json_bool(out, desc->measurable[k]);
        }
        json_close(out, '}');
    }
    json_close(out, ']');
    buf_append_char(out, '\n');
}
