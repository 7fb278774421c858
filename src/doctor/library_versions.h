/* The functions of check_libraries.c, declared for tests. */
#ifndef VT_DOCTOR_LIBRARY_VERSIONS_H
#define VT_DOCTOR_LIBRARY_VERSIONS_H

#include "doctor/doctor.h"

struct build_library;

/* Compares versions such as "3.51.3" and "3.52" by their numbers. Returns a negative number if a < b. */
int doctor_compare_versions(const char *a, const char *b);

/* Reports each library that is too old for viewtally. */
void doctor_report_libraries(struct doctor *d, const struct build_library *libraries, int count);

#endif
