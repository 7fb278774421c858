/* Walks over the document and appends HTML. A reference (`$ref`) is followed for parameters and responses,
 * and becomes a link for schemas. */
#include "reference/operations.h"

#include "base/check.h"
#include "reference/markdown.h"
#include "web/html.h"

#include <stdlib.h>
#include <yyjson.h>

struct openapi {
    yyjson_doc *doc;
    yyjson_val *root;
};

struct openapi *openapi_parse(struct str json)
{
    struct openapi *api = xcalloc(1, sizeof *api);
    api->doc = yyjson_read(json.p, json.len, 0);
    CHECK(api->doc);
    api->root = yyjson_doc_get_root(api->doc);
    return api;
}

void openapi_free(struct openapi *api)
{
    yyjson_doc_free(api->doc);
    free(api);
}

/* Returns the text of `v`, or an empty text if `v` is NULL or not a string. */
static struct str text_of(yyjson_val *v)
{
    const char *p = yyjson_get_str(v);
    return p ? str_make(p, yyjson_get_len(v)) : STR("");
}

static struct str member_text(yyjson_val *v, const char *name)
{
    return text_of(yyjson_obj_get(v, name));
}

/* If `v` contains a `$ref`, returns its target, otherwise `v` itself. */
static yyjson_val *resolve(const struct openapi *api, yyjson_val *v)
{
    const struct str reference = member_text(v, "$ref");
    return reference.len > 1 ? yyjson_ptr_getn(api->root, reference.p + 1, reference.len - 1) : v;
}

/* Returns the part of a reference after its last slash. */
static struct str name_of_reference(struct str reference)
{
    const char *slash = memrchr(reference.p, '/', reference.len);
    return slash ? str_make(slash + 1, (size_t)(reference.p + reference.len - slash) - 1) : reference;
}

/* Returns the value of an object's first member, or NULL. */
static yyjson_val *first_member(yyjson_val *object)
{
    size_t i, n;
    yyjson_val *key, *value;
    yyjson_obj_foreach(object, i, n, key, value) return value;
    return NULL;
}

/* ---- types of parameters and properties ---- */

static void append_type(struct buf *b, yyjson_val *schema);

static void append_schema_link(struct buf *b, struct str reference)
{
    const struct str name = name_of_reference(reference);
    HTML(b, "<a href=\"#schema-");
    html_text(b, name);
    HTML(b, "\">");
    html_text(b, name);
    HTML(b, "</a>");
}

static void append_choices(struct buf *b, yyjson_val *list)
{
    size_t i, n;
    yyjson_val *choice;
    yyjson_arr_foreach(list, i, n, choice)
    {
        if (i)
            HTML(b, " or ");
        append_type(b, choice);
    }
}

static void append_enum(struct buf *b, yyjson_val *values)
{
    size_t i, n;
    yyjson_val *value;
    yyjson_arr_foreach(values, i, n, value)
    {
        if (i)
            HTML(b, ", ");
        HTML(b, "<code>");
        if (yyjson_is_bool(value))
            buf_append(b, yyjson_get_bool(value) ? STR("true") : STR("false"));
        else
            html_text(b, text_of(value));
        HTML(b, "</code>");
    }
}

static void append_type_names(struct buf *b, yyjson_val *type)
{
    size_t i, n;
    yyjson_val *name;
    html_text(b, text_of(type));
    yyjson_arr_foreach(type, i, n, name)
    {
        if (i)
            HTML(b, " or ");
        html_text(b, text_of(name));
    }
}

static void append_bounds(struct buf *b, yyjson_val *schema)
{
    yyjson_val *min = yyjson_obj_get(schema, "minimum"), *max = yyjson_obj_get(schema, "maximum"),
               *standard = yyjson_obj_get(schema, "default");
    enum { LARGE = 1 << 30 }; /* bounds are not shown if the maximum is this large, such as that of int64 */
    if (min && max && yyjson_get_sint(max) < LARGE)
        buf_printf(b, " from %lld to %lld", (long long)yyjson_get_sint(min), (long long)yyjson_get_sint(max));
    if (!standard)
        return;
    HTML(b, ", default <code>");
    if (yyjson_is_str(standard))
        html_text(b, text_of(standard));
    else
        buf_append_i64(b, yyjson_get_sint(standard));
    HTML(b, "</code>");
}

