/* Argon2id on libuv's thread pool. Knows no account. */
#include "auth/password.h"

#include "base/check.h"
#include "base/list.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>

/* What lists of leaked passwords begin with, from eight characters on. */
static const char *const common[] = {
    "password",  "12345678",      "123456789",   "1234567890", "qwertyui", "qwertyuiop", "qwerty123",
    "password1", "password12",    "password123", "passw0rd",   "p@ssw0rd", "iloveyou",   "sunshine",
    "princess",  "football",      "baseball",    "superman",   "trustno1", "letmein1",   "letmein123",
    "welcome1",  "welcome123",    "starwars",    "abc12345",   "abcd1234", "1q2w3e4r",   "1q2w3e4r5t",
    "1qaz2wsx",  "zaq12wsx",      "asdfghjkl",   "computer",   "whatever", "michelle",   "jennifer",
    "qwerty12",  "q1w2e3r4",      "87654321",    "987654321",  "changeme", "changeme1",  "secret123",
    "admin123",  "administrator", "viewtally",   "viewtally1", "11223344", "12341234",
};

const char *password_check(struct str password, struct str login)
{
    size_t chars = 0, same = 0;
    for (size_t i = 0; i < password.len; i++) {
        chars += ((unsigned char)password.p[i] & 0xC0) != 0x80;
        same += password.p[i] == password.p[0];
    }
    if (chars < PASSWORD_MIN_CHARS)
        return "The password has to have at least 8 characters.";
    if (chars > PASSWORD_MAX_CHARS)
        return "The password may have at most 200 characters.";
    if (same == password.len || str_eq_nocase(password, login))
        return "This password is too easy to guess.";
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++)
        if (str_eq_nocase(password, str_from_cstr(common[i])))
            return "This password is one of those that everybody tries first.";
    return NULL;
}

/* ---- jobs ---- */

struct passwords {
    uv_loop_t *loop;
    int running, waiting;
    struct list queue; /* of jobs that wait */
};

struct job {
    uv_work_t work;
    struct list link; /* in the queue, or in no list */
    struct passwords *owner;
    struct waiter *wait; /* NULL: the request has left */
    struct password_call *call;
    struct password_call answer;
    bool makes, has_stored;
    size_t password_len;
    char password[PASSWORD_MAX_BYTES], stored[PASSWORD_STORED_LEN];
};

struct passwords *passwords_new(uv_loop_t *loop)
{
    struct passwords *p = xcalloc(1, sizeof *p);
    p->loop = loop;
    list_init(&p->queue);
    return p;
}

void passwords_free(struct passwords *p)
{
    if (!p)
        return;
    CHECK(p->running == 0 && p->waiting == 0);
    free(p);
}

static void job_free(struct job *job)
{
    sodium_memzero(job, sizeof *job);
    free(job);
}

static enum err make_text(struct job *job)
{
    int code = crypto_pwhash_str_alg(job->answer.text, job->password, job->password_len, PASSWORD_PASSES,
                                     PASSWORD_MEMORY_BYTES, crypto_pwhash_ALG_ARGON2ID13);
    return code == 0 ? OK : ERR_NOMEM;
}

/* The work is the same whether there is an account or not. */
static enum err verify(struct job *job)
{
    if (!job->has_stored) {
        enum err e = make_text(job);
        job->answer.text[0] = '\0';
        return e;
    }
    errno = 0;
    job->answer.matches = crypto_pwhash_str_verify(job->stored, job->password, job->password_len) == 0;
    if (!job->answer.matches)
        return errno == ENOMEM ? ERR_NOMEM : OK;
    if (crypto_pwhash_str_needs_rehash(job->stored, PASSWORD_PASSES, PASSWORD_MEMORY_BYTES) != 1)
        return OK;
    if (make_text(job))
        job->answer.text[0] = '\0'; /* the old one still holds */
    return OK;
}

static void on_work(uv_work_t *work)
{
    struct job *job = (struct job *)work;
    job->answer.err = job->makes ? make_text(job) : verify(job);
}

static void on_worked(uv_work_t *work, int status);

static void start_some(struct passwords *p)
{
    while (p->running < PASSWORD_JOBS && !list_is_empty(&p->queue)) {
        struct job *job = LIST_ENTRY(p->queue.next, struct job, link);
        list_remove(&job->link);
        p->waiting--;
        p->running++;
        CHECK(uv_queue_work(p->loop, &job->work, on_work, on_worked) == 0);
    }
}

static void on_worked(uv_work_t *work, int status)
{
    struct job *job = (struct job *)work;
    struct passwords *p = job->owner;
    struct waiter *wait = job->wait;
    CHECK(status == 0);
    p->running--;
    if (wait)
        *job->call = job->answer;
    job_free(job);
    start_some(p);
    if (wait)
        waiter_complete(wait);
}

/* One that has not begun is not worth beginning. */
static void leave(struct waiter *wait)
{
    struct job *job = wait->call;
    job->wait = NULL;
    if (list_is_empty(&job->link))
        return;
    list_remove(&job->link);
    job->owner->waiting--;
    job_free(job);
}

static enum next submit(struct passwords *p, struct waiter *wait, struct password_call *call,
                        struct str password, const struct job *like)
{
    CHECK(!waiter_is_armed(wait));
    *call = (struct password_call){.err = OK};
    if (password.len > PASSWORD_MAX_BYTES)
        return NEXT_MORE;
    if (p->waiting == PASSWORD_WAITING_MAX) {
        call->err = ERR_FULL;
        return NEXT_MORE;
    }
    struct job *job = xmalloc(sizeof *job);
    *job = *like;
    job->owner = p;
    job->wait = wait;
    job->call = call;
    job->password_len = password.len;
    memcpy(job->password, password.p, password.len);
    list_init(&job->link);
    list_add_last(&p->queue, &job->link);
    p->waiting++;
    wait->call = job;
    wait->cancel = leave;
    start_some(p);
    return NEXT_WAIT;
}

enum next password_verify(struct passwords *p, struct waiter *wait, struct password_call *call,
                          struct str password, struct str stored)
{
    struct job like = {.has_stored = stored.p && stored.len < PASSWORD_STORED_LEN};
    if (like.has_stored)
        memcpy(like.stored, stored.p, stored.len);
    return submit(p, wait, call, password, &like);
}

enum next password_make(struct passwords *p, struct waiter *wait, struct password_call *call,
                        struct str password)
{
    CHECK(password.len <= PASSWORD_MAX_BYTES);
    return submit(p, wait, call, password, &(struct job){.makes = true});
}
