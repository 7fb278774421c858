/* Locks between processes with flock(2). */
#include "base/file_lock.h"

#include "base/check.h"
#include "base/file_owner.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

enum { MODE = 0640 };

bool file_lock_open(struct file_lock *l, const char *path, const char *model)
{
    l->fd = file_open_or_create_like(path, model, MODE);
    /* Opening for reading is enough for flock(2), so a read-only lock file can be locked too. */
    if (l->fd < 0 && (errno == EACCES || errno == EROFS || errno == EPERM)) {
        int why = errno;
        l->fd = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
        errno = why;
    }
    return l->fd >= 0;
}

void file_lock_close(struct file_lock *l)
{
    if (l->fd >= 0)
        (void)close(l->fd);
    l->fd = -1;
}

bool file_lock_set(const struct file_lock *l, enum file_lock_mode mode, bool wait)
{
    static const int operations[] = {
        [FILE_LOCK_NONE] = LOCK_UN, [FILE_LOCK_SHARED] = LOCK_SH, [FILE_LOCK_EXCLUSIVE] = LOCK_EX};
    int code;
    CHECK(l->fd >= 0);
    do
        code = flock(l->fd, operations[mode] | (wait ? 0 : LOCK_NB));
    while (code < 0 && errno == EINTR);
    return code == 0;
}
