/* The functions of check_clock.c that report findings about the clock. They are declared here so that tests
 * can pass facts that differ from the state of the test machine. */
#ifndef VT_DOCTOR_CLOCK_FACTS_H
#define VT_DOCTOR_CLOCK_FACTS_H

#include "doctor/doctor.h"

struct clock_facts {
    bool is_known, is_synchronized;
};

void doctor_report_clock_sync(struct doctor *d, const struct clock_facts *facts);
void doctor_report_redis_clock(struct doctor *d, const struct redis_facts *f);

#endif
