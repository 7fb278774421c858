/* Tests the router: mounts, route templates, methods, unknown paths, and URLs that contain secrets. */
#include "unit.h"

#include <stdio.h>

#include "http/router.h"

static const struct route list = {.path = "/items", .name = "/v1/items", .methods = ROUTE_GET};
static const struct route item = {.path = "/items/{id}", .methods = ROUTE_GET | ROUTE_POST};
static const struct route form = {.path = "/form", .methods = ROUTE_POST};
static const struct route invite = {
    .path = "/invite/{token}", .methods = ROUTE_GET, .secrets = ROUTE_SECRET_PATH};
static const struct route callback = {
    .path = "/callback/{name}", .methods = ROUTE_GET, .secrets = ROUTE_SECRET_QUERY};
static const struct route fixed = {.path = "", .methods = ROUTE_GET};
static const struct route *const api_routes[] = {&list, &item, &form, NULL};
static const struct route *const page_routes[] = {&list, &invite, &callback, NULL};
static const struct route *const fixed_routes[] = {&fixed, NULL};

static enum next start_step(struct request *r)
{
    r->res.status = 200;
    return NEXT_DONE;
}

static enum next no_route_step(struct request *r)
{
    (void)r;
    return NEXT_DONE;
}

static bool preflight(struct request *r)
{
    bool is_preflight = r->field[FIELD_ORIGIN].p;
    if (is_preflight)
        r->res.status = 204;
    return is_preflight;
}

static const struct http_app api = {.start = start_step, .no_route = no_route_step, .preflight = preflight};
static const struct http_app pages = {.start = start_step, .no_route = no_route_step};

static struct router router;
static struct request r;

static int set_up(void **state)
{
    (void)state;
    router = (struct router){.fallback = &api};
    router_mount(&router, &(struct mount){STR("/v1"), api_routes, &api, UNKNOWN_ALL});
    router_mount(&router, &(struct mount){STR("/.well-known/x"), fixed_routes, &api, UNKNOWN_NONE});
    router_mount(&router, &(struct mount){STR(""), page_routes, &pages, UNKNOWN_HTML});
    arena_init(&r.arena, 4096);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    arena_fini(&r.arena);
    return 0;
}

/* Looks up a request and runs its first step. */
static void look_up(enum http_method method, const char *path, const char *accept, const char *origin)
{
    const struct arena arena = r.arena;
    r = (struct request){.method = method, .path = str_from_cstr(path), .target = str_from_cstr(path)};
    r.arena = arena;
    r.field[FIELD_ACCEPT] = str_from_cstr(accept);
    r.field[FIELD_ORIGIN] = str_from_cstr(origin);
    router_find_route(&router, &r);
    assert_int_equal(r.step(&r), NEXT_DONE);
}

static void expect_route(const char *path, const struct http_app *app, const struct route *route)
{
    look_up(METHOD_GET, path, NULL, NULL);
    assert_ptr_equal(r.app, app);
    assert_ptr_equal(r.route, route);
}

static void paths_match_exactly_below_their_prefix(void **state)
{
    (void)state;
    expect_route("/v1/items", &api, &list);
    assert_int_equal(r.res.status, 200);
    assert_string_equal(route_name(&r), "/v1/items");
    expect_route("/items", &pages, &list);
    expect_route("/.well-known/x", &api, &fixed);
    static const char *const others[] = {
        "/v1",      "/v1/",      "/v1/items/",      "/v1/Items",       "/v1//items",
        "/v1items", "/v2/items", "/.well-known/x/", "/.well-known/xx", "/",
        "*",        ""};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        expect_route(others[i], &api, NULL);
        assert_int_equal(r.res.status, 404);
        assert_null(route_name(&r));
    }
}

static void parameter_of_a_template_matches_one_segment(void **state)
{
    (void)state;
    expect_route("/v1/items/a%2Fb", &api, &item);
    assert_str(r.path_parameter, "a%2Fb");
    assert_string_equal(route_name(&r), "/items/{id}");
    expect_route("/v1/items/a/b", &api, NULL);
    expect_route("/v1/items/", &api, NULL);
}

static void unknown_paths_are_handled_by_the_pages_only_for_browsers(void **state)
{
    (void)state;
    static const struct {
        enum http_method method;
        const char *path, *accept;
        const struct http_app *app;
    } cases[] = {
        {METHOD_GET, "/nothing", "text/html,*/*", &pages},
        {METHOD_HEAD, "/nothing", "text/html", &pages},
        {METHOD_POST, "/nothing", "text/html", &api},
        {METHOD_GET, "/nothing", "*/*", &api},
        {METHOD_GET, "/nothing", NULL, &api},
        {METHOD_GET, "/v1/nothing", "text/html", &api},
        {METHOD_GET, "/v1", "text/html", &pages},
        {METHOD_GET, "/v1x", "text/html", &pages},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        look_up(cases[i].method, cases[i].path, cases[i].accept, NULL);
        assert_ptr_equal(r.app, cases[i].app);
        assert_int_equal(r.res.status, 404);
    }
}

