// Connects an app without JavaScript.
"use strict";
const assert = require("assert");

// Opens the consent page, presses a button with the keyboard or the mouse, and returns the final URL.
async function connect(session, { cookie, path, redirect, button, keyboard }) {
    const page = await session.openPage({ cookie });
    assert.strictEqual(await session.goto(page, path), 200);
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
