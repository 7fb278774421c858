/* The function of check_disk.c that reports whether a type of file system suits the database, declared for
 * tests. */
#ifndef VT_DOCTOR_FILE_SYSTEMS_H
#define VT_DOCTOR_FILE_SYSTEMS_H

#include "doctor/doctor.h"

/* Reports whether SQLite's write-ahead log is safe on a file system of this type (f_type of statfs(2)). */
void doctor_report_file_system(struct doctor *d, unsigned long type);

#endif
