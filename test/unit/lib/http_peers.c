/* The servers print their ports on standard output and end when their standard input is closed. */
#include "lib/http_peers.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PEERS_MAX = 16 };

static struct peers {
    char directory[64], ca[80];
    pid_t pid;
    int in; /* the pipe to its standard input; the process ends when this pipe is closed */
    struct {
        char name[32];
        int port;
    } all[PEERS_MAX];
    int count;
} peers;

const char *http_peers_ca(void)
{
    return peers.ca;
}

int http_peer_port(const char *name)
{
    for (int i = 0; i < peers.count; i++)
        if (strcmp(peers.all[i].name, name) == 0)
            return peers.all[i].port;
    fail_msg("http_peers.py has no server named %s", name);
    return 0;
}

int http_peers_start(void **state)
{
    int in[2], out[2];
    (void)state;
    memcpy(peers.directory, "/tmp/vt-peers-XXXXXX", 21);
    if (!mkdtemp(peers.directory) || pipe(in) || pipe(out))
        return -1;
    (void)snprintf(peers.ca, sizeof peers.ca, "%s/ca.crt", peers.directory);
    if ((peers.pid = fork()) == 0) {
        (void)dup2(in[0], 0);
        (void)dup2(out[1], 1);
        (void)close(in[1]);
        (void)close(out[0]);
        (void)unsetenv("LD_PRELOAD");
        (void)execl("/usr/bin/python3", "/usr/bin/python3", "test/lib/http_peers.py", peers.directory,
                    (char *)NULL);
        _exit(127);
    }
    (void)close(in[0]);
    (void)close(out[1]);
    peers.in = in[1];
    FILE *f = fdopen(out[0], "r");
    while (peers.count < PEERS_MAX &&
           fscanf(f, "%31s %d", peers.all[peers.count].name, &peers.all[peers.count].port) == 2)
        if (strcmp(peers.all[peers.count++].name, "ready") == 0)
            break;
    (void)fclose(f);
    return peers.count > 0 && strcmp(peers.all[peers.count - 1].name, "ready") == 0 ? 0 : -1;
}

int http_peers_stop(void **state)
{
    char command[2][96] = {"", ""};
    int status;
    (void)state;
    (void)close(peers.in);
    (void)waitpid(peers.pid, &status, 0);
    (void)snprintf(command[0], sizeof command[0], "%s", peers.directory);
    if (fork() == 0) {
        (void)execlp("rm", "rm", "-rf", command[0], (char *)NULL);
        _exit(127);
    }
    (void)wait(&status);
    return 0;
}
