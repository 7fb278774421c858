/* Parses arbitrary bytes as a form. Checks that the parsed fields are valid UTF-8 without U+0000, that no
 * name occurs twice, and that their number is limited. */
#include "base/check.h"
#include "http/form.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_field(const struct form *form, size_t i)
{
    struct str name = form->fields[i].name, value = form->fields[i].value;
    CHECK(str_is_utf8(name) && str_is_utf8(value));
    CHECK(!memchr(name.p, '\0', name.len) && !memchr(value.p, '\0', value.len));
    CHECK(form_get(form, name).p == value.p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct form form;
    if (size > 16 << 10)
        return 0;
    arena_init(&arena, 4096);
    if (form_parse(&arena, str_make((const char *)data, size), &form, NULL))
        form.count = 0;
    CHECK(form.count <= FORM_FIELDS_MAX);
    for (size_t i = 0; i < form.count; i++)
        check_field(&form, i);
    arena_fini(&arena);
    return 0;
}
