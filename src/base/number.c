/* Formats integers without snprintf(), which would double the time needed to render a field of a response. */
#include "base/number.h"

#include <string.h>

size_t i64_format(int64_t v, char out[I64_TEXT_MAX])
{
    char text[I64_TEXT_MAX];
    size_t at = sizeof text;
    uint64_t rest = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    for (; rest >= 10; rest /= 10)
        text[--at] = (char)('0' + rest % 10);
    text[--at] = (char)('0' + rest);
    if (v < 0)
        text[--at] = '-';
    memcpy(out, text + at, sizeof text - at);
    return sizeof text - at;
}

int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

void hex_format(const uint8_t *bytes, size_t count, char *out)
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < count; i++) {
        out[2 * i] = digits[bytes[i] >> 4];
        out[2 * i + 1] = digits[bytes[i] & 15];
    }
}

void hex_64_format(uint64_t v, char out[HEX_64_LEN])
{
    uint8_t bytes[sizeof v];
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(v >> (56 - 8 * i));
    hex_format(bytes, sizeof bytes, out);
}
