/* Tests the parts of signing in that need no server: secrets and form tokens, cookies, lifetimes, logins,
 * forms, passwords and hashing jobs. */
#include "unit.h"

#include "auth/login.h"
#include "auth/password.h"
#include "auth/session.h"
#include "base/check.h"
#include "http/form.h"
#include "store/model.h"

#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>

static struct arena arena;

static int set_up(void **state)
{
    (void)state;
    arena_init(&arena, 4096);
    return sodium_init() >= 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    (void)state;
    arena_fini(&arena);
    return 0;
}

/* ---- secrets ---- */

static void secret_is_unchanged_after_formatting_and_parsing(void **state)
{
    struct secret a, b;
    (void)state;
    for (int i = 0; i < 100; i++) {
        secret_generate(&a);
        struct str text = secret_format(&arena, &a);
        assert_int_equal(text.len, SECRET_TEXT_LEN);
        assert_true(secret_parse(text, &b));
        assert_memory_equal(a.b, b.b, SECRET_LEN);
        assert_false(secret_parse(str_make(text.p, text.len - 1), &b));
    }
    assert_false(secret_parse(STR("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="), &b));
    assert_false(secret_parse(STR("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA+A"), &b));
    assert_false(
        secret_parse(STR("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAB"), &b)); /* unused bits are set */
    assert_false(secret_parse((struct str){NULL, 0}, &b));
}

static void hash_of_a_secret_is_the_sha_256_of_its_bytes(void **state)
{
    static const struct secret zero = {{0}};
    uint8_t hash[SECRET_HASH_BYTES];
    (void)state;
    secret_hash(&zero, hash);
    assert_memory_equal(hash, "\x66\x68\x7a\xad\xf8\x62\xbd\x77",
                        8); /* the SHA-256 of 32 zero bytes begins with these bytes */
}

static void form_token_is_valid_for_its_secret_and_author_only(void **state)
{
    struct secret mine, other;
    (void)state;
    secret_generate(&mine);
    secret_generate(&other);
    struct str token = secret_make_form_token(&arena, &mine, STR("ann")), again;
    again = secret_make_form_token(&arena, &mine, STR("ann"));
    assert_false(str_eq(token, again));
    assert_true(secret_is_form_token(&mine, STR("ann"), token));
    assert_true(secret_is_form_token(&mine, STR("ann"), again));
    assert_false(secret_is_form_token(&mine, STR("bob"), token));
    assert_false(secret_is_form_token(&mine, STR(""), token));
    assert_false(secret_is_form_token(&other, STR("ann"), token));
    assert_false(secret_is_form_token(&mine, STR("ann"), (struct str){NULL, 0}));
    for (size_t at = 0; at < token.len; at++) {
        struct str changed = arena_copy(&arena, token);
        char *p = (char *)(uintptr_t)changed.p + at;
        *p = *p == 'A' ? 'Q' : 'A';
        assert_false(secret_is_form_token(&mine, STR("ann"), changed));
    }
}

static void values_derived_from_a_secret_differ_by_purpose(void **state)
{
    static const struct secret s = {{1}};
    uint8_t a[SECRET_LEN], b[SECRET_LEN];
    (void)state;
    secret_derive(&s, STR("key"), STR("x"), a);
    secret_derive(&s, STR("key"), STR("x"), b);
    assert_memory_equal(a, b, SECRET_LEN);
    secret_derive(&s, STR("keyx"), STR(""), b);
    assert_memory_not_equal(a, b, SECRET_LEN);
    secret_derive(&s, STR("ke"), STR("yx"), b);
    assert_memory_not_equal(a, b, SECRET_LEN);
}

/* ---- cookies, lifetimes ---- */

static void cookies_are_found_by_their_complete_name(void **state)
{
    (void)state;
    assert_str(cookie_find(STR("a=1; b=2;c=3"), STR("b")), "2");
    assert_str(cookie_find(STR("a=1; b=2;c=3"), STR("c")), "3");
    assert_str(cookie_find(STR("a=x=y"), STR("a")), "x=y");
    assert_str(cookie_find(STR(" a=; b"), STR("a")), "");
    assert_null(cookie_find(STR("xb=2; bx=3; b"), STR("b")).p);
    assert_null(cookie_find(STR("b=2; b=2"), STR("b")).p);
    assert_null(cookie_find((struct str){NULL, 0}, STR("b")).p);
}

