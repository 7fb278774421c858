/* Checks the credentials and accounts of the platforms. Reads only the configuration, the database and the
 * key file. Calls no platform; `viewtally platform test` does. */
#include "base/plural.h"
#include "doctor/doctor.h"

#include "platforms/platform_settings.h"
#include "vault/platform_health.h"
#include "vault/seal.h"
#include "vault/token_vault.h"

static void check_credentials(struct doctor *d)
{
    int configured = 0, wrong = 0;
    for (int api = 0; api < PLATFORM_APIS; api++) {
        const struct platform_app app = platform_app_of(d->config, (enum platform_api)api);
        const char *name = platform_desc((enum platform_api)api)->name;
        configured += platform_is_configured(d->config, (enum platform_api)api);
        if (app.client_id.len && !app.client_secret.len) {
            wrong++;
            doctor_error(d, "set client_secret_file in its section (docs/platforms)",
                         "%s has a client_id but no "
                         "client_secret",
                         name);
        } else if (app.client_id.len && !*d->config->secrets.key_file) {
            wrong++;
            doctor_error(d, "viewtally secrets init FILE, then set [secrets] key_file = FILE",
                         "%s is configured, but tokens cannot be stored without [secrets] key_file", name);
        }
    }
    if (!configured && !wrong)
        doctor_skip(d, "no platform is configured");
    else if (!wrong)
        doctor_ok(d, "the credentials of %d platform API%s are complete", configured,
                  plural(configured, "", "s"));
}

static void check_tokens(struct doctor *d)
{
    struct error error = {0};
    struct sealed_rows rows;
    struct seal_keys *keys = NULL;
    const char *key_file = d->config->secrets.key_file;
    if (*key_file && seal_keys_open(&keys, key_file, &error)) {
        doctor_skip(d, "needs a usable key file (files.key_file)");
        return;
    }
    seal_keys_close(keys);
    const enum err err = vault_inspect(d->config, d->store, d->full, &rows, &error);
    if (err)
        doctor_error(
            d,
            err == ERR_IO
                ? "see the findings about the database and about files.key_file"
                : "restore the key file that belongs to this database, then run viewtally secrets check",
            "%s", error.text);
    else if (!rows.accounts)
        doctor_skip(d, "no tokens are stored");
    else
        doctor_ok(d,
                  d->full
                      ? "the tokens of %lld account%s can be decrypted"
                      : "the key file has the keys for the tokens of %lld account%s (--full also decrypts "
                        "all tokens)",
                  (long long)rows.accounts, plural(rows.accounts, "", "s"));
}

static void check_accounts(struct doctor *d)
{
    int findings = 0;
    for (int api = 0; api < PLATFORM_APIS; api++) {
        struct platform_health h;
        const char *name = platform_desc((enum platform_api)api)->name;
        if (platform_health_read(d->store, d->config, (enum platform_api)api, d->now_ms, &h)) {
            doctor_error(d, "see the findings about the database", "the accounts of %s cannot be read", name);
            return;
        }
        const long long reconnect = h.accounts[CREDENTIAL_RECONNECT_REQUIRED];
        if (reconnect) {
            findings++;
            doctor_warn(d, "ask the authors to reconnect on their page Platforms (viewtally platform list)",
                        "%lld account%s of %s must be reconnected", reconnect, plural(reconnect, "", "s"),
                        name);
        }
        if (h.circuit_open_until != TIME_NONE) {
            findings++;
            doctor_warn(d, "correct the cause of the errors that viewtally platform status shows",
                        "calls to %s are suspended, because too many failed", name);
        }
    }
    if (!findings)
        doctor_ok(d, "no account needs attention");
}

static const struct doctor_check checks[] = {
    {"credentials", NEEDS_CONFIG, check_credentials},
    {"tokens", NEEDS_STORE, check_tokens},
    {"accounts", NEEDS_STORE, check_accounts},
};
const struct doctor_group doctor_platforms = DOCTOR_GROUP("platforms", checks);
