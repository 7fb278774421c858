/* Tests reading lines from files and, byte by byte, from pipes, and lines that are too long. */
#include "import/line_reader.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct line_reader reader;

static int file_of(const char *bytes, size_t n)
{
    int fd = memfd_create("lines", MFD_CLOEXEC);
    assert_true(fd >= 0);
    for (size_t done = 0; done < n;) {
        ssize_t w = write(fd, bytes + done, n - done);
        assert_true(w > 0);
        done += (size_t)w;
    }
    assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
    return fd;
}

static void expect(enum line_kind kind, int64_t number, const char *text)
{
    enum line_kind k;
    struct str line;
    assert_int_equal(line_reader_next(&reader, &k, &line), OK);
    assert_int_equal(k, kind);
    if (kind != LINE_NONE)
        assert_int_equal(reader.number, number);
    if (kind == LINE_TEXT)
        assert_true(str_eq(line, str_from_cstr(text)));
}

static void reads_simple_lines(void **state)
{
    (void)state;
    static const char text[] = "one\n\ntwo\r\nthree";
    int fd = file_of(text, sizeof text - 1);
    line_reader_open(&reader, fd);
    expect(LINE_TEXT, 1, "one");
    expect(LINE_TEXT, 2, "");
    expect(LINE_TEXT, 3, "two\r");
    expect(LINE_TEXT, 4, "three");
    expect(LINE_NONE, 0, "");
    expect(LINE_NONE, 0, "");
    assert_int_equal(reader.bytes_read, sizeof text - 1);
    close(fd);
}

static void empty_file_and_final_newline_begin_no_line(void **state)
{
    (void)state;
    int fd = file_of("", 0);
    line_reader_open(&reader, fd);
    expect(LINE_NONE, 0, "");
    close(fd);
    fd = file_of("a\n", 2);
    line_reader_open(&reader, fd);
    expect(LINE_TEXT, 1, "a");
    expect(LINE_NONE, 0, "");
    close(fd);
}

static void drops_a_byte_order_mark(void **state)
{
    (void)state;
    int fd = file_of("\xEF\xBB\xBF{\n\xEF\xBB\xBF}\n", 10);
    line_reader_open(&reader, fd);
    expect(LINE_TEXT, 1, "{");
    expect(LINE_TEXT, 2, "\xEF\xBB\xBF}");
    expect(LINE_NONE, 0, "");
    close(fd);
}

static void accepts_lines_up_to_the_limit(void **state)
{
    (void)state;
    size_t n = 1024 * 1024;
    char *text = malloc(2 * n + 20);
    enum line_kind kind;
    struct str line;
    memset(text, 'x', 2 * n + 20);
    text[n] = '\n';             /* this line has exactly the maximum length */
    text[n + 1 + n + 1] = '\n'; /* this line is one byte longer */
    memcpy(text + 2 * n + 3, "end", 3);
    int fd = file_of(text, 2 * n + 6);
    line_reader_open(&reader, fd);
    assert_int_equal(line_reader_next(&reader, &kind, &line), OK);
    assert_int_equal(kind, LINE_TEXT);
    assert_int_equal(line.len, n);
    expect(LINE_TOO_LONG, 2, "");
    expect(LINE_TEXT, 3, "end");
    expect(LINE_NONE, 0, "");
    close(fd);
    free(text);
}

/* Returns a pipe to which another process writes the bytes, `piece` at a time. */
static int piped(const char *bytes, size_t n, size_t piece, pid_t *child)
{
    int fds[2];
    assert_int_equal(pipe(fds), 0);
    *child = fork();
    assert_true(*child >= 0);
    if (*child == 0) {
        for (size_t done = 0; done < n; done += piece)
            if (write(fds[1], bytes + done, n - done < piece ? n - done : piece) < 0)
                _exit(1);
        _exit(0);
    }
    close(fds[1]);
    return fds[0];
}

static void reads_in_chunks_of_any_size(void **state)
{
    (void)state;
    static const char text[] = "first\n\nthird line\nlast";
    for (size_t piece = 1; piece < sizeof text; piece++) {
        pid_t child;
        int status, fd = piped(text, sizeof text - 1, piece, &child);
        line_reader_open(&reader, fd);
        expect(LINE_TEXT, 1, "first");
        expect(LINE_TEXT, 2, "");
        expect(LINE_TEXT, 3, "third line");
        expect(LINE_TEXT, 4, "last");
        expect(LINE_NONE, 0, "");
        close(fd);
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_int_equal(status, 0);
    }
}

/* Reads lines of random lengths, some of which are longer than a read, and checks their content. */
static void reads_many_lines_of_random_lengths(void **state)
{
    (void)state;
    unsigned seed = 5;
    size_t n = 0, cap = 40u * 1024 * 1024;
    char *text = malloc(cap);
    enum line_kind kind;
    struct str line;
    while (n + 800000 < cap) {
        size_t len = (size_t)rand_r(&seed) % (rand_r(&seed) % 4 ? 300 : 700000);
        memset(text + n, 'a' + (int)(len % 26), len);
        text[n + len] = '\n';
        n += len + 1;
    }
    int fd = file_of(text, n);
    line_reader_open(&reader, fd);
    for (const char *at = text; at < text + n; at += line.len + 1) {
        const char *end = memchr(at, '\n', (size_t)(text + n - at));
        assert_int_equal(line_reader_next(&reader, &kind, &line), OK);
        assert_int_equal(kind, LINE_TEXT);
        assert_true(str_eq(line, str_make(at, (size_t)(end - at))));
    }
    expect(LINE_NONE, 0, "");
    close(fd);
    free(text);
}

static void unreadable_file_is_an_error(void **state)
{
    (void)state;
    enum line_kind kind;
    struct str line;
    int fd = open("/", O_RDONLY | O_DIRECTORY);
    line_reader_open(&reader, fd);
    assert_int_equal(line_reader_next(&reader, &kind, &line), ERR_IO);
    close(fd);
}

static int open_reader(void **state)
{
    (void)state;
    line_reader_init(&reader);
    return 0;
}

static int close_reader(void **state)
{
    (void)state;
    line_reader_fini(&reader);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_simple_lines),
        cmocka_unit_test(empty_file_and_final_newline_begin_no_line),
        cmocka_unit_test(drops_a_byte_order_mark),
        cmocka_unit_test(accepts_lines_up_to_the_limit),
        cmocka_unit_test(unreadable_file_is_an_error),
        cmocka_unit_test(reads_in_chunks_of_any_size),
        cmocka_unit_test(reads_many_lines_of_random_lengths),
    };
    return cmocka_run_group_tests(tests, open_reader, close_reader);
}
