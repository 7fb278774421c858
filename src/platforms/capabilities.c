/* Prints the capability table from the descriptors. */
#include "platforms/capabilities.h"

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
