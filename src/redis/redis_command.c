/* Formats commands without printf(), because the formatter of hiredis takes longer than the rest of a
 * call. */
#include "redis/redis_command.h"

static void append_size(struct buf *b, char type, size_t n)
{
    buf_append_char(b, type);
    buf_append_i64(b, (int64_t)n);
    buf_append(b, STR("\r\n"));
}

bool redis_command_format(struct buf *b, const struct str *args, int count)
{
    buf_reset(b, b->max);
    append_size(b, '*', (size_t)count);
    for (int i = 0; i < count; i++) {
        append_size(b, '$', args[i].len);
        buf_append(b, args[i]);
        buf_append(b, STR("\r\n"));
    }
    return !b->failed;
}