static void append_type(struct buf *b, yyjson_val *schema)
{
    yyjson_val *any = yyjson_obj_get(schema, "anyOf"), *one = yyjson_obj_get(schema, "oneOf"),
               *values = yyjson_obj_get(schema, "enum"), *items = yyjson_obj_get(schema, "items");
    const struct str reference = member_text(schema, "$ref");
    if (reference.len) {
        append_schema_link(b, reference);
    } else if (any || one) {
        append_choices(b, any ? any : one);
    } else if (values) {
        append_enum(b, values);
    } else if (items) {
        HTML(b, "array of ");
        append_type(b, items);
    } else {
        append_type_names(b, yyjson_obj_get(schema, "type"));
        append_bounds(b, schema);
    }
}

/* ---- tables of parameters and properties ---- */

static void begin_table(struct buf *b, const char *caption, struct str head)
{
    buf_printf(b, "<div class=\"scroll\" role=\"group\" tabindex=\"0\" aria-label=\"%s\"><table><thead><tr>",
               caption);
    buf_append(b, head);
    HTML(b, "</tr></thead><tbody>\n");
}

static void end_table(struct buf *b)
{
    HTML(b, "</tbody></table></div>\n");
}

/* Appends the description beside `$ref` or, if it is missing, the description of the target of `$ref`. */
static void append_description(struct buf *b, const struct openapi *api, yyjson_val *v)
{
    struct str text = member_text(v, "description");
    if (!text.len)
        text = member_text(resolve(api, v), "description");
    markdown_append_inline(b, text);
}

static void append_parameters(struct buf *b, const struct openapi *api, yyjson_val *list)
{
    size_t i, n;
    yyjson_val *each;
    if (!yyjson_arr_size(list))
        return;
    HTML(b, "<h4>Parameters</h4>\n");
    begin_table(b, "Parameters",
                STR("<th scope=\"col\">name</th><th scope=\"col\">in</th><th scope=\"col\">type</th>"
                    "<th scope=\"col\">meaning</th>"));
    yyjson_arr_foreach(list, i, n, each)
    {
        yyjson_val *parameter = resolve(api, each);
        HTML(b, "<tr><th scope=\"row\"><code>");
        html_text(b, member_text(parameter, "name"));
        HTML(b, "</code></th><td>");
        html_text(b, member_text(parameter, "in"));
        HTML(b, "</td><td>");
        append_type(b, yyjson_obj_get(parameter, "schema"));
        HTML(b, "</td><td>");
        append_description(b, api, parameter);
        HTML(b, "</td></tr>\n");
    }
    end_table(b);
}

static bool is_required(yyjson_val *schema, struct str name)
{
    size_t i, n;
    yyjson_val *each;
    yyjson_arr_foreach(yyjson_obj_get(schema, "required"), i, n,
                       each) if (str_eq(text_of(each), name)) return true;
    return false;
}

static void append_properties(struct buf *b, const struct openapi *api, yyjson_val *schema)
{
    size_t i, n;
    yyjson_val *key, *property;
    yyjson_val *properties = yyjson_obj_get(schema, "properties");
    if (!yyjson_obj_size(properties))
        return;
    begin_table(
        b, "Members",
        STR("<th scope=\"col\">member</th><th scope=\"col\">type</th><th scope=\"col\">meaning</th>"));
    yyjson_obj_foreach(properties, i, n, key, property)
    {
        HTML(b, "<tr><th scope=\"row\"><code>");
        html_text(b, text_of(key));
        HTML(b, "</code></th><td>");
        append_type(b, property);
        if (!is_required(schema, text_of(key)))
            HTML(b, ", optional");
        HTML(b, "</td><td>");
        append_description(b, api, property);
        HTML(b, "</td></tr>\n");
    }
    end_table(b);
}

/* ---- sections of operations ---- */