static void expect_allow(enum http_method method, const char *path, const char *allow)
{
    look_up(method, path, NULL, NULL);
    assert_int_equal(r.res.status, allow ? 405 : 200);
    assert_int_equal(r.res.field_count, allow ? 1 : 0);
    if (allow)
        assert_str(r.res.fields[0].value, allow);
}

static void unsupported_methods_result_in_405_with_allow(void **state)
{
    (void)state;
    expect_allow(METHOD_GET, "/v1/items", NULL);
    expect_allow(METHOD_HEAD, "/v1/items", NULL);
    expect_allow(METHOD_POST, "/v1/items/1", NULL);
    expect_allow(METHOD_POST, "/v1/items", "GET, HEAD");
    expect_allow(METHOD_OPTIONS, "/v1/items", "GET, HEAD");
    expect_allow(METHOD_HEAD, "/v1/form", "POST");
    expect_allow(METHOD_OTHER, "/v1/items/1", "GET, HEAD, POST");
    expect_allow(METHOD_OPTIONS, "/items", "GET, HEAD");
}

static void preflight_succeeds_only_for_a_path_with_a_route(void **state)
{
    (void)state;
    look_up(METHOD_OPTIONS, "/v1/form", NULL, "https://a.example");
    assert_int_equal(r.res.status, 204);
    look_up(METHOD_OPTIONS, "/v1/nothing", NULL, "https://a.example");
    assert_int_equal(r.res.status, 404);
}

static const struct http_app *app_of_incomplete(const char *target)
{
    struct request rejected = {.app = router.fallback, .target = str_from_cstr(target)};
    router_prepare_rejection(&router, &rejected);
    return rejected.app;
}

static const struct http_app *app_of_rejected(const char *path, const char *accept)
{
    struct request rejected = {.method = METHOD_GET, .app = router.fallback};
    rejected.path = rejected.target = path ? str_from_cstr(path) : (struct str){NULL, 0};
    rejected.field[FIELD_ACCEPT] = str_from_cstr(accept);
    router_prepare_rejection(&router, &rejected);
    assert_null(rejected.route);
    return rejected.app;
}

static void rejected_request_gets_the_error_format_of_its_path(void **state)
{
    (void)state;
    assert_ptr_equal(app_of_rejected("/v1/items", "text/html"), &api);
    assert_ptr_equal(app_of_rejected("/items", NULL), &pages);
    assert_ptr_equal(app_of_rejected("/nothing", "text/html"), &pages);
    assert_ptr_equal(app_of_rejected("/nothing", NULL), &api);
    assert_ptr_equal(app_of_rejected("*", NULL), &api);
    assert_ptr_equal(app_of_rejected(NULL, NULL), &api);
    /* Without a query, the rest of the path is unknown. */
    assert_ptr_equal(app_of_incomplete("/items?a"), &pages);
    assert_ptr_equal(app_of_incomplete("http://host/items?a"), &pages);
    assert_ptr_equal(app_of_incomplete("/items"), &api);
    assert_ptr_equal(app_of_incomplete("items?a"), &api);
}

/* Secrets are removed even if the path has a wrong number of segments, or if the request is rejected
 * before it has a route. */
static void secrets_are_removed_from_the_target(void **state)
{
    (void)state;
    static const struct {
        const char *path, *shown;
    } cases[] = {
        {"/invite/SECRET", "(secret address)"},
        {"/invite/SECRET/x", "(secret address)"},
        {"/invite", "(secret address)"},
        {"/callback/name", "/callback/name"},
        {"/callback", "/callback"},
        {"/items", "/items?code=SECRET"},
        {"/v1/invite/x", "/v1/invite/x?code=SECRET"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct request rejected = {.path = str_from_cstr(cases[i].path)};
        char target[64];
        (void)snprintf(target, sizeof target, "%s?code=SECRET", cases[i].path);
        rejected.target = str_from_cstr(target);
        router_prepare_rejection(&router, &rejected);
        assert_str(rejected.target, cases[i].shown);
    }
}

static void query_and_unknown_path_of_an_incomplete_target_are_not_logged(void **state)
{
    (void)state;
    static const struct {
        const char *target, *shown;
    } cases[] = {
        {"/items?code=SECRET", "/items"},
        {"/invite/SECRET?a", "(secret address)"},
        {"/invite/SECRET", ""},
        {"/items?code=SECRET\"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct request rejected = {.app = router.fallback, .target = str_from_cstr(cases[i].target)};
        router_prepare_rejection(&router, &rejected);
        assert_str(rejected.target, cases[i].shown);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(paths_match_exactly_below_their_prefix, set_up, tear_down),
        cmocka_unit_test_setup_teardown(parameter_of_a_template_matches_one_segment, set_up, tear_down),
        cmocka_unit_test_setup_teardown(unknown_paths_are_handled_by_the_pages_only_for_browsers, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(unsupported_methods_result_in_405_with_allow, set_up, tear_down),
        cmocka_unit_test_setup_teardown(preflight_succeeds_only_for_a_path_with_a_route, set_up, tear_down),
        cmocka_unit_test_setup_teardown(secrets_are_removed_from_the_target, set_up, tear_down),
        cmocka_unit_test_setup_teardown(query_and_unknown_path_of_an_incomplete_target_are_not_logged, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(rejected_request_gets_the_error_format_of_its_path, set_up,
                                        tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