static void session_expires_when_idle_or_too_old(void **state)
{
    const int64_t begin = INT64_C(1783684800000);
    struct session s = {.created_at = begin, .seen_at = begin, .expires_at = begin + SESSION_LIFE_MS};
    (void)state;
    assert_true(session_is_live(&s, begin));
    assert_true(session_is_live(&s, begin - HOUR_MS)); /* the clock was moved back */
    assert_false(session_is_live(&s, begin - HOUR_MS - 1));
    assert_false(session_has_expired(&s, begin - HOUR_MS - 1)); /* it is not deleted */
    assert_true(session_is_live(&s, begin + SESSION_IDLE_MS - 1));
    assert_false(session_is_live(&s, begin + SESSION_IDLE_MS));
    s.seen_at = begin + SESSION_LIFE_MS - 1;
    assert_true(session_is_live(&s, begin + SESSION_LIFE_MS - 1));
    assert_false(session_is_live(&s, begin + SESSION_LIFE_MS));
}

static void logins_are_normalized(void **state)
{
    (void)state;
    assert_str(login_normalize(&arena, STR(" Ann@Example.COM\t")), "ann@example.com");
    assert_str(login_normalize(&arena, STR("<'\"&>")), "<'\"&>");
    assert_null(login_normalize(&arena, STR("")).p);
    assert_null(login_normalize(&arena, STR("  ")).p);
    assert_null(login_normalize(&arena, STR("a b")).p);
    assert_null(login_normalize(&arena, STR("\xC3\xA4nn")).p);
    assert_null(login_normalize(&arena, STR("a\x01")).p);
    assert_null(login_normalize(&arena, STR("0B0f3d5e-6f0a-4c39-9a50-3f6f5b1f7a99")).p);
    char text[LOGIN_MAX_BYTES + 1];
    memset(text, 'x', sizeof text);
    assert_int_equal(login_normalize(&arena, str_make(text, LOGIN_MAX_BYTES)).len, LOGIN_MAX_BYTES);
    assert_null(login_normalize(&arena, str_make(text, sizeof text)).p);
}

/* ---- forms ---- */

static void forms_are_decoded(void **state)
{
    struct form form;
    (void)state;
    assert_int_equal(form_parse(&arena, STR("a=1&b=x+y%2Bz&&c&=d&e=%C3%A4%26"), &form, NULL), OK);
    assert_int_equal(form.count, 5);
    assert_str(form_get(&form, STR("a")), "1");
    assert_str(form_get(&form, STR("b")), "x y+z");
    assert_str(form_get(&form, STR("c")), "");
    assert_str(form_get(&form, STR("")), "d");
    assert_str(form_get(&form, STR("e")), "\xC3\xA4&");
    assert_null(form_get(&form, STR("f")).p);
    assert_int_equal(form_parse(&arena, (struct str){NULL, 0}, &form, NULL), OK);
    assert_int_equal(form.count, 0);
}

static void malformed_forms_are_rejected(void **state)
{
    static const char *const bad[] = {"a=%",         "a=%4",  "a=%4x",   "%zz=1",     "a=%FF", "%C0%80=1",
                                      "a=%ED%A0%80", "a=%00", "a=1&a=2", "a=1&%61=2", "a&a"};
    struct form form;
    (void)state;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(form_parse(&arena, str_from_cstr(bad[i]), &form, NULL), ERR_INVALID);
    struct buf many;
    buf_init(&many, 4096);
    for (int i = 0; i <= FORM_FIELDS_MAX; i++) {
        struct str so_far = buf_str(&many);
        assert_int_equal(form_parse(&arena, so_far, &form, NULL), OK);
        buf_printf(&many, "f%d=&", i);
    }
    assert_int_equal(form_parse(&arena, buf_str(&many), &form, NULL), ERR_INVALID);
    buf_fini(&many);
}

/* ---- passwords ---- */

