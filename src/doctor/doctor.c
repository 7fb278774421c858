/* Runs the groups of checks in order. */
#include "doctor/doctor.h"

#include "doctor/nginx_view.h"
#include "doctor/redis_facts.h"
#include "store/database_files.h"
#include "store/store_config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* Ordered from the foundations up, so that the first error is likely to be the cause of later ones. */
static const struct doctor_group *const groups[] = {
    &doctor_configuration, &doctor_files,    &doctor_disk,      &doctor_clock,
    &doctor_database,      &doctor_redis,    &doctor_nginx,     &doctor_server,
    &doctor_platforms,     &doctor_webhooks, &doctor_freshness, &doctor_libraries,
};

__attribute__((format(printf, 4, 0))) static void add(struct doctor *d, enum finding_state state,
                                                      const char *fix, const char *format, va_list ap)
{
    struct finding *f = VEC_ADD(&d->findings);
    *f = (struct finding){.group = d->group, .check = d->check, .state = state};
    (void)snprintf(f->fix, sizeof f->fix, "%s", fix);
    (void)vsnprintf(f->text, sizeof f->text, format, ap);
    const size_t len = strlen(f->text);
    if (len && f->text[len - 1] == '.') /* the end of a message of another program */
        f->text[len - 1] = '\0';
}

void doctor_ok(struct doctor *d, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    add(d, FINDING_OK, "", format, ap);
    va_end(ap);
}

void doctor_skip(struct doctor *d, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    add(d, FINDING_SKIPPED, "", format, ap);
    va_end(ap);
}

void doctor_warn(struct doctor *d, const char *fix, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    add(d, FINDING_WARNING, fix, format, ap);
    va_end(ap);
}

void doctor_error(struct doctor *d, const char *fix, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    add(d, FINDING_ERROR, fix, format, ap);
    va_end(ap);
}

/* Opens the database. First acquires its lock, so that no restore replaces the file during the checks. If the
 * lock file does not exist, does not create it and opens the database without the lock. */
static void open_store(struct doctor *d)
{
    char lock[DATABASE_FILE_PATH_MAX];
    const struct store_options options = store_options_from_config(d->config, STORE_READ);
    if (store_config_is_file(d->config) && database_file_path(lock, d->config->store.path, "-lock") &&
        access(lock, F_OK) == 0 &&
        database_lock_acquire_shared(&d->cli->lock, d->config->store.path, false, &d->store_error))
        return;
    if (store_open(&d->store, &options, &d->store_error))
        d->store = NULL;
}

static void run_check(struct doctor *d, const struct doctor_check *check)
{
    d->check = check->name;
    if (check->need >= NEEDS_CONFIG && d->cli->mistakes.len)
        doctor_skip(d, "needs a valid configuration");
    else if ((check->need == NEEDS_FILE || check->need == NEEDS_STORE_FILE) &&
             !store_config_is_file(d->config))
        doctor_skip(d, "the database is on a server ([store] url)");
    else if (check->need >= NEEDS_STORE && !d->store)
        doctor_skip(d, "needs a readable database");
    else
        check->run(d);
}

void doctor_run(struct doctor *d)
{
    d->units = server_units_read(d->cli->config_path);
    server_user_find(&d->user, d->units, d->config->store.path);
    if (!d->cli->mistakes.len)
        open_store(d);
    for (size_t g = 0; g < sizeof groups / sizeof *groups; g++) {
        d->group = groups[g]->name;
        for (size_t i = 0; i < groups[g]->count; i++)
            run_check(d, &groups[g]->checks[i]);
    }
}

void doctor_fini(struct doctor *d)
{
    if (d->store)
        store_close(d->store);
    redis_facts_free(d->redis);
    nginx_view_free(d->nginx);
    server_units_free(d->units);
    VEC_FREE(&d->findings);
}

size_t doctor_count(const struct doctor *d, enum finding_state state)
{
    size_t count = 0;
    for (size_t i = 0; i < d->findings.count; i++)
        count += d->findings.items[i].state == state;
    return count;
}
