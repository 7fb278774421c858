/* Writes files completely. */
#include "base/file_write.h"

#include <errno.h>
#include <unistd.h>

bool file_write_all(int fd, const char *p, size_t len)
{
    while (len) {
        const ssize_t n = write(fd, p, len);
        if (n < 0 && errno == EINTR)
            continue;
        if (n == 0)
            errno = ENOSPC;
        if (n <= 0)
            return false;
        p += n;
        len -= (size_t)n;
    }
    return true;
}

bool file_close(int fd, bool ok)
{
    const int code = errno;
    if (fd >= 0 && close(fd) != 0 && ok)
        return false;
    errno = code;
    return ok;
}
