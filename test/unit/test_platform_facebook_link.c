/* Tests linking with Facebook: the consent page, Facebook Pages and their Instagram accounts, granted
 * permissions, and Pages of business portfolios. Samples: developers.facebook.com, Login, Permissions and
 * Business (read November 2026). */
#include "lib/graph_rig.h"

#include <stdlib.h>

#define PAGE_FIELDS "id,name,access_token,instagram_business_account%7Bid,username%7D"

static void init(struct graph_rig *r)
{
    static const char *const none[] = {NULL};
    graph_rig_init(r, &facebook_desc, none);
}

static struct outcome parse_link_response(struct graph_rig *r, struct platform_link *link, int status,
                                          const char *body)
{
    struct http_response response = {status, graph_rig_json(r, body), NULL, 0};
    return facebook_desc.link_parse(&r->arena, link, &response);
}

static void linking_adds_pages_and_instagram_accounts(void **state)
{
    struct graph_rig r;
    (void)state;
    init(&r);
    struct platform_link link = {.options = &r.options,
                                 .app = {STR("ID"), STR("S&T")},
                                 .redirect_uri = STR("https://me.example/back"),
                                 .code = STR("CODE")};
    assert_true(facebook_desc.link_build(&r.arena, &link, &r.request));
    assert_string_equal(r.request.origin, "https://api.example");
    assert_str(r.request.path,
               "/v26.0/oauth/access_token?client_id=ID&redirect_uri=https%3A%2F%2Fme.example%2Fback&"
               "client_secret=S%26T&code=CODE");
    assert_outcome(
        parse_link_response(&r, &link, 400, "{'error':{'message':'Invalid verification code','code':100}}"),
        OUTCOME_BAD_REQUEST, SCOPE_CALL, "100");
    assert_outcome(parse_link_response(&r, &link, 200,
                                       "{'access_token':'SHORT','token_type':'bearer','expires_in':5400}"),
                   OUTCOME_OK, SCOPE_CALL, "ok");
    assert_true(facebook_desc.link_build(&r.arena, &link, &r.request));
    assert_str(r.request.path,
               "/v26.0/oauth/access_token?grant_type=fb_exchange_token&client_id=ID&client_secret="
               "S%26T&fb_exchange_token=SHORT");
    /* [V] expires_in can be absent */
    assert_outcome(parse_link_response(&r, &link, 200, "{'access_token':'LONG','token_type':'bearer'}"),
                   OUTCOME_OK, SCOPE_CALL, "ok");
    assert_true(facebook_desc.link_build(&r.arena, &link, &r.request));
    assert_str(r.request.path, "/v26.0/me/accounts?fields=" PAGE_FIELDS "&limit=50");
    assert_str(r.request.headers[0].value, "Bearer LONG");
    assert_outcome(
        parse_link_response(
            &r, &link, 200,
            "{'data':[{'id':'10','name':'Ann\\u0007 "
            "Author','access_token':'PAGE','instagram_business_account':"
            "{'id':'1784','username':'ann'}},{'id':'11','name':'No token'}],'paging':{'cursors':{'before':"
            "'b','after':'a/1'},'next':'https://evil.example/steal?access_token=LONG'}}"),
        OUTCOME_OK, SCOPE_CALL, "ok");
    /* The next request does not use the address in the response. */
    assert_true(facebook_desc.link_build(&r.arena, &link, &r.request));
    assert_str(r.request.path, "/v26.0/me/accounts?fields=" PAGE_FIELDS "&limit=50&after=a%2F1");
    assert_outcome(
        parse_link_response(&r, &link, 200,
                            "{'data':[{'id':'12','access_token':'P2'}],'paging':{'cursors':{'after':'z'}}}"),
        OUTCOME_OK, SCOPE_CALL, "ok");
    assert_true(facebook_desc.link_build(&r.arena, &link, &r.request));
    assert_str(r.request.path, "/v26.0/me/permissions");
    assert_str(r.request.headers[0].value, "Bearer LONG");
    assert_outcome(parse_link_response(&r, &link, 200,
                                       "{'data':[{'permission':'email','status':'granted'},"
                                       "{'permission':'read_insights','status':'granted'},{'permission':"
                                       "'pages_read_engagement','status':'granted'},"
                                       "{'permission':'pages_read_user_content','status':'declined'}]}"),
                   OUTCOME_OK, SCOPE_CALL, "ok");
    assert_false(facebook_desc.link_build(&r.arena, &link, &r.request));
    for (size_t i = 0; i < link.account_count; i++)
        assert_str(link.accounts[i].grant.scopes, "read_insights,pages_read_engagement");
    assert_int_equal(link.account_count, 3);
    assert_int_equal(link.accounts[0].api, API_FACEBOOK);
    assert_str(link.accounts[0].id, "10");
    assert_str(link.accounts[0].name, "Ann Author");
    assert_str(link.accounts[0].grant.access_token, "PAGE");
    assert_int_equal(link.accounts[0].grant.expires_in_s, -1);
    assert_int_equal(link.accounts[1].api, API_INSTAGRAM_FACEBOOK);
    assert_str(link.accounts[1].id, "1784");
    assert_str(link.accounts[1].name, "ann");
    assert_str(link.accounts[1].grant.access_token, "PAGE");
    assert_str(link.accounts[2].id, "12");
    graph_rig_fini(&r);
}

