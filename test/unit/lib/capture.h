/* Captures what the code under test writes to standard error. */
#ifndef VT_TEST_CAPTURE_H
#define VT_TEST_CAPTURE_H

/* Redirects standard error to a temporary file. */
void capture_begin(void);

/* Returns what has been written since capture_begin(), in the form of capture_end(), and continues to
 * capture. */
const char *capture_text(void);

/* Restores standard error. Returns what was written, NUL-terminated and at most 64 KiB. Valid until the next
 * call. */
const char *capture_end(void);

#endif
