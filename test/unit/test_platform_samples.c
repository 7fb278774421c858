/* Every sample of test/data/platforms: what the connector makes of a documented answer. */
#include "unit.h"

#include "lib/sample.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

#define SAMPLES "test/data/platforms"

static void read_file(const char *name, struct buf *out)
{
    char path[300];
    (void)snprintf(path, sizeof path, SAMPLES "/%s", name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    size_t n;
    while ((n = fread(buf_reserve(out, 4096), 1, 4096, f)) > 0)
        out->len += n;
    (void)fclose(f);
}

static bool agrees(const char *name)
{
    struct sample *s = calloc(1, sizeof *s);
    struct arena arena;
    struct buf text, got;
    arena_init(&arena, 64 << 10);
    buf_init(&text, 4 << 20);
    buf_init(&got, 1 << 20);
    read_file(name, &text);
    bool good = sample_parse(s, buf_str(&text));
    if (good) {
        sample_play(&arena, s);
        sample_print(s, &got);
        good = str_eq(buf_str(&got), s->expected);
    }
    if (!good)
        print_message("%s:\nexpected\n%.*sgot\n%.*s\n", name, (int)s->expected.len, s->expected.p,
                      (int)got.len, got.p ? got.p : "");
    sample_fini(s);
    buf_fini(&text);
    buf_fini(&got);
    arena_fini(&arena);
    free(s);
    return good;
}

static int is_sample(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void every_sample_is_read_as_it_says(void **state)
{
    (void)state;
    struct dirent **names;
    int bad = 0, count = scandir(SAMPLES, &names, is_sample, alphasort);
    assert_true(count > 20);
    for (int i = 0; i < count; i++) {
        bad += !agrees(names[i]->d_name);
        free(names[i]);
    }
    free(names);
    assert_int_equal(bad, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_sample_is_read_as_it_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
