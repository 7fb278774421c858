/* Decides whether rejected accounts or the app are at fault. */
#include "fetch/rejections.h"

#include "base/check.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* The app is suspected only if at least SUSPICIOUS_MIN accounts are rejected. When UNDECIDED_MAX accounts are
 * collected, rejections_decide() is called before the end of the run. */
enum { SUSPICIOUS_MIN = 3, UNDECIDED_MAX = 1024 };

/* An entry of rejections.used. */
struct used_account {
    struct hash_link link;
    int64_t row;
    bool rejected;
};

static struct used_account *used_account_of(const struct hash_link *link)
{
    return LIST_ENTRY((struct hash_link *)(uintptr_t)link, struct used_account, link);
}

static bool has_row(const struct hash_link *link, const void *row)
{
    return used_account_of(link)->row == *(const int64_t *)row;
}

void rejections_init(struct rejections *r, struct pending_writes *writes)
{
    *r = (struct rejections){.writes = writes};
    hash_table_init(&r->used, has_row);
}

void rejections_fini(struct rejections *r)
{
    struct hash_link *next;
    for (struct hash_link *link = hash_table_next(&r->used, NULL); link; link = next) {
        next = hash_table_next(&r->used, link);
        free(used_account_of(link));
    }
    hash_table_fini(&r->used);
    VEC_FREE(&r->accounts);
}

/* Returns the entry of the account. If the account is new in this run, counts it and adds an entry. */
static struct used_account *use_account(struct rejections *r, enum platform_api api, int64_t row)
{
    const uint64_t hash = hash_i64(row);
    struct hash_link *link = hash_table_find(&r->used, hash, &row);
    if (link)
        return used_account_of(link);
    struct used_account *account = xmalloc(sizeof *account);
    *account = (struct used_account){.row = row};
    hash_table_add(&r->used, &account->link, hash);
    r->apis[api].used++;
    return account;
}

void rejections_record_use(struct rejections *r, enum platform_api api, int64_t row)
{
    if (row)
        (void)use_account(r, api, row);
}

void rejections_add(struct rejections *r, const struct throttle *t, int64_t row, int64_t version,
                    const char *code)
{
    struct used_account *used = use_account(r, t->api, row);
    if (used->rejected)
        return;
    used->rejected = true;
    r->apis[t->api].rejected++;
    log_info("platforms: %s rejects account %" PRId64 " (%s)", t->desc->name, row, code);
    if (r->accounts.count == UNDECIDED_MAX)
        rejections_decide(r);
    struct rejected_account *account = VEC_ADD(&r->accounts);
    *account = (struct rejected_account){
        .api = t->api,
        .update = {.kind = ACCOUNT_RECONNECT, .row = row, .version = version, .at = clock_wall_ms()}};
    (void)snprintf(account->update.text, sizeof account->update.text, "%s %s",
                   outcome_kind_name(OUTCOME_RECONNECT), code);
}

void rejections_add_account(struct rejections *r, struct fetch_account *account, const char *code)
{
    account->failure_recorded = true;
    rejections_add(r, account->api->throttle, account->row, account->version, code);
    fetch_account_abandon(account);
}

static void suspect_app(struct rejections *r, int api)
{
    const int64_t used = r->apis[api].used, rejected = r->apis[api].rejected;
    if (r->apis[api].app_suspected || rejected < SUSPICIOUS_MIN || 2 * rejected <= used)
        return;
    r->apis[api].app_suspected = true;
    log_error("platforms: %s rejects %" PRId64 " of %" PRId64
              " accounts: probably the app registration is at fault, so no account is marked as \"reconnect "
              "required\"; check the app in the developer console of the platform",
              platform_desc((enum platform_api)api)->name, rejected, used);
}

void rejections_decide(struct rejections *r)
{
    for (int api = 0; api < PLATFORM_APIS; api++)
        suspect_app(r, api);
    for (size_t i = 0; i < r->accounts.count; i++)
        if (!r->apis[r->accounts.items[i].api].app_suspected)
            pending_writes_add_account(r->writes, &r->accounts.items[i].update);
    r->accounts.count = 0;
}

void api_queue_reject_app(struct api_queue *q, const char *code)
{
    const struct platform_desc *desc = q->throttle->desc;
    if (q->throttle->closed)
        return;
    log_error("platforms: %s rejects our app (%s): check the app in the developer console of the platform "
              "and [%s] in the configuration; accounts are not affected",
              desc->name, code, platform_name(desc->section).p);
    api_queue_close(q);
}