/* Appends escaped text and retains its line breaks. */
static void append_lines(struct buf *b, struct str text)
{
    struct str line;
    while (text.p) {
        text = str_cut(text, '\n', &line);
        html_text(b, line);
        buf_append_char(b, '\n');
    }
}

/* Appends the example in the content of a response or of a request body. JSON is indented. */
static void append_example(struct buf *b, yyjson_val *content)
{
    size_t i, n;
    yyjson_val *key, *media;
    yyjson_obj_foreach(content, i, n, key, media)
    {
        yyjson_val *example = yyjson_obj_get(media, "example");
        yyjson_val *examples = yyjson_obj_get(media, "examples");
        if (!example && examples)
            example = yyjson_obj_get(first_member(examples), "value");
        size_t len = 0;
        char *json =
            yyjson_is_str(example) ? NULL : yyjson_val_write(example, YYJSON_WRITE_PRETTY_TWO_SPACES, &len);
        HTML(b, "<pre tabindex=\"0\"><code>");
        append_lines(b, json ? str_make(json, len) : text_of(example));
        HTML(b, "</code></pre>\n");
        free(json);
        return;
    }
}

static void append_response(struct buf *b, const struct openapi *api, struct str status, yyjson_val *response)
{
    size_t i, n;
    yyjson_val *key, *media;
    yyjson_val *content = yyjson_obj_get(resolve(api, response), "content");
    HTML(b, "<tr><th scope=\"row\">");
    html_text(b, status);
    HTML(b, "</th><td>");
    yyjson_obj_foreach(content, i, n, key, media)
    {
        if (i)
            HTML(b, " or ");
        append_type(b, yyjson_obj_get(media, "schema"));
    }
    HTML(b, "</td><td>");
    append_description(b, api, response);
    HTML(b, "</td></tr>\n");
}

static void append_responses(struct buf *b, const struct openapi *api, yyjson_val *responses)
{
    size_t i, n;
    yyjson_val *key, *response;
    HTML(b, "<h4>Responses</h4>\n");
    begin_table(
        b, "Responses",
        STR("<th scope=\"col\">status</th><th scope=\"col\">body</th><th scope=\"col\">meaning</th>"));
    yyjson_obj_foreach(responses, i, n, key, response) append_response(b, api, text_of(key), response);
    end_table(b);
    yyjson_val *content = yyjson_obj_get(yyjson_obj_get(responses, "200"), "content");
    if (content)
        append_example(b, content);
}

static void append_request_body(struct buf *b, const struct openapi *api, yyjson_val *body)
{
    if (!body)
        return;
    HTML(b, "<h4>Request body</h4>\n<p>");
    append_description(b, api, body);
    HTML(b, "</p>\n");
    yyjson_val *content = yyjson_obj_get(body, "content");
    yyjson_val *media = first_member(content);
    append_properties(b, api, resolve(api, yyjson_obj_get(media, "schema")));
}

static void append_method_and_path(struct buf *b, struct str method, struct str path)
{
    HTML(b, "<code>");
    html_text(b, str_eq(method, STR("get")) ? STR("GET") : STR("POST"));
    buf_append_char(b, ' ');
    html_text(b, path);
    HTML(b, "</code>");
}

static void append_operation(struct buf *b, const struct openapi *api, const char *page, struct str path,
                             struct str method, yyjson_val *operation)
{
    (void)page;
    yyjson_val *security = yyjson_obj_get(operation, "security");
    HTML(b, "<section class=\"card\"><h3");
    html_attr(b, "id", member_text(operation, "operationId"));
    HTML(b, ">");
    append_method_and_path(b, method, path);
    HTML(b, " ");
    html_text(b, member_text(operation, "summary"));
    HTML(b, "</h3>\n");
    markdown_append(b, member_text(operation, "description"), 2);
    if (security && !yyjson_arr_size(security))
        HTML(b, "<p class=\"muted\">No API key is needed.</p>\n");
    append_parameters(b, api, yyjson_obj_get(operation, "parameters"));
    append_request_body(b, api, yyjson_obj_get(operation, "requestBody"));
    append_responses(b, api, yyjson_obj_get(operation, "responses"));
    HTML(b, "</section>\n");
}

