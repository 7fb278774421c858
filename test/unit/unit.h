/* Every unit test includes this header. It includes cmocka, after the headers that cmocka needs, and defines
 * helpers for our own types. */
#ifndef VT_TEST_UNIT_H
#define VT_TEST_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"
#include "base/str.h"

/* Asserts that the string consists of exactly the bytes of the literal. */
#define assert_str(s, expected)                                                                              \
    do {                                                                                                     \
        struct str assert_str_s = (s);                                                                       \
        assert_int_equal(assert_str_s.len, strlen(expected));                                                \
        assert_memory_equal(assert_str_s.p ? assert_str_s.p : "", expected, assert_str_s.len);               \
    } while (0)

#endif
