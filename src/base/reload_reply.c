/* Sends and receives the reply to SIGHUP. */
#include "base/reload_reply.h"

#include "base/clock.h"

#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static socklen_t address_of(pid_t pid, struct sockaddr_un *out)
{
    *out = (struct sockaddr_un){.sun_family = AF_UNIX};
    const int len = snprintf(out->sun_path + 1, sizeof out->sun_path - 1, "viewtally-reload-%d", (int)pid);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)len);
}

void reload_reply_send(enum reload_result result, struct str restart_keys)
{
    struct sockaddr_un to;
    const socklen_t len = address_of(getpid(), &to);
    char bytes[1 + RELOAD_KEYS_MAX] = {(char)result};
    const size_t n = restart_keys.len < RELOAD_KEYS_MAX ? restart_keys.len : RELOAD_KEYS_MAX;
    if (n)
        memcpy(bytes + 1, restart_keys.p, n);
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return;
    (void)!sendto(fd, bytes, 1 + n, MSG_NOSIGNAL, (const struct sockaddr *)&to, len);
    (void)close(fd);
}

int reload_reply_open(pid_t pid)
{
    struct sockaddr_un own;
    const socklen_t len = address_of(pid, &own);
    const int on = 1, fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -1;
    if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0 &&
        bind(fd, (const struct sockaddr *)&own, len) == 0)
        return fd;
    (void)close(fd);
    return -1;
}

/* Returns true if a datagram of `pid` was received. */
static bool receive(int fd, pid_t pid, struct reload_reply *reply)
{
    char byte = 0;
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(struct ucred))];
    } control;
    struct iovec data[] = {{.iov_base = &byte, .iov_len = 1},
                           {.iov_base = reply->restart_keys, .iov_len = RELOAD_KEYS_MAX}};
    struct msghdr message = {
        .msg_iov = data, .msg_iovlen = 2, .msg_control = &control, .msg_controllen = sizeof control};
    const ssize_t n = recvmsg(fd, &message, MSG_CMSG_CLOEXEC);
    if (n < 1 || (byte != RELOAD_APPLIED && byte != RELOAD_REJECTED))
        return false;
    reply->restart_keys[n - 1] = '\0';
    const struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    if (!c || c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS)
        return false;
    reply->result = byte == RELOAD_APPLIED ? RELOAD_APPLIED : RELOAD_REJECTED;
    return ((const struct ucred *)(const void *)CMSG_DATA(c))->pid == pid;
}

bool reload_reply_wait(int fd, pid_t pid, int timeout_ms, struct reload_reply *reply)
{
    const int64_t until_us = clock_work_us() + (int64_t)timeout_ms * 1000;
    for (;;) {
        const int64_t left_ms = (until_us - clock_work_us()) / 1000;
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        if (left_ms <= 0)
            return false;
        if (poll(&ready, 1, (int)left_ms) == 1 && receive(fd, pid, reply))
            return true;
    }
}
