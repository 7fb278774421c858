/* `viewtally doctor`: checks an installation without changing it. Each file check_*.c has a group of checks
 * in a table; a new check is one row there. A check reports one or more findings with the functions below. A
 * finding never contains a secret. */
#ifndef VT_DOCTOR_DOCTOR_H
#define VT_DOCTOR_DOCTOR_H

#include "base/vec.h"
#include "cli/cli.h"
#include "doctor/server_units.h"
#include "doctor/server_user.h"
#include "store/store.h"

enum finding_state { FINDING_OK, FINDING_SKIPPED, FINDING_WARNING, FINDING_ERROR, FINDING_STATES };

enum { FINDING_TEXT_MAX = 600 };

struct finding {
    const char *group, *check;
    enum finding_state state;
    char text[FINDING_TEXT_MAX]; /* what was found */
    char fix[FINDING_TEXT_MAX];  /* what to do about a warning or an error; "" for the other states */
};

struct doctor {
    struct cli *cli;
    const struct config *config;
    const char *nginx_file; /* configuration of nginx to read; NULL: read the output of `nginx -T` */
    bool full;              /* check everything, even if that takes minutes */
    int64_t now_ms;
    struct store *store; /* NULL if the database cannot be used, which the check database.open reports */
    struct error store_error;
    const struct redis_facts *redis; /* NULL until the first check that needs the facts has read them */
    struct nginx_view *nginx;        /* NULL until the first check that needs the view has read it */
    struct server_units *units;      /* read before the first check */
    struct server_user user;         /* determined before the first check */
    const char *group, *check;       /* the check that is running */
    VEC(struct finding) findings;
};

/* Report a finding of the check that is running. `fix` says what to do, with the exact command or key. */
void doctor_ok(struct doctor *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
void doctor_skip(struct doctor *d, const char *format, ...) __attribute__((format(printf, 2, 3)));
void doctor_warn(struct doctor *d, const char *fix, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void doctor_error(struct doctor *d, const char *fix, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* What a check requires. If this is not available, the check is skipped. */
enum doctor_need {
    NEEDS_NOTHING,
    NEEDS_CONFIG,     /* a configuration without mistakes */
    NEEDS_FILE,       /* a configuration without mistakes, in which the database is a file */
    NEEDS_STORE,      /* a database that can be read */
    NEEDS_STORE_FILE, /* a database that can be read and is a file */
};

struct doctor_check {
    const char *name;
    enum doctor_need need;
    void (*run)(struct doctor *d);
};

struct doctor_group {
    const char *name;
    const struct doctor_check *checks;
    size_t count;
};
#define DOCTOR_GROUP(name, checks)                                                                           \
    {                                                                                                        \
        name, checks, sizeof(checks) / sizeof *(checks)                                                      \
    }

extern const struct doctor_group doctor_configuration, doctor_files, doctor_disk, doctor_clock,
    doctor_database, doctor_redis, doctor_nginx, doctor_server, doctor_platforms, doctor_webhooks,
    doctor_freshness, doctor_libraries;

/* Runs all checks. The caller sets the members up to `now_ms`. */
void doctor_run(struct doctor *d);
/* Closes the database and frees the findings. */
void doctor_fini(struct doctor *d);

/* Returns the number of findings with this state. */
size_t doctor_count(const struct doctor *d, enum finding_state state);

#endif
