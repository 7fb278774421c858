/* Drives a PostgreSQL store for the Python tests. Usage: store_driver URL [PASSWORD_FILE]. Reads one command
 * a line from standard input. Prints one line for each: "ok" or the name of the error, a tab, and the result
 * or the text of the error.
 *
 *   migrate | check           open MODE BUSY_MS         close         begin | commit | rollback
 *   author NAME               touch ROW                 authors       key AUTHOR HASH
 *   changed                   snapshot                  failures      slow MS
 *   event AUTHOR              share | try | release     loop          backup FILE
 *
 * `author`, `key` and `event` insert a row and print its id. `snapshot` lists the authors, waits for a line,
 * and lists them again in the same snapshot. `share`, `try` (exclusively, without waiting) and `release`
 * acquire and release the import lock. `loop` runs one iteration of an event loop that serves another store,
 * and then lists the authors with reads that block. `backup` prints how often the progress was reported. */
#include "base/arena.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/number.h"
#include "store/handle.h"
#include "store/import_lock.h"
#include "store/move.h"
#include "store/server_upgrade.h"
#include "store/store.h"
#include "store/write.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <uv.h>

enum { LINE_MAX_BYTES = 1 << 20 };

struct store_driver {
    const char *url, *password_file;
    struct store *store;
    uint64_t seen;
    char line[LINE_MAX_BYTES];
};

static void print_result(enum err err, const char *text)
{
    printf("%s\t%s\n", err_name(err), text);
    (void)fflush(stdout);
}

static void print_result_i64(enum err err, int64_t value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRId64, value);
    print_result(err, text);
}

static void upgrade(const struct store_driver *d, bool only_checks)
{
    struct server_upgrade_result r;
    struct error error = {0};
    enum err err =
        (only_checks ? server_upgrade_check : server_upgrade)(d->url, d->password_file, &r, &error);
    if (err) {
        print_result(err, error.text);
        return;
    }
    for (char *p = r.role_settings; *p; p++)
        *p = *p == '\n' ? ' ' : *p;
    printf("ok\tdatabase=%s role=%s version=%" PRId64 " target=%" PRId64
           " pending=%d newer=%d volatile=%d settings=%s\n",
           r.database, r.role, r.version, r.target, r.pending, r.is_newer, r.is_volatile, r.role_settings);
    (void)fflush(stdout);
}

static void open_store(struct store_driver *d, const char *arguments)
{
    char mode[10] = "";
    int busy_ms = 0;
    struct error error = {0};
    CHECK(!d->store && sscanf(arguments, "%9s %d", mode, &busy_ms) == 2);
    const struct store_options options = {.url = d->url,
                                          .password_file = d->password_file,
                                          .mode = strcmp(mode, "read") == 0 ? STORE_READ : STORE_WRITE,
                                          .busy_timeout_ms = busy_ms};
    enum err err = store_open(&d->store, &options, &error);
    print_result(err, error.text);
}

static void make_id(struct uuid *id)
{
    uint8_t random[16];
    CHECK(uv_random(NULL, NULL, random, sizeof random, 0, NULL) == 0);
    *id = uuid_from_random(random);
}

static void insert_author(struct store_driver *d, const char *name)
{
    struct author author = {.name = str_from_cstr(name), .created_at = clock_wall_ms(), .plan_active = true};
    make_id(&author.id);
    enum err err = store_insert_author(d->store, &author);
    print_result_i64(err, author.row);
}

static bool print_author(void *ctx, const struct author *author)
{
    (void)ctx;
    printf(" %" PRId64 ":%.*s:%" PRId64 ":%" PRId64, author->row, (int)author->name.len, author->name.p,
           author->rev, author->views_refreshed_at);
    return true;
}

static void list_authors(struct store *s)
{
    printf("ok\t");
    enum err err = store_list_authors(s, print_author, NULL);
    printf(" %s\n", err_name(err));
    (void)fflush(stdout);
}

static enum err list_twice(struct store *s, void *ctx)
{
    char line[20];
    (void)ctx;
    list_authors(s);
    CHECK(fgets(line, sizeof line, stdin));
    list_authors(s);
    return OK;
}

static void read_on_loop(const struct store_driver *d)
{
    uv_loop_t loop;
    struct store *store;
    struct error error = {0};
    const struct store_options options = {.url = d->url,
                                          .password_file = d->password_file,
                                          .mode = STORE_READ,
                                          .loop = &loop,
                                          .connections = 1};
    CHECK(uv_loop_init(&loop) == 0 && store_open(&store, &options, &error) == OK);
    (void)uv_run(&loop, UV_RUN_NOWAIT);
    list_authors(store);
    store_close(store);
    CHECK(uv_run(&loop, UV_RUN_DEFAULT) == 0 && uv_loop_close(&loop) == 0);
}

