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

const char *capture_end(void)
{
    static char text[64 << 10];
    assert_true(dup2(saved_fd, STDERR_FILENO) >= 0);
    (void)close(saved_fd);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    return text;
}
