/* Runs imports and collects the reported lines. */
#include "lib/importing.h"

#include "base/clock.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILES_MAX = 8 };

static void on_bad_line(void *ctx, const char *file, int64_t line, struct str reason)
{
    struct importing *t = ctx;
    const char *slash = strrchr(file, '/');
    buf_printf(&t->bad, "%s:%lld: %.*s\n", slash ? slash + 1 : file, (long long)line, (int)reason.len,
               reason.p);
}

void importing_init(struct importing *t)
{
    memset(t, 0, sizeof *t);
    temp_db_init(&t->db);
    buf_init(&t->bad, 1 << 24);
    t->options = (struct import_options){
        .temp_dir = t->db.dir,
        .rules = {.multiplier_milli = 5000,
                  .min_views = 10000,
                  .compare_last = 50,
                  .compare_min_age_ms = 7 * (int64_t)DAY_MS,
                  .history_start_ms = TEST_DAY - 30 * (int64_t)DAY_MS},
        .now_ms = IMPORT_NOW,
        .ctx = t,
        .on_bad_line = on_bad_line,
    };
}

void importing_fini(struct importing *t)
{
    buf_fini(&t->bad);
    temp_db_fini(&t->db);
}

const char *write_file(struct importing *t, const char *name, struct str content)
{
    struct str path = arena_printf(&t->db.arena, "%s/%s", t->db.dir, name);
    FILE *f = fopen(path.p, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(content.p, 1, content.len, f), content.len);
    assert_int_equal(fclose(f), 0);
    return path.p;
}

void import_files(struct importing *t, const char *first, ...)
{
    const char *files[FILES_MAX];
    int n = 0;
    va_list ap;
    va_start(ap, first);
    for (const char *file = first; file; file = va_arg(ap, const char *)) {
        assert_true(n < FILES_MAX);
        files[n++] = file;
    }
    va_end(ap);
    t->options.files = files;
    t->options.file_count = n;
    buf_reset(&t->bad, SIZE_MAX);
    t->err = import_run(t->db.w, &t->options, &t->summary);
}

void import_text(struct importing *t, const char *text)
{
    import_files(t, write_file(t, "f", str_from_cstr(text)), NULL);
    assert_int_equal(t->err, OK);
}

void assert_bad(const struct importing *t, const char *expected)
{
    char *found = strndup(t->bad.len ? t->bad.p : "", t->bad.len);
    assert_string_equal(found, expected);
    free(found);
}