static void password_must_have_8_characters_and_not_be_common(void **state)
{
    char text[PASSWORD_MAX_BYTES + 8];
    (void)state;
    assert_null(password_check(STR("correct horse"), STR("ann")));
    assert_null(password_check(STR("        x"), STR("ann")));
    assert_non_null(password_check(STR("1234567"), STR("ann")));
    assert_non_null(password_check(STR(""), STR("ann")));
    assert_non_null(password_check(STR("PassWord"), STR("ann")));
    assert_non_null(password_check(STR("zzzzzzzzzz"), STR("ann")));
    assert_non_null(password_check(STR("Ann@Example.com"), STR("ann@example.com")));
    /* The length counts characters, not bytes. */
    assert_non_null(password_check(STR("\xC3\xA4\xC3\xB6\xC3\xBC\xC3\x9F"), STR("ann")));
    assert_null(password_check(STR("\xC3\xA4\xC3\xB6\xC3\xBC\xC3\x9F"
                                   "abcd"),
                               STR("ann")));
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)('a' + i % 26);
    assert_null(password_check(str_make(text, PASSWORD_MAX_CHARS), STR("ann")));
    assert_non_null(password_check(str_make(text, PASSWORD_MAX_CHARS + 1), STR("ann")));
}

struct test_job {
    struct waiter waiter;
    struct password_call call;
    int woken;
};

static void on_wake(struct waiter *w)
{
    struct test_job *job = (struct test_job *)w;
    job->woken++;
}

static struct test_job new_job(void)
{
    return (struct test_job){.waiter = {.wake = on_wake}};
}

