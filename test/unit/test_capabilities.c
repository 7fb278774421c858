/* Tests that the capability tables in the documentation and in the OpenAPI document match the descriptors. */
#include "unit.h"

#include "platforms/capabilities.h"

#include <stdio.h>
#include <stdlib.h>

static void read_file(const char *path, struct buf *out)
{
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    buf_init(out, 1 << 20);
    size_t n;
    while ((n = fread(buf_reserve(out, 4096), 1, 4096, f)) > 0)
        out->len += n;
    buf_append_char(out, '\0');
    assert_false(out->failed);
    (void)fclose(f);
}

/* Asserts that the file contains the table. `newline` is the text that stands for a line end in this file. */
static void assert_holds_table(const char *path, const char *newline)
{
    struct buf table, text, wanted;
    buf_init(&table, 4096);
    buf_init(&wanted, 8192);
    capabilities_print(&table);
    read_file(path, &text);
    for (size_t i = 0; i < table.len; i++) {
        if (table.p[i] == '\n')
            buf_append(&wanted, str_from_cstr(newline));
        else
            buf_append_char(&wanted, table.p[i]);
    }
    buf_append_char(&wanted, '\0');
    if (!strstr(text.p, wanted.p))
        fail_msg("%s lacks this table:\n%.*s", path, (int)table.len, table.p);
    buf_fini(&table);
    buf_fini(&text);
    buf_fini(&wanted);
}

static void capability_table_of_data_in_md_matches_the_descriptors(void **state)
{
    (void)state;
    assert_holds_table("docs/data-in.md", "\n");
}

static void capability_table_of_openapi_json_matches_the_descriptors(void **state)
{
    (void)state;
    assert_holds_table("src/api/openapi.json", "\\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(capability_table_of_data_in_md_matches_the_descriptors),
        cmocka_unit_test(capability_table_of_openapi_json_matches_the_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
