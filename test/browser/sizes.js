// The two screens that pages are looked at on.
"use strict";
module.exports = { DESK: { width: 1200, height: 900 }, PHONE: { width: 360, height: 740 } };