static void passwords_are_hashed_and_verified_on_the_thread_pool(void **state)
{
    uv_loop_t loop;
    struct test_job make = new_job(), right = new_job(), wrong = new_job(), unknown = new_job(),
                    huge = new_job();
    char long_text[PASSWORD_MAX_BYTES + 1];
    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    struct passwords *p = passwords_new(&loop);
    assert_int_equal(password_hash(p, &make.waiter, &make.call, STR("correct horse")), NEXT_WAIT);
    assert_int_equal(make.woken, 0);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(make.woken, 1);
    assert_int_equal(make.call.err, OK);
    struct str stored = str_from_cstr(make.call.text);
    assert_true(str_starts_with(stored, STR("$argon2id$v=19$m=65536,t=3,p=1$")));
    assert_int_equal(password_verify(p, &right.waiter, &right.call, STR("correct horse"), stored), NEXT_WAIT);
    assert_int_equal(password_verify(p, &wrong.waiter, &wrong.call, STR("correct horsf"), stored), NEXT_WAIT);
    assert_int_equal(
        password_verify(p, &unknown.waiter, &unknown.call, STR("correct horse"), (struct str){NULL, 0}),
        NEXT_WAIT);
    memset(long_text, 'x', sizeof long_text);
    assert_int_equal(
        password_verify(p, &huge.waiter, &huge.call, str_make(long_text, sizeof long_text), stored),
        NEXT_MORE);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_true(right.woken && wrong.woken && unknown.woken && !huge.woken);
    assert_true(right.call.matches && !*right.call.text);
    assert_false(wrong.call.matches || unknown.call.matches || huge.call.matches);
    assert_false(*unknown.call.text);
    passwords_free(p);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* The stored hash has the weakest parameters of libsodium, as if it were from an earlier version. */
static void verifying_a_password_with_an_outdated_hash_returns_a_new_hash(void **state)
{
    uv_loop_t loop;
    struct test_job job = new_job();
    char stored[crypto_pwhash_STRBYTES];
    (void)state;
    assert_int_equal(
        crypto_pwhash_str_alg(stored, "correct horse", 13, 1, 8 << 20, crypto_pwhash_ALG_ARGON2ID13), 0);
    assert_int_equal(uv_loop_init(&loop), 0);
    struct passwords *p = passwords_new(&loop);
    assert_int_equal(password_verify(p, &job.waiter, &job.call, STR("correct horse"), str_from_cstr(stored)),
                     NEXT_WAIT);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_true(job.call.matches);
    assert_true(str_starts_with(str_from_cstr(job.call.text), STR("$argon2id$v=19$m=65536,t=3,p=1$")));
    assert_int_equal(crypto_pwhash_str_verify(job.call.text, "correct horse", 13), 0);
    passwords_free(p);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void damaged_hash_matches_no_password(void **state)
{
    static const char rest[] = "AAAAAAAAAAAAAAAAAAAAAA$AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    const char *const starts[] = {"",
                                  "$argon2i$v=19$m=65536,t=3,p=1$",
                                  "$argon2id$v=16$m=65536,t=3,p=1$",
                                  "$argon2id$v=19$m=65536,t=3$",
                                  "$argon2id$v=19$m=65536,t=3,p=2$",
                                  "$argon2id$v=19$m=65536,t=3,p=1,q=1$",
                                  "$argon2id$v=19$m=x,t=3,p=1$",
                                  "$argon2id$v=19$m=65536,t=3,p=1$A",
                                  "$argon2id$v=19$m=65536,t=3,p=1$$"};
    uv_loop_t loop;
    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    struct passwords *p = passwords_new(&loop);
    for (size_t i = 0; i < 2 * sizeof starts / sizeof *starts; i++) {
        struct test_job job = new_job();
        char stored[PASSWORD_STORED_LEN];
        /* Each start is followed by nothing, and by a valid salt and hash. */
        (void)snprintf(stored, sizeof stored, "%s%s", starts[i / 2], i % 2 ? rest : "");
        assert_int_equal(
            password_verify(p, &job.waiter, &job.call, STR("correct horse"), str_from_cstr(stored)),
            NEXT_WAIT);
        assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
        assert_int_equal(job.call.err, OK);
        assert_false(job.call.matches);
    }
    passwords_free(p);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* Canceling a queued job removes the job from the queue. A job above the limit is rejected. */
static void number_of_running_and_waiting_hash_jobs_is_limited(void **state)
{
    enum { ROOM = PASSWORD_JOBS + PASSWORD_QUEUE_MAX };
    uv_loop_t loop;
    struct test_job jobs[ROOM + 1];
    (void)state;
    assert_int_equal(uv_loop_init(&loop), 0);
    struct passwords *p = passwords_new(&loop);
    for (int i = 0; i <= ROOM; i++) {
        jobs[i] = new_job();
        enum next next = password_hash(p, &jobs[i].waiter, &jobs[i].call, STR("correct horse"));
        assert_int_equal(next, i < ROOM ? NEXT_WAIT : NEXT_MORE);
    }
    assert_int_equal(jobs[ROOM].call.err, ERR_FULL);
    for (int i = 1; i < ROOM; i++)
        waiter_cancel(&jobs[i].waiter); /* jobs[1] is already running */
    assert_int_equal(password_hash(p, &jobs[1].waiter, &jobs[1].call, STR("correct horse")), NEXT_WAIT);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    for (int i = 0; i <= ROOM; i++)
        assert_int_equal(jobs[i].woken, i < 2);
    passwords_free(p);
    assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(secret_is_unchanged_after_formatting_and_parsing),
        cmocka_unit_test(hash_of_a_secret_is_the_sha_256_of_its_bytes),
        cmocka_unit_test(form_token_is_valid_for_its_secret_and_author_only),
        cmocka_unit_test(values_derived_from_a_secret_differ_by_purpose),
        cmocka_unit_test(cookies_are_found_by_their_complete_name),
        cmocka_unit_test(session_expires_when_idle_or_too_old),
        cmocka_unit_test(logins_are_normalized),
        cmocka_unit_test(forms_are_decoded),
        cmocka_unit_test(malformed_forms_are_rejected),
        cmocka_unit_test(password_must_have_8_characters_and_not_be_common),
        cmocka_unit_test(passwords_are_hashed_and_verified_on_the_thread_pool),
        cmocka_unit_test(verifying_a_password_with_an_outdated_hash_returns_a_new_hash),
        cmocka_unit_test(damaged_hash_matches_no_password),
        cmocka_unit_test(number_of_running_and_waiting_hash_jobs_is_limited),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
