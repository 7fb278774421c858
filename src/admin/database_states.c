/* Reads the states. A job reads into `database_states.read`, because the loop may write a page from
 * `database_states.shown` while the job is running. */
#include "admin/database_states.h"

#include "base/check.h"
#include "base/clock.h"
#include "store/store_config.h"

#include <stdlib.h>

/* Counting this many accounts or webhooks takes about a millisecond, which does not delay requests. */
enum { COUNTED_ON_LOOP_MAX = 20000 };

struct states {
    struct platform_health platforms[PLATFORM_APIS];
    struct webhook_counts webhooks;
    struct store_server_load server_load;
    bool has_platforms, has_webhooks, has_server_load;
};

struct database_states {
    struct writer_job job; /* must be the first member */
    const struct config *config;
    struct config job_config; /* copy for the running job: a reload changes and frees values of `config` */
    struct states shown, read;
    bool is_running;
};

static enum err read_platforms(struct store *store, const struct config *config, struct states *out)
{
    const int64_t now_ms = clock_wall_ms();
    enum err err = OK;
    for (int api = 0; !err && api < PLATFORM_APIS; api++)
        err = platform_health_read(store, config, (enum platform_api)api, now_ms, &out->platforms[api]);
    out->has_platforms = !err;
    return err;
}

/* Reads all states from the database. The database driver logs errors. */
static enum err read_all(struct store *store, const struct config *config, struct states *out)
{
    const enum err platforms = read_platforms(store, config, out);
    const enum err webhooks = store_count_webhook_states(store, &out->webhooks);
    out->has_webhooks = !webhooks;
    out->has_server_load = !store_config_is_file(config) && !store_read_server_load(store, &out->server_load);
    return platforms ? platforms : webhooks;
}

static bool is_large(const struct states *s)
{
    int64_t counted = 0;
    for (int api = 0; api < PLATFORM_APIS; api++)
        for (int state = 0; state < CREDENTIAL_STATES; state++)
            counted += s->platforms[api].accounts[state];
    for (size_t i = 0; i < sizeof s->webhooks.by_state / sizeof *s->webhooks.by_state; i++)
        counted += s->webhooks.by_state[i];
    return counted > COUNTED_ON_LOOP_MAX;
}

static enum err read_work(struct writer_job *job, struct store *store)
{
    struct database_states *s = (struct database_states *)job;
    return read_all(store, &s->job_config, &s->read);
}

static void read_done(struct writer_job *job, enum err err)
{
    struct database_states *s = (struct database_states *)job;
    s->is_running = false;
    config_fini(&s->job_config);
    s->shown = err ? (struct states){0} : s->read;
}

struct database_states *database_states_new(const struct config *config)
{
    struct database_states *s = xcalloc(1, sizeof *s);
    s->config = config;
    s->job = (struct writer_job){.work = read_work, .done = read_done, .only_reads = true};
    return s;
}

static void start_job(struct database_states *s, struct writer *writer)
{
    config_copy(&s->job_config, s->config);
    s->is_running = writer_submit(writer, &s->job) == OK;
    if (!s->is_running)
        config_fini(&s->job_config);
}

void database_states_update(struct database_states *s, struct store *store, struct writer *writer)
{
    if (store_config_is_file(s->config) && !is_large(&s->shown))
        (void)read_all(store, s->config, &s->shown);
    else if (!s->is_running)
        start_job(s, writer);
}

const struct platform_health *database_states_get_platforms(const struct database_states *s)
{
    return s->shown.has_platforms ? s->shown.platforms : NULL;
}

const struct webhook_counts *database_states_get_webhooks(const struct database_states *s)
{
    return s->shown.has_webhooks ? &s->shown.webhooks : NULL;
}

const struct store_server_load *database_states_get_server_load(const struct database_states *s)
{
    return s->shown.has_server_load ? &s->shown.server_load : NULL;
}

void database_states_free(struct database_states *s)
{
    CHECK(!s->is_running);
    free(s);
}
