/* /platforms/accounts/{id}: GET asks for confirmation, POST disconnects the account by deleting its tokens.
 * The id is the row of the account. Authors can open only their own accounts. */
#include "web/linking.h"
#include "web/page.h"
#include "store/writer_call.h"

struct disconnect {
    struct linking_remove write;
    enum err result;
    bool found;
};

static bool on_account(void *ctx, const struct credential *c)
{
    struct request *r = ctx;
    struct disconnect *d = page_context_of(r)->state;
    if (c->row != d->write.row)
        return true;
    d->found = true;
    struct buf *b = page_begin(
        r,
        &(struct page_frame){.title = STR("Disconnect an account"), .current = "/platforms", .narrow = true});
    HTML(b, "<p>Disconnect <strong>");
    html_isolated_text(b, c->account_name.len ? c->account_name : c->account_id);
    HTML(b, "</strong>, ");
    html_text(b, str_from_cstr(platform_desc((enum platform_api)c->api)->title));
    HTML(b,
         "? This service deletes its access and stops reading the account. The numbers that it has already "
         "read stay as they are. You can connect the account again at any time.</p>\n<p>The platform may "
         "still list this service among the apps that you allowed. You can remove it there, too.</p>\n");
    return false;
}

static enum next confirm_step(struct request *r)
{
    const struct page_context *page = page_context_of(r);
    const struct disconnect *d = page->state;
    struct buf *b = &r->res.body;
    if (page->read.err)
        return page_store_error(r, page->read.err);
    if (!d->found)
        return page_not_found(r);
    page_write_form(r, arena_printf(&r->arena, "/platforms/accounts/%.*s", (int)r->path_parameter.len,
                                    r->path_parameter.p));
    HTML(b, "<div class=\"row\"><button class=\"danger\">Disconnect it</button><a class=\"button quiet\"");
    page_write_link(r, "href", STR("/platforms"));
    HTML(b, ">Keep it</a></div></form>");
    return page_end(r);
}

static enum next disconnected_step(struct request *r)
{
    const struct disconnect *d = page_context_of(r)->state;
    if (d->result && d->result != ERR_NOT_FOUND) /* ERR_NOT_FOUND is no error: the form was sent twice */
        return page_store_error(r, d->result);
    page_set_note(r, NOTE_PLATFORM_DISCONNECTED);
    return page_redirect(r, STR("/platforms"));
}

static enum next account_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    struct disconnect *d = arena_alloc(&r->arena, sizeof *d);
    unsigned long long row;
    page->state = d;
    if (!str_to_u64(r->path_parameter, INT64_MAX, &row))
        return page_not_found(r);
    d->write = (struct linking_remove){.row = (int64_t)row, .author_row = page->viewer.author_row};
    if (r->method != METHOD_POST) {
        r->step = confirm_step;
        return store_read_author_credentials(&page->read, page->viewer.author_row, on_account, r);
    }
    r->step = disconnected_step;
    return writer_call(page->web->writer, &r->wait, &d->result, linking_remove, &d->write, sizeof d->write);
}

const struct route platform_account_page = {
    .path = "/platforms/accounts/{id}", .methods = ROUTE_GET | ROUTE_POST, .start = account_step};
