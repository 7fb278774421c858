/* A drill copies, verifies and migrates the backup as a restore does. Then it checks that the numbers in the
 * restored database agree (store_check_sums()). */
#include "cli/restore_drill.h"

#include "backup/backup_file.h"
#include "backup/backup_format.h"
#include "base/clock.h"
#include "base/json.h"
#include "base/plural.h"
#include "cli/output.h"
#include "cli/std_stream.h"
#include "store/replace.h"
#include "store/write.h"

#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

struct drill {
    const char *file, *shown;
    char directory[FILE_PATH_MAX], database[FILE_PATH_MAX + 16];
    bool is_json;
    int applied; /* number of migrations */
    int64_t bytes, authors;
    int64_t refreshed_at; /* newest views_refreshed_at of all authors; TIME_NONE if no author has one */
};

static enum cli_exit copy_files(const struct drill *d)
{
    char from[FILE_PATH_MAX + 16], to[sizeof d->database + 16];
    enum cli_exit code = std_stream_copy_file(d->file, d->database);
    for (int i = 0; i < REPLACE_COMPANIONS && !code; i++) {
        const int n = snprintf(from, sizeof from, "%s%s", d->file, replace_companions[i]);
        (void)snprintf(to, sizeof to, "%s%s", d->database, replace_companions[i]);
        if (n > 0 && (size_t)n < sizeof from && access(from, F_OK) == 0)
            code = std_stream_copy_file(from, to);
    }
    return code;
}

static bool on_author(void *ctx, const struct author *author)
{
    struct drill *d = ctx;
    d->authors++;
    if (author->views_refreshed_at != TIME_NONE &&
        (d->refreshed_at == TIME_NONE || author->views_refreshed_at > d->refreshed_at))
        d->refreshed_at = author->views_refreshed_at;
    return true;
}

static enum err count(struct drill *d, struct error *error)
{
    const struct store_options options = {.path = d->database, .mode = STORE_READ};
    struct store *store;
    enum err err = store_open(&store, &options, error);
    if (err)
        return err;
    err = store_list_authors(store, on_author, d);
    store_close(store);
    return err ? error_set(error, err, "the authors cannot be read: %s", err_name(err)) : OK;
}

/* Prints the result of a step as soon as the step has succeeded, because a large backup takes minutes. Prints
 * nothing with --json. */
__attribute__((format(printf, 2, 3))) static void report(const struct drill *d, const char *format, ...)
{
    va_list args;
    if (d->is_json)
        return;
    va_start(args, format);
    (void)vprintf(format, args);
    va_end(args);
    (void)fflush(stdout);
}

static enum err check(struct drill *d, struct error *error)
{
    enum err err = store_check_identity(d->database, error);
    if (err)
        return err;
    err = store_verify(d->database, NULL, error);
    if (err)
        return err;
    report(d, "integrity  every page is intact\n");
    err = store_migrate(d->database, &d->applied, error);
    if (err)
        return err;
    report(d, "schema     %d migration%s applied\n", d->applied, plural(d->applied, "", "s"));
    err = store_check_sums(d->database, error);
    if (err)
        return err;
    report(d, "sums       all numbers agree\n");
    return count(d, error);
}

static void print_content(const struct drill *d)
{
    struct buf b;
    buf_init(&b, 4096);
    buf_printf(&b, "content    %lld author%s", (long long)d->authors, plural(d->authors, "", "s"));
    if (d->refreshed_at != TIME_NONE) {
        buf_append(&b, STR(", newest reading "));
        cli_append_time(&b, d->refreshed_at);
        buf_append(&b, STR(" UTC"));
    }
    report(d, "%.*s\n", (int)b.len, b.p);
    buf_fini(&b);
}

static enum cli_exit print_json(const struct drill *d, const struct error *error, int64_t duration_ms)
{
    struct buf b;
    buf_init(&b, 1 << 20);
    json_open(&b, '{');
    JSON_STR(&b, "file", str_from_cstr(d->shown));
    JSON_BOOL(&b, "restorable", !error->code);
    JSON_STR(&b, "error", str_from_cstr(error->code ? error->text : NULL));
    JSON_I64(&b, "bytes", d->bytes);
    JSON_I64(&b, "migrations", d->applied);
    JSON_I64_OR_NULL(&b, "authors", !error->code, d->authors);
    JSON_TIME_OR_NULL(&b, "newest_reading_at", d->refreshed_at != TIME_NONE, d->refreshed_at);
    JSON_I64(&b, "duration_ms", duration_ms);
    json_close(&b, '}');
    buf_append_char(&b, '\n');
    const enum cli_exit printed = cli_print(&b);
    return printed ? printed : error->code ? CLI_PART : CLI_DONE;
}

static enum cli_exit run(struct drill *d)
{
    struct stat st;
    struct error error = {0};
    const int64_t begun_us = clock_work_us();
    if (backup_format_check(d->file, d->shown, &error) == OK) {
        const enum cli_exit code = copy_files(d);
        if (code)
            return code;
        d->bytes = stat(d->database, &st) == 0 ? st.st_size : 0;
        report(d, "copied     %lld bytes\n", (long long)d->bytes);
        if (check(d, &error))
            error_replace(&error, d->database, d->shown);
    }
    const long long duration_ms = (clock_work_us() - begun_us) / 1000;
    if (d->is_json)
        return print_json(d, &error, duration_ms);
    if (error.code)
        return cli_fail(CLI_PART, "%s cannot be restored: %s", d->shown, error.text);
    print_content(d);
    printf("result     %s can be restored (%lld ms); nothing was changed\n", d->shown, duration_ms);
    return cli_flush();
}

static void remove_files(const struct drill *d)
{
    char path[sizeof d->database + 16];
    (void)unlink(d->database);
    for (int i = 0; i < REPLACE_COMPANIONS; i++) {
        (void)snprintf(path, sizeof path, "%s%s", d->database, replace_companions[i]);
        (void)unlink(path);
    }
    (void)rmdir(d->directory);
}

enum cli_exit restore_drill(struct cli *cli, const char *file, const char *shown, bool is_json)
{
    struct drill d = {.file = file, .shown = shown, .is_json = is_json, .refreshed_at = TIME_NONE};
    struct error error;
    enum cli_exit code = std_stream_create_directory(cli, d.directory);
    if (code)
        return code;
    (void)snprintf(d.database, sizeof d.database, "%s/drill.db", d.directory);
    code = backup_check_space(file, d.database, "select another directory with $TMPDIR", &error)
               ? cli_fail(CLI_COULD_NOT, "%s", error.text)
               : run(&d);
    remove_files(&d);
    return code;
}
