/* Redirects standard error to a deleted file. */
#include "capture.h"

#include "unit.h"

#include <stdio.h>
#include <unistd.h>

static FILE *file;
static int saved_fd;

void capture_begin(void)
{
    file = tmpfile();
    assert_non_null(file);
    saved_fd = dup(STDERR_FILENO);
    assert_true(saved_fd >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
}

/* Reads with pread(), because the code under test writes at the file's position. */
const char *capture_text(void)
{
    static char text[64 << 10];
    const ssize_t len = pread(fileno(file), text, sizeof text - 1, 0);
    assert_true(len >= 0);
    text[len] = '\0';
    return text;
}

const char *capture_end(void)
{
    assert_true(dup2(saved_fd, STDERR_FILENO) >= 0);
    (void)close(saved_fd);
    const char *text = capture_text();
    (void)fclose(file);
    return text;
}
