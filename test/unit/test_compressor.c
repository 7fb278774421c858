/* Tests which bodies the compressor compresses, and that it compresses each body at most once. */
#include "unit.h"

#include "api/compressor.h"

#include <stdlib.h>
#include <zlib.h>

enum { SIZE = 5000 };

static uv_loop_t loop;
static struct compressor *compressor;

static int set_up(void **state)
{
    (void)state;
    compressor = compressor_new(&loop);
    return uv_loop_init(&loop);
}

static int tear_down(void **state)
{
    (void)state;
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    compressor_free(compressor);
    return uv_loop_close(&loop);
}

static struct shared_body *repetitive_body(size_t len)
{
    char text[SIZE];
    for (size_t i = 0; i < len; i++)
        text[i] = (char)('a' + i % 7);
    return shared_body_new(str_make(text, len));
}

/* Returns a body of random numbers, which deflate cannot compress. */
static struct shared_body *random_body(void)
{
    char text[SIZE];
    uint64_t x = 1;
    for (size_t i = 0; i < sizeof text; i++) {
        x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
        text[i] = (char)(x >> 56);
    }
    return shared_body_new(str_make(text, sizeof text));
}

static void result_decompresses_to_the_body(void **state)
{
    (void)state;
    struct shared_body *body = repetitive_body(SIZE);
    assert_null(compressor_get(compressor, body));
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    const struct str packed = shared_body_text(compressor_get(compressor, body));
    char text[SIZE + 1];
    z_stream z = {.next_in = (Bytef *)(uintptr_t)packed.p,
                  .avail_in = (uInt)packed.len,
                  .next_out = (Bytef *)text,
                  .avail_out = sizeof text};
    assert_int_equal(inflateInit2(&z, MAX_WBITS + 16), Z_OK);
    assert_int_equal(inflate(&z, Z_FINISH), Z_STREAM_END);
    assert_true(str_eq(str_make(text, z.total_out), shared_body_text(body)));
    assert_int_equal(inflateEnd(&z), Z_OK);
    assert_in_range(packed.len, 1, SIZE / 10);
    shared_body_release(body);
}

static void second_request_during_the_job_starts_no_other_job(void **state)
{
    (void)state;
    struct shared_body *body = repetitive_body(SIZE);
    assert_null(compressor_get(compressor, body));
    assert_null(compressor_get(compressor, body));
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_non_null(compressor_get(compressor, body));
    assert_int_equal(compressor_get_total(compressor), 1);
    shared_body_release(body);
}

static void incompressible_body_starts_only_one_job(void **state)
{
    (void)state;
    struct shared_body *body = random_body();
    assert_null(compressor_get(compressor, body));
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_null(compressor_get(compressor, body));
    assert_false(uv_loop_alive(&loop));
    assert_int_equal(compressor_get_total(compressor), 0);
    shared_body_release(body);
}

static void body_below_the_minimum_starts_no_job(void **state)
{
    (void)state;
    struct shared_body *small = repetitive_body(COMPRESSOR_MIN_BYTES - 1),
                       *large = repetitive_body(COMPRESSOR_MIN_BYTES);
    assert_null(compressor_get(compressor, small));
    assert_false(uv_loop_alive(&loop));
    assert_null(compressor_get(compressor, large));
    assert_true(uv_loop_alive(&loop));
    shared_body_release(small);
    shared_body_release(large); /* the job has its own reference */
}

static void body_is_compressed_at_a_later_request_if_all_jobs_are_running(void **state)
{
    (void)state;
    struct shared_body *bodies[COMPRESSOR_JOBS_MAX + 1];
    for (int i = 0; i <= COMPRESSOR_JOBS_MAX; i++) {
        bodies[i] = repetitive_body(SIZE);
        assert_null(compressor_get(compressor, bodies[i]));
    }
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_null(compressor_get(compressor, bodies[COMPRESSOR_JOBS_MAX]));
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    for (int i = 0; i <= COMPRESSOR_JOBS_MAX; i++) {
        assert_non_null(compressor_get(compressor, bodies[i]));
        shared_body_release(bodies[i]);
    }
}

#define COMPRESSOR_TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        COMPRESSOR_TEST(result_decompresses_to_the_body),
        COMPRESSOR_TEST(second_request_during_the_job_starts_no_other_job),
        COMPRESSOR_TEST(incompressible_body_starts_only_one_job),
        COMPRESSOR_TEST(body_below_the_minimum_starts_no_job),
        COMPRESSOR_TEST(body_is_compressed_at_a_later_request_if_all_jobs_are_running),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
