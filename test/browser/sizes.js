// The two viewport sizes of the tests.
"use strict";
module.exports = { DESK: { width: 1200, height: 900 }, PHONE: { width: 360, height: 740 } };
