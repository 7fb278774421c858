/* The functions of check_clock.c that report findings. They are declared here so that tests can pass facts
 * that a test machine does not have. */
#ifndef VT_DOCTOR_CLOCK_FACTS_H
#define VT_DOCTOR_CLOCK_FACTS_H

#include "doctor/doctor.h"

struct clock_facts {
    bool is_known, is_synchronized;
};

void doctor_report_clock_sync(struct doctor *d, const struct clock_facts *facts);
void doctor_report_redis_clock(struct doctor *d, const struct redis_facts *f);

#endif
