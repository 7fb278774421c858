/* A queue of hashing jobs.
 *
 *   QUEUED --fewer than PASSWORD_JOBS jobs run--> RUNNING --done--> waiter completes, freed
 *   QUEUED --canceled--> freed
 *   RUNNING --canceled--> no waiter --done--> freed */
#include "auth/password.h"

#include "base/check.h"
#include "base/list.h"

#include <sodium.h>
#include <stdlib.h>

/* The most frequent passwords in lists of leaked passwords, with at least eight characters. */
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
        return "The password must have at least 8 characters.";
    if (chars > PASSWORD_MAX_CHARS)
        return "The password must have at most 200 characters.";
    if (str_eq_nocase(password, login))
        return "This password is too easy to guess, because it is your sign-in name.";
    if (same == password.len)
        return "This password is too easy to guess, because it repeats one character.";
    for (size_t i = 0; i < sizeof common / sizeof common[0]; i++)
        if (str_eq_nocase(password, str_from_cstr(common[i])))
            return "This password is one of the most common ones and too easy to guess.";
    return NULL;
}

/* ---- hashing and verifying on a pool thread ---- */

struct passwords {
    uv_loop_t *loop;
    int running, queued;
    struct list queue;
};

struct hash_job {
    uv_work_t work;
    struct list link; /* in the queue; in no list while the job runs */
    struct passwords *owner;
    struct waiter *waiter; /* NULL if canceled */
    struct password_call *call;
    struct password_call result;
    bool is_new, has_stored; /* is_new: only compute a hash; has_stored: `stored` contains a hash */
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
    CHECK(p->running == 0 && p->queued == 0);
    free(p);
}

static void job_free(struct hash_job *job)
{
    sodium_memzero(job, sizeof *job);
    free(job);
}

static enum err hash_password(struct hash_job *job)
{
    int code = crypto_pwhash_str_alg(job->result.text, job->password, job->password_len, PASSWORD_PASSES,
                                     PASSWORD_MEMORY_BYTES, crypto_pwhash_ALG_ARGON2ID13);
    return code == 0 ? OK : ERR_NOMEM;
}

/* crypto_pwhash_str_verify() reports a lack of memory as a wrong password, so this is checked before. The
 * pointer is volatile, because the compiler may otherwise remove the allocation. */
static bool has_memory(void)
{
    void *volatile memory = malloc(PASSWORD_MEMORY_BYTES);
    free(memory);
    return memory;
}

/* If there is no account, or none with a password, computes a hash, which takes as long as verifying one. So
 * the response time does not reveal which accounts exist. */
static enum err verify(struct hash_job *job)
{
    if (!job->has_stored) {
        enum err err = hash_password(job);
        job->result.text[0] = '\0';
        return err;
    }
    if (!has_memory())
        return ERR_NOMEM;
    job->result.matches = crypto_pwhash_str_verify(job->stored, job->password, job->password_len) == 0;
    if (!job->result.matches)
        return OK;
    if (crypto_pwhash_str_needs_rehash(job->stored, PASSWORD_PASSES, PASSWORD_MEMORY_BYTES) != 1)
        return OK;
    if (hash_password(job))
        job->result.text[0] = '\0'; /* keep the stored hash */
    return OK;
}

static void on_work(uv_work_t *work)
{
    struct hash_job *job = (struct hash_job *)work;
    job->result.err = job->is_new ? hash_password(job) : verify(job);
}

static void on_worked(uv_work_t *work, int status);

static void start_queued(struct passwords *p)
{
    while (p->running < PASSWORD_JOBS && !list_is_empty(&p->queue)) {
        struct hash_job *job = LIST_ENTRY(p->queue.next, struct hash_job, link);
        list_remove(&job->link);
        p->queued--;
        p->running++;
        CHECK(uv_queue_work(p->loop, &job->work, on_work, on_worked) == 0);
    }
}

static void on_worked(uv_work_t *work, int status)
{
    struct hash_job *job = (struct hash_job *)work;
    struct passwords *p = job->owner;
    struct waiter *waiter = job->waiter;
    CHECK(status == 0);
    p->running--;
    if (waiter)
        *job->call = job->result;
    job_free(job);
    start_queued(p);
    if (waiter)
        waiter_complete(waiter);
}

/* Removes a queued job from the queue. A running job continues without a waiter. */
static void cancel(struct waiter *waiter)
{
    struct hash_job *job = waiter->call;
    job->waiter = NULL;
    if (list_is_empty(&job->link))
        return;
    list_remove(&job->link);
    job->owner->queued--;
    job_free(job);
}

static enum next submit(struct passwords *p, struct waiter *waiter, struct password_call *call,
                        struct str password, const struct hash_job *input)
{
    CHECK(!waiter_is_armed(waiter));
    *call = (struct password_call){.err = OK};
    if (password.len > PASSWORD_MAX_BYTES)
        return NEXT_MORE;
    if (p->queued == PASSWORD_QUEUE_MAX) {
        call->err = ERR_FULL;
        return NEXT_MORE;
    }
    struct hash_job *job = xmalloc(sizeof *job);
    *job = *input;
    job->owner = p;
    job->waiter = waiter;
    job->call = call;
    job->password_len = password.len;
    memcpy(job->password, password.p, password.len);
    list_init(&job->link);
    list_add_last(&p->queue, &job->link);
    p->queued++;
    waiter->call = job;
    waiter->cancel = cancel;
    start_queued(p);
    return NEXT_WAIT;
}

enum next password_verify(struct passwords *p, struct waiter *waiter, struct password_call *call,
                          struct str password, struct str stored)
{
    struct hash_job input = {.has_stored = stored.p && stored.len < PASSWORD_STORED_LEN};
    if (input.has_stored)
        memcpy(input.stored, stored.p, stored.len);
    return submit(p, waiter, call, password, &input);
}

enum next password_hash(struct passwords *p, struct waiter *waiter, struct password_call *call,
                        struct str password)
{
    CHECK(password.len <= PASSWORD_MAX_BYTES);
    return submit(p, waiter, call, password, &(struct hash_job){.is_new = true});
}