static void insert_key(struct store_driver *d, const char *arguments)
{
    uint8_t hash[KEY_HASH_LEN] = {0};
    int64_t author;
    unsigned char first;
    CHECK(sscanf(arguments, "%" SCNd64 " %hhu", &author, &first) == 2);
    hash[0] = first;
    struct api_key key = {
        .author_row = author, .name = STR(""), .created_at = clock_wall_ms(), .suffix = "abcd"};
    make_id(&key.id);
    enum err err = store_insert_key(d->store, &key, hash, &(struct actor){.kind = ACTOR_OPERATOR});
    print_result_i64(err, key.row);
}

static void insert_event(struct store_driver *d, int64_t author)
{
    struct event event = {
        .author_row = author, .type = EVENT_MILESTONE_REACHED, .value = 1000, .video_row = 1};
    enum err err = store_insert_event(d->store, &event, clock_wall_ms());
    print_result_i64(err, event.id);
}

static bool count_step(void *ctx)
{
    int64_t *steps = ctx;
    ++*steps;
    return true;
}

static void back_up(const struct store_driver *d, const char *file)
{
    const struct store_options from = {.url = d->url, .password_file = d->password_file, .mode = STORE_READ};
    int64_t steps = 0;
    const struct store_progress progress = {.step = count_step, .ctx = &steps};
    struct error error;
    const enum err err = move_back_up(&from, file, &progress, &error);
    if (err)
        print_result(err, error.text);
    else
        print_result_i64(OK, steps);
}

static void run_transaction_command(struct store_driver *d, const char *name)
{
    if (strcmp(name, "begin") == 0) {
        print_result(store_begin(d->store), "");
    } else if (strcmp(name, "commit") == 0) {
        print_result(store_commit(d->store), "");
    } else if (strcmp(name, "rollback") == 0) {
        store_rollback(d->store);
        print_result(OK, "");
    } else if (strcmp(name, "share") == 0) {
        print_result(import_lock_share(d->store), "");
    } else if (strcmp(name, "try") == 0) {
        bool acquired = false;
        enum err err = import_lock_try_exclusive(d->store, &acquired);
        print_result_i64(err, acquired);
    } else if (strcmp(name, "release") == 0) {
        import_lock_release(d->store);
        print_result(OK, "");
    } else if (strcmp(name, "snapshot") == 0) {
        print_result(store_run_in_snapshot(d->store, list_twice, NULL), "");
    }
}

static void run_command(struct store_driver *d, const char *name, const char *arguments)
{
    if (strcmp(name, "migrate") == 0 || strcmp(name, "check") == 0) {
        upgrade(d, strcmp(name, "check") == 0);
    } else if (strcmp(name, "open") == 0) {
        open_store(d, arguments);
    } else if (strcmp(name, "close") == 0) {
        store_close(d->store);
        d->store = NULL;
        print_result(OK, "");
    } else if (strcmp(name, "author") == 0) {
        insert_author(d, arguments);
    } else if (strcmp(name, "authors") == 0) {
        list_authors(d->store);
    } else if (strcmp(name, "touch") == 0) {
        print_result(store_touch_author(d->store, strtoll(arguments, NULL, 10), TIME_NONE), "");
    } else if (strcmp(name, "key") == 0) {
        insert_key(d, arguments);
    } else if (strcmp(name, "event") == 0) {
        insert_event(d, strtoll(arguments, NULL, 10));
    } else if (strcmp(name, "changed") == 0) {
        print_result_i64(OK, store_has_changed(d->store, &d->seen));
    } else if (strcmp(name, "loop") == 0) {
        read_on_loop(d);
    } else if (strcmp(name, "backup") == 0) {
        back_up(d, arguments);
    } else if (strcmp(name, "slow") == 0) {
        store_set_slow_query_ms(strtoll(arguments, NULL, 10));
        print_result(OK, "");
    } else if (strcmp(name, "failures") == 0) {
        print_result_i64(OK, (int64_t)store_get_failure_count(d->store));
    } else {
        run_transaction_command(d, name);
    }
}

int main(int argc, char **argv)
{
    static struct store_driver driver;
    if ((argc != 2 && argc != 3) || !clock_use_test_file())
        return 2;
    clock_test_connections();
    driver.url = argv[1];
    driver.password_file = argc == 3 ? argv[2] : NULL;
    log_set(LOG_INFO, LOG_TEXT);
    while (fgets(driver.line, sizeof driver.line, stdin)) {
        driver.line[strcspn(driver.line, "\n")] = '\0';
        char *arguments = strchr(driver.line, ' ');
        if (arguments)
            *arguments++ = '\0';
        run_command(&driver, driver.line, arguments ? arguments : "");
    }
    if (driver.store)
        store_close(driver.store);
    return 0;
}