/* If each response announces another page of the list, the linking ends after a fixed number of requests. */
static void linking_ends_although_the_list_is_endless(void **state)
{
    struct graph_rig r;
    struct platform_link *link = calloc(1, sizeof *link);
    (void)state;
    init(&r);
    *link = (struct platform_link){.options = &r.options, .step = 2};
    link->grant.access_token = STR("LONG");
    int steps = 0;
    for (; facebook_desc.link_build(&r.arena, link, &r.request); steps++)
        parse_link_response(&r, link, 200,
                            "{'data':[],'paging':{'cursors':{'after':'z'},'next':'https://x'}}");
    assert_int_equal(steps, 5);
    link->step = 7;
    for (steps = 0; facebook_desc.link_build(&r.arena, link, &r.request); steps++)
        parse_link_response(&r, link, 200,
                            "{'data':[],'paging':{'cursors':{'after':'z'},'next':'https://x'}}");
    assert_int_equal(steps, 4);
    assert_int_equal(link->account_count, 0);
    link->step = 2;
    assert_outcome(parse_link_response(&r, link, 200, "{}"), OUTCOME_MALFORMED, SCOPE_CALL, "pages");
    assert_outcome(parse_link_response(&r, link, 400, "{'error':{'message':'?','code':190}}"),
                   OUTCOME_RECONNECT, SCOPE_CALL, "190");
    free(link);
    graph_rig_fini(&r);
}

static struct str authorize(struct graph_rig *r, bool again)
{
    const struct platform_authorize authorize = {.options = &r->options,
                                                 .app = {STR("ID"), STR("S")},
                                                 .redirect_uri = STR("https://a/b"),
                                                 .state = STR("st"),
                                                 .again = again};
    return facebook_desc.authorize_path(&r->arena, &authorize);
}

static void url_of_the_consent_page_has_all_parameters(void **state)
{
    static const char before[] = "/v26.0/dialog/oauth?client_id=ID&redirect_uri=https%3A%2F%2Fa%2Fb&state=st&"
                                 "response_type=code&";
    static const char scopes[] = "scope=pages_show_list,pages_read_engagement,pages_read_user_content,"
                                 "read_insights,instagram_basic,instagram_manage_insights";
    struct graph_rig r;
    (void)state;
    init(&r);
    assert_str(authorize(&r, false), arena_printf(&r.arena, "%s%s", before, scopes).p);
    r.options.more_scopes = "business_management";
    assert_str(authorize(&r, true),
               arena_printf(&r.arena, "%s%s,business_management&auth_type=rerequest", before, scopes).p);
    r.options.config_id = "4711";
    assert_str(authorize(&r, false), arena_printf(&r.arena, "%sconfig_id=4711", before).p);
    graph_rig_fini(&r);
}

#define GRANTED(name) "{'permission':'" name "','status':'granted'}"

