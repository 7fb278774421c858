// An app is connected in a browser without a script.
"use strict";
const assert = require("assert");

// Opens the consent page and presses a button with the keyboard or the mouse; gives the address where it ends.
async function connect(visit, { cookie, path, redirect, button, keyboard }) {
    const page = await visit.person({ cookie });
    assert.strictEqual(await visit.goto(page, path), 200);
    const control = page.getByRole("button", { name: button, exact: true });
    const ended = page.waitForURL((url) => url.href.startsWith(redirect));
    if (keyboard) {
        await control.focus();
        await page.keyboard.press("Enter");
    } else {
        await control.click();
    }
    await ended;
    return page.url();
}

module.exports = { connect };