/* ---- iterating over tags, operations and schemas ---- */

/* Appends HTML for one operation. `page` is the URL of the page that shows the operations. */
typedef void operation_visitor(struct buf *b, const struct openapi *api, const char *page, struct str path,
                               struct str method, yyjson_val *operation);

static bool has_tag(yyjson_val *operation, struct str tag)
{
    return str_eq(text_of(yyjson_arr_get_first(yyjson_obj_get(operation, "tags"))), tag);
}

/* Calls `visit` for each operation with this tag, except HEAD. */
static void each_operation(struct buf *b, const struct openapi *api, struct str tag, const char *page,
                           operation_visitor *visit)
{
    size_t i, n, j, m;
    yyjson_val *path, *item, *method, *operation;
    yyjson_obj_foreach(yyjson_obj_get(api->root, "paths"), i, n, path, item)
    {
        yyjson_obj_foreach(item, j, m, method, operation)
        {
            if (has_tag(operation, tag) && !yyjson_equals_str(method, "head"))
                visit(b, api, page, text_of(path), text_of(method), operation);
        }
    }
}

void openapi_append_introduction(struct buf *b, const struct openapi *api)
{
    markdown_append(b, member_text(yyjson_obj_get(api->root, "info"), "description"), 0);
}

void openapi_append_operations(struct buf *b, const struct openapi *api)
{
    size_t i, n;
    yyjson_val *tag;
    yyjson_arr_foreach(yyjson_obj_get(api->root, "tags"), i, n, tag)
    {
        const struct str name = member_text(tag, "name");
        HTML(b, "<h2 id=\"tag-");
        markdown_append_id(b, name);
        HTML(b, "\">");
        html_text(b, name);
        HTML(b, "</h2>\n<p>");
        markdown_append_inline(b, member_text(tag, "description"));
        HTML(b, "</p>\n");
        each_operation(b, api, name, "", append_operation);
    }
}

void openapi_append_schemas(struct buf *b, const struct openapi *api)
{
    size_t i, n;
    yyjson_val *key, *schema;
    yyjson_val *components = yyjson_obj_get(api->root, "components");
    yyjson_obj_foreach(yyjson_obj_get(components, "schemas"), i, n, key, schema)
    {
        HTML(b, "<section><h3 id=\"schema-");
        html_text(b, text_of(key));
        HTML(b, "\">");
        html_text(b, text_of(key));
        HTML(b, "</h3>\n<p>");
        markdown_append_inline(b, member_text(schema, "description"));
        HTML(b, "</p>\n");
        if (!yyjson_obj_get(schema, "properties")) {
            HTML(b, "<p class=\"muted\">");
            append_type(b, schema);
            HTML(b, "</p>\n");
        }
        append_properties(b, api, schema);
        HTML(b, "</section>\n");
    }
}

/* ---- index of the operations ---- */

static void append_words(struct buf *b, const struct openapi *api, yyjson_val *operation)
{
    size_t i, n;
    yyjson_val *each;
    yyjson_arr_foreach(yyjson_obj_get(operation, "parameters"), i, n, each)
    {
        html_text(b, member_text(resolve(api, each), "name"));
        buf_append_char(b, ' ');
    }
    html_text(b, member_text(operation, "description"));
}

static void append_index_item(struct buf *b, const struct openapi *api, const char *page, struct str path,
                              struct str method, yyjson_val *operation)
{
    HTML(b, "<li data-words=\"");
    append_words(b, api, operation);
    buf_printf(b, "\"><a href=\"%s#", page);
    html_text(b, member_text(operation, "operationId"));
    HTML(b, "\">");
    append_method_and_path(b, method, path);
    HTML(b, " ");
    html_text(b, member_text(operation, "summary"));
    HTML(b, "</a></li>\n");
}

void openapi_append_index(struct buf *b, const struct openapi *api, const char *page)
{
    size_t i, n;
    yyjson_val *tag;
    yyjson_arr_foreach(yyjson_obj_get(api->root, "tags"), i, n, tag)
        each_operation(b, api, member_text(tag, "name"), page, append_index_item);
}
