/* Parses short texts: dates, times, UUIDs, addresses, networks, X-Forwarded-For, Redis URLs, cookies,
 * percent-encoding. Checks that formatting an accepted date, time or UUID gives an equivalent text. */
#include "auth/session.h"
#include "base/check.h"
#include "base/clock.h"
#include "base/urlencode.h"
#include "base/uuid.h"
#include "config/address.h"
#include "http/form.h"
#include "http/proxies.h"
#include "redis/redis.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_time(struct str text)
{
    int32_t date, date_again;
    int64_t time, time_again;
    char out[TIME_TEXT_LEN];
    char name[TIME_NAME_LEN + 1];
    if (time_name_parse(text, &time)) {
        time_name_format(time, name);
        CHECK(str_eq(text, str_from_cstr(name)));
    }
    if (date_parse(text, &date)) {
        date_format(date, out);
        CHECK(text.len == DATE_TEXT_LEN && memcmp(out, text.p, DATE_TEXT_LEN) == 0);
        CHECK(date_of(date_start_ms(date)) == date && date_of(date_start_ms(date) - 1) == date - 1);
    }
    if (time_parse(text, &time)) {
        time_format(time, out);
        CHECK(memcmp(out, text.p, 19) == 0);
        CHECK(time_parse(str_make(out, sizeof out), &time_again) && time_again == time);
        CHECK(date_parse(str_make(out, DATE_TEXT_LEN), &date_again) && date_of(time) == date_again);
    }
}

static void check_uuid(struct str text)
{
    struct uuid id;
    char out[UUID_TEXT_LEN];
    if (!uuid_parse(text, &id))
        return;
    uuid_format(&id, out);
    CHECK(text.len == UUID_TEXT_LEN && str_eq_nocase(text, str_make(out, sizeof out)));
}

static void check_addresses(struct arena *a, struct str text)
{
    struct proxies networks = {.count = 0};
    struct sockaddr_storage address;
    struct redis_options options;
    struct error error = {0};
    struct str terminated = arena_printf(a, "%.*s", (int)text.len, text.p);
    (void)address_parse_tcp(terminated.p, &address);
    (void)address_unix_path(terminated.p);
    CHECK(redis_options_parse(&options, terminated.p, NULL, &error) == error.code);
    redis_options_fini(&options);
    const bool added = proxies_add(&networks, text);
    CHECK(networks.count == (size_t)(added && !networks.unix_sockets));
    for (size_t i = 0; i < networks.count; i++)
        CHECK(networks.networks[i].bits <= 128);
    CHECK(proxies_add(&networks, STR("10.0.0.0/8")));
    struct str client = proxies_find_client(&networks, STR("10.0.0.1"), true, text);
    CHECK(client.len > 0 && client.len <= 46);
}

static void check_encoding(struct arena *a, struct str text)
{
    struct str decoded;
    CHECK(form_decode(a, url_encode(a, text), &decoded) && str_eq(decoded, text));
    struct str cookie = cookie_find(text, STR("viewtally-session"));
    CHECK(cookie.len < text.len || cookie.len == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena;
    struct str text = str_make((const char *)data, size);
    if (size > 4096)
        return 0;
    arena_init(&arena, 4096);
    check_time(text);
    check_uuid(text);
    check_addresses(&arena, text);
    check_encoding(&arena, text);
    arena_fini(&arena);
    return 0;
}
