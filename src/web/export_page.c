/* POST /account/export: sends the author's data as a file. The download requires the current password, like
 * changing the password, because somebody else may be using a browser that is still signed in. If a proxy has
 * signed the viewer in, no password is required, because the viewer has none here. */
#include "web/export_page.h"

#include "auth/password.h"
#include "auth/sign_in_limiter.h"
#include "base/clock.h"
#include "import/author_export.h"
#include "store/writer_call.h"
#include "web/export_job.h"
#include "web/form_field.h"

struct export_note {
    int64_t author_row, now;
    struct actor by;
};

struct export_request {
    struct password_call password;
    struct export_call export;
    struct export_note note;
    enum err note_result;
};

/* ---- the export form ---- */

void export_form_write(struct request *r, const char *error)
{
    struct buf *b = &r->res.body;
    HTML(b,
         "<section class=\"card\"><h2>Your data</h2>\n<p>Download your books, videos, counts, statistics, "
         "milestones and events as one file (NDJSON). It also contains the names and the hashes of your API "
         "keys, but neither the keys themselves nor passwords.</p>\n");
    page_write_form(r, STR("/account/export"));
    if (!page_context_of(r)->by_proxy)
        form_field_write(b, &(struct form_field){.id = "export-current",
                                                 .label = "Current password",
                                                 .type = "password",
                                                 .autocomplete = "current-password",
                                                 .error = error});
    HTML(b, "<button>Download my data</button></form></section>\n");
}

/* ---- the download ---- */

static void release_body(struct request *r)
{
    const struct export_request *export = r->on_free_ctx;
    shared_body_release(export->export.body);
}

static enum next send_export(struct request *r)
{
    const struct export_request *export = page_context_of(r)->state;
    r->res.status = 200;
    r->res.content_type = STR("application/x-ndjson");
    response_add_field(r, STR("Content-Disposition"),
                       STR("attachment; filename=\"viewtally-export.ndjson\""));
    response_set_shared_body(r, export->export.body);
    return NEXT_DONE;
}

static enum err write_note(struct store *store, void *data)
{
    const struct export_note *n = data;
    const struct audit_note note = {
        .author_row = n->author_row, .at = n->now, .action = AUDIT_AUTHOR_EXPORTED};
    return store_insert_audit(store, &note, &n->by);
}

static enum next noted_step(struct request *r)
{
    const struct export_request *export = page_context_of(r)->state;
    return export->note_result ? page_store_error(r, export->note_result) : send_export(r);
}

/* Writes the audit entry after the file is complete, so that a failed export is not recorded, but before the
 * file is sent, so that no data leaves the server unrecorded. */
static enum next exported_step(struct request *r)
{
    const struct page_context *page = page_context_of(r);
    struct export_request *export = page->state;
    if (export->export.is_busy)
        return page_error(r, 503, "Another download is being prepared. Please try again in a moment.");
    if (export->export.is_too_large)
        return page_error(r, 422,
                          "Your data is larger than 2 GB, the limit of a download. Please ask the people who "
                          "run this service to create the file with the command “viewtally author export”.");
    if (export->export.err)
        return page_store_error(r, export->export.err);
    export->note = (struct export_note){
        .author_row = page->viewer.author_row, .now = clock_wall_ms(), .by = page_actor(r)};
    r->step = noted_step;
    return writer_call(page->web->writer, &r->wait, &export->note_result, write_note, &export->note,
                       sizeof export->note);
}

static enum next start_export(struct request *r)
{
    const struct page_context *page = page_context_of(r);
    struct export_request *export = page->state;
    r->step = exported_step;
    r->on_free = release_body;
    r->on_free_ctx = export;
    return exports_start(page->web->exports, &r->wait, &export->export, &page->viewer.id);
}

/* ---- the current password ---- */

static struct sign_in_attempt attempt_of(const struct request *r)
{
    const struct page_context *page = page_context_of(r);
    return (struct sign_in_attempt){
        .account = page->viewer.login,
        .address = r->client_address,
        .device = str_make((const char *)page->session_hash, sizeof page->session_hash)};
}

static enum next reject_password(struct request *r)
{
    r->res.status = 422;
    (void)page_begin(r, &(struct page_frame){.title = STR("Account"), .current = "/account"});
    export_form_write(r, "This is not your current password.");
    return page_end(r);
}

static enum next checked_step(struct request *r)
{
    const struct page_context *page = page_context_of(r);
    const struct export_request *export = page->state;
    const struct sign_in_attempt attempt = attempt_of(r);
    if (export->password.err)
        return page_too_busy_to_verify(r, &attempt);
    if (!export->password.matches)
        return reject_password(r);
    sign_in_limiter_record_success(page->web->sign_in_limiter, &attempt, clock_mono_ms());
    return start_export(r);
}

static enum next export_step(struct request *r)
{
    struct page_context *page = page_context_of(r);
    const struct str current = form_get(&page->form, STR("export-current"));
    struct export_request *export = arena_alloc(&r->arena, sizeof *export);
    *export = (struct export_request){.note_result = OK};
    page->state = export;
    if (page->by_proxy)
        return start_export(r);
    if (!page->viewer.login.p || !current.p)
        return page_error(r, 400, "Please enter your current password.");
    const struct sign_in_attempt attempt = attempt_of(r);
    const int64_t wait_ms = sign_in_limiter_begin(page->web->sign_in_limiter, &attempt, clock_mono_ms());
    if (wait_ms)
        return page_too_many_sign_ins(r, wait_ms);
    r->step = checked_step;
    return password_verify(page->web->passwords, &r->wait, &export->password, current, page->viewer.password);
}

const struct route account_export_page = {
    .path = "/account/export", .methods = ROUTE_POST, .start = export_step};
