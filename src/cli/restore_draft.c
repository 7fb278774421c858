/* Makes the draft of a restore. A defect of the draft, which is a temporary file, is a defect of the backup.
 */
#include "cli/restore_draft.h"

#include "base/seam.h"
#include "store/store.h"

#include <string.h>

enum err restore_draft_fill(const char *file, const char *shown, const char *draft, struct error *error)
{
    int applied;
    enum err err = store_copy(file, draft, error);
    seam_kill_point();
    if (!err)
        err = store_verify(draft, NULL, error);
    if (!err)
        err = store_migrate(draft, &applied, error);
    if (err && err != ERR_FULL)
        error_replace(error, strstr(error->text, draft) ? draft : file, shown);
    seam_kill_point();
    return err;
}
