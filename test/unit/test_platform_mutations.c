/* Applies random changes to the samples for 30 seconds, with AddressSanitizer for 90 seconds.
 * sample_play() checks the invariants that hold for any bytes. The changes of an input depend only on its
 * number. A failure prints this number, and MUTATION=number in the environment repeats the input. */
#include "unit.h"

#include "base/clock.h"
#include "lib/sample.h"

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define SAMPLES "test/data/platforms"

enum { FILES_MAX = 1000, INPUT_MAX = 64 << 10 };

#ifdef __SANITIZE_ADDRESS__
enum { SECONDS = 90 };
void __asan_set_death_callback(void (*callback)(void));
#else
enum { SECONDS = 30 };
#endif

static struct {
    struct buf files[FILES_MAX];
    size_t count;
    uint64_t random;
} world;

static volatile uint64_t playing;

static void print_input_number(void)
{
    char text[60];
    int n = snprintf(text, sizeof text, "\nMUTATION=%llu\n", (unsigned long long)playing);
    (void)!write(STDERR_FILENO, text, (size_t)n);
}

static void on_end(int number)
{
    print_input_number();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

/* ---- the samples ---- */

static int is_sample(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

static void read_file(const char *name, struct buf *out)
{
    char path[300];
    (void)snprintf(path, sizeof path, SAMPLES "/%s", name);
    FILE *f = fopen(path, "rb");
    assert_non_null(f);
    buf_init(out, INPUT_MAX);
    size_t n;
    while ((n = fread(buf_reserve(out, 4096), 1, 4096, f)) > 0)
        out->len += n;
    (void)fclose(f);
}

static int set_up(void **state)
{
    (void)state;
    struct dirent **names;
    int count = scandir(SAMPLES, &names, is_sample, alphasort);
    assert_in_range(count, 20, FILES_MAX);
    for (int i = 0; i < count; i++) {
        read_file(names[i]->d_name, &world.files[world.count++]);
        free(names[i]);
    }
    free(names);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    for (size_t i = 0; i < world.count; i++)
        buf_fini(&world.files[i]);
    return 0;
}

/* ---- random changes of a sample ---- */

/* splitmix64 */
static size_t pick(size_t below)
{
    uint64_t z = world.random += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return below ? (size_t)((z ^ z >> 31) % below) : 0;
}

struct input {
    char p[INPUT_MAX];
    size_t len;
};

static void replace(struct input *in, size_t at, size_t old_len, struct str by)
{
    if (in->len - old_len + by.len > sizeof in->p)
        return;
    memmove(in->p + at + by.len, in->p + at + old_len, in->len - at - old_len);
    if (by.len)
        memcpy(in->p + at, by.p, by.len);
    in->len += by.len - old_len;
}

static void replace_number(struct input *in)
{
    static const char *const by[] = {"-1",
                                     "1e3",
                                     "\"12 \"",
                                     "18446744073709551616",
                                     "null",
                                     "true",
                                     "9007199254740991",
                                     "9007199254740992",
                                     "20.0",
                                     "20.5",
                                     "\"\"",
                                     "[]",
                                     "{}",
                                     "-0",
                                     "190",
                                     "100",
                                     "33",
                                     "\"07\"",
                                     "1e999",
                                     "80002",
                                     "2",
                                     "200",
                                     "0"};
    size_t from = pick(in->len), to;
    while (from < in->len && (in->p[from] < '0' || in->p[from] > '9'))
        from++;
    for (to = from; to < in->len && in->p[to] >= '0' && in->p[to] <= '9';)
        to++;
    replace(in, from, to - from, str_from_cstr(by[pick(sizeof by / sizeof by[0])]));
}

static void insert_token(struct input *in)
{
    static const char *const tokens[] = {"null",
                                         "{",
                                         "}",
                                         "[",
                                         "]",
                                         "\"",
                                         ",",
                                         ":",
                                         "\\u0000",
                                         "\\ud800",
                                         "\\\"",
                                         "\xff",
                                         "\"error\":",
                                         "\"code\":",
                                         "\"data\":",
                                         "\"values\":",
                                         "\"value\":",
                                         "[[[[",
                                         "{\"error\":{\"code\":190}}",
                                         "\r\n",
                                         "\"id\":",
                                         "\xc3\xa9",
                                         "http://a.example/"};
    replace(in, pick(in->len + 1), 0, str_from_cstr(tokens[pick(sizeof tokens / sizeof tokens[0])]));
}

static void splice(struct input *in)
{
    const struct buf *other = &world.files[pick(world.count)];
    size_t from = pick(other->len), len = pick(other->len - from + 1);
    replace(in, pick(in->len + 1), 0, str_make(other->p + from, len));
}

static void change(struct input *in)
{
    size_t at = pick(in->len), len = 1 + pick(in->len - at < 40 ? in->len - at : 40);
    char copy[64];
    switch (in->len ? pick(9) : 7) {
    case 0: in->p[at] = (char)(in->p[at] ^ 1 << pick(8)); break;
    case 1: in->p[at] = (char)pick(256); break;
    case 2: in->len = at; break;
    case 3: replace(in, at, len, (struct str){NULL, 0}); break;
    case 4:
        memcpy(copy, in->p + at, len);
        replace(in, pick(in->len + 1), 0, str_make(copy, len));
        break;
    case 5:
    case 6: replace_number(in); break;
    case 7: insert_token(in); break;
    default: splice(in); break;
    }
}

static void make_input(uint64_t number, struct input *in)
{
    world.random = number * 0xD1342543DE82EF95u;
    const struct buf *file = &world.files[pick(world.count)];
    memcpy(in->p, file->p, file->len);
    in->len = file->len;
    for (size_t left = 1 + pick(6); left; left--)
        change(in);
}

/* ---- parsing changed samples ---- */

static bool play(uint64_t number, struct input *in, struct sample *s, struct arena *arena)
{
    playing = number;
    make_input(number, in);
    bool good = sample_parse(s, str_make(in->p, in->len));
    if (good)
        sample_play(arena, s);
    sample_fini(s);
    arena_reset(arena);
    return good;
}

static void any_bytes_result_in_an_outcome(void **state)
{
    (void)state;
    struct input *in = malloc(sizeof *in);
    struct sample *s = malloc(sizeof *s);
    struct arena arena;
    uint64_t number = 0, played = 0;
    const char *one = getenv("MUTATION");
    const int64_t end = clock_mono_ms() + SECONDS * SECOND_MS;
    arena_init(&arena, 64 << 10);
    (void)signal(SIGABRT, on_end);
#ifdef __SANITIZE_ADDRESS__
    __asan_set_death_callback(print_input_number);
#else
    (void)signal(SIGSEGV, on_end);
#endif
    if (one)
        (void)play(strtoull(one, NULL, 10), in, s, &arena);
    while (!one && (number % 256 || clock_mono_ms() < end))
        played += play(number++, in, s, &arena);
    print_message("%llu inputs, %llu of them valid samples\n", (unsigned long long)number,
                  (unsigned long long)played);
    assert_true(one || played > 1000);
    arena_fini(&arena);
    free(in);
    free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_bytes_result_in_an_outcome),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