/* /me/accounts omits the pages of portfolios. */
static void pages_of_portfolios_are_found(void **state)
{
    struct graph_rig r;
    struct platform_link *link = calloc(1, sizeof *link);
    (void)state;
    init(&r);
    *link = (struct platform_link){.options = &r.options, .step = 2, .grant = {.access_token = STR("LONG")}};
    parse_link_response(&r, link, 200, "{'data':[{'id':'10','name':'Own','access_token':'T10'}]}");
    parse_link_response(&r, link, 200,
                        "{'data':[" GRANTED("read_insights") "," GRANTED("business_management") "]}");
    assert_true(facebook_desc.link_build(&r.arena, link, &r.request));
    assert_str(r.request.path,
               "/v26.0/me/businesses?fields=owned_pages.limit%2850%29%7Bid,name,access_token,"
               "instagram_business_account%7Bid,username%7D%7D,client_pages.limit%2850%29%7Bid,name,"
               "access_token,instagram_business_account%7Bid,username%7D%7D&limit=10");
    assert_outcome(
        parse_link_response(
            &r, link, 200,
            "{'data':[{'id':'1','owned_pages':{'data':[{'id':'10','access_token':'T10'},{'id':'11',"
            "'name':'Owned','access_token':'T11','instagram_business_account':{'id':'1784',"
            "'username':'ann'}}]}},{'id':'2'}],'paging':{'cursors':{'after':'c1'},'next':'https://x'}}"),
        OUTCOME_OK, SCOPE_CALL, "ok");
    assert_true(facebook_desc.link_build(&r.arena, link, &r.request));
    assert_memory_equal(r.request.path.p + r.request.path.len - 9, "&after=c1", 9);
    assert_outcome(
        parse_link_response(&r, link, 200,
                            "{'data':[{'id':'3','client_pages':{'data':[{'id':'12','name':'No token'},"
                            "{'id':'13','name':'Client','access_token':'T13'}]}}]}"),
        OUTCOME_OK, SCOPE_CALL, "ok");
    assert_false(facebook_desc.link_build(&r.arena, link, &r.request));
    assert_int_equal(link->account_count, 4);
    assert_str(link->accounts[0].grant.access_token, "T10");
    assert_str(link->accounts[1].id, "11");
    assert_int_equal(link->accounts[2].api, API_INSTAGRAM_FACEBOOK);
    assert_str(link->accounts[2].grant.access_token, "T11");
    assert_str(link->accounts[3].name, "Client");
    for (size_t i = 0; i < 4; i++)
        assert_str(link->accounts[i].grant.scopes, "read_insights,business_management");
    free(link);
    graph_rig_fini(&r);
}

/* Only the list of pages is essential. If other lists are rejected, the pages are linked with unknown
 * permissions. */
static void linking_continues_if_optional_lists_are_rejected(void **state)
{
    static const struct {
        int step, status;
        const char *body;
    } rows[] = {
        {6, 400, "{'error':{'message':'(#200) Requires','code':200}}"},
        {6, 500, "{'error':{'message':'?','code':2}}"},
        {6, 200, "{}"},
        {6, 200, "[]"},
        {7, 400, "{'error':{'message':'(#100) Missing Permission','code':100}}"},
        {7, 500, "{'error':{'message':'Please reduce the amount of data','code':1}}"},
        {8, 200, "{'data':{}}"},
        {8, 502, "<html>"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct graph_rig r;
        struct platform_link *link = calloc(1, sizeof *link);
        init(&r);
        *link = (struct platform_link){.options = &r.options, .step = rows[i].step};
        struct outcome o = parse_link_response(&r, link, rows[i].status, rows[i].body);
        assert_int_equal(o.kind, OUTCOME_OK);
        assert_false(facebook_desc.link_build(&r.arena, link, &r.request));
        free(link);
        graph_rig_fini(&r);
    }
}

static void malformed_permissions_are_ignored(void **state)
{
    static const struct {
        const char *body, *scopes;
    } rows[] = {
        {"{'data':[]}", ""},
        {"{'data':[1,null,[],{},{'permission':7,'status':'granted'},{'permission':'','status':'granted'}]}",
         ""},
        {"{'data':[" GRANTED("read_insights,x") "]}", ""},
        {"{'data':[" GRANTED("read_insights") "," GRANTED("read_insights") "]}", "read_insights"},
        {"{'data':[{'permission':'read_insights','status':'expired'}," GRANTED("instagram_basic") "]}",
         "instagram_basic"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct graph_rig r;
        struct platform_link *link = calloc(1, sizeof *link);
        init(&r);
        *link = (struct platform_link){.options = &r.options, .step = 6};
        assert_outcome(parse_link_response(&r, link, 200, rows[i].body), OUTCOME_OK, SCOPE_CALL, "ok");
        assert_str(link->grant.scopes, rows[i].scopes);
        free(link);
        graph_rig_fini(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(url_of_the_consent_page_has_all_parameters),
        cmocka_unit_test(linking_adds_pages_and_instagram_accounts),
        cmocka_unit_test(linking_ends_although_the_list_is_endless),
        cmocka_unit_test(pages_of_portfolios_are_found),
        cmocka_unit_test(linking_continues_if_optional_lists_are_rejected),
        cmocka_unit_test(malformed_permissions_are_ignored),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
