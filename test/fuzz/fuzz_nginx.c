/* Checks an nginx configuration of arbitrary bytes, as `viewtally doctor --nginx FILE` does. Checks that
 * there is at least one finding and that each problem names a fix. */
#include "base/check.h"
#include "doctor/doctor.h"
#include "doctor/nginx_view.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void run_checks(struct doctor *d)
{
    for (size_t i = 0; i < doctor_nginx.count; i++) {
        d->group = doctor_nginx.name;
        d->check = doctor_nginx.checks[i].name;
        doctor_nginx.checks[i].run(d);
    }
    /* Without a proxy_pass to viewtally, the first check reports it and the other checks add no finding. */
    CHECK(d->findings.count > 0);
    for (size_t i = 0; i < d->findings.count; i++) {
        const struct finding *f = &d->findings.items[i];
        CHECK(*f->text && (f->state >= FINDING_WARNING) == (*f->fix != '\0'));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[64];
    struct cli cli = {.lock.file.fd = -1};
    if (size > 64 << 10)
        return 0;
    const int fd = memfd_create("nginx", MFD_CLOEXEC);
    CHECK(fd >= 0 && write(fd, data, size) == (ssize_t)size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    config_init(&cli.config);
    struct doctor d = {.cli = &cli, .config = &cli.config, .nginx_file = path};
    run_checks(&d);
    doctor_fini(&d);
    config_fini(&cli.config);
    CHECK(close(fd) == 0);
    return 0;
}
