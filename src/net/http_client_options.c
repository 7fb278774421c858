/* What a fetch is told, and the names of how a call can fail: the part of fetch.h that needs no libcurl. */
#include "base/check.h"
#include "config/config.h"
#include "net/http_client.h"

const char *transport_error_name(enum transport_error e)
{
    static const char *const names[TRANSPORT_ERRORS] = {
        "ok", "dns", "connect", "tls", "timeout", "reset", "too_large", "protocol", "request",
    };
    CHECK((unsigned)e < TRANSPORT_ERRORS);
    return names[e];
}

void http_client_options_of(struct http_client_options *o, const struct config *c)
{
    const int64_t in_flight[] = {c->tiktok.in_flight, c->youtube.in_flight, c->instagram.in_flight,
                                 c->facebook.in_flight, c->pinterest.in_flight};
    *o = (struct http_client_options){
        .origins = {[HOST_TIKTOK] = c->origins.tiktok,
                    [HOST_TIKTOK_AUTH] = c->origins.tiktok_auth,
                    [HOST_YOUTUBE] = c->origins.youtube,
                    [HOST_GOOGLE_OAUTH] = c->origins.google_oauth,
                    [HOST_GOOGLE_AUTH] = c->origins.google_auth,
                    [HOST_FACEBOOK] = c->origins.facebook,
                    [HOST_FACEBOOK_AUTH] = c->origins.facebook_auth,
                    [HOST_INSTAGRAM] = c->origins.instagram,
                    [HOST_INSTAGRAM_OAUTH] = c->origins.instagram_oauth,
                    [HOST_INSTAGRAM_AUTH] = c->origins.instagram_auth,
                    [HOST_PINTEREST] = c->origins.pinterest,
                    [HOST_PINTEREST_AUTH] = c->origins.pinterest_auth},
        .ca_file = c->platforms.ca_file,
        .connect_timeout_ms = c->platforms.connect_timeout_ms,
        .timeout_ms = c->platforms.timeout_ms,
        .body_max = HTTP_CLIENT_BODY_BYTES,
        .host_connections = 2, /* a refresh of a token beside the calls */
    };
    for (size_t i = 0; i < sizeof in_flight / sizeof in_flight[0]; i++)
        if (in_flight[i] + 2 > o->host_connections)
            o->host_connections = (long)in_flight[i] + 2;
}
