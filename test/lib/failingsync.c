/* Preloaded (LD_PRELOAD) into a process: a directory cannot be synced to disk while the file
 * $FAILINGSYNC_UNLESS does not exist. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

int fsync(int fd)
{
    int (*real)(int);
    struct stat st;
    const char *path = getenv("FAILINGSYNC_UNLESS");
    if (path && access(path, F_OK) != 0 && fstat(fd, &st) == 0 && S_ISDIR(st.st_mode)) {
        errno = EIO;
        return -1;
    }
    *(void **)&real = dlsym(RTLD_NEXT, "fsync");
    return real(fd);
}
