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

// An app opens the authorization in a popup window. After the sign-in and the consent, the page of the app in the popup reports
// its URL to the window that has opened it. Returns this URL.
async function connectInPopup(session, { appPage, path, login, password }) {
    const page = await session.openPage({ javascript: true, elsewhere: [appPage] });
    await session.goto(page, appPage);
    const reported = page.evaluate(() => new Promise((resolve) => addEventListener("message", (event) => resolve(event.data))));
    reported.catch(() => {}); // if the popup has lost its opener, the promise is rejected when the page closes
    const opened = page.waitForEvent("popup");
    await page.evaluate((url) => { window.open(url); }, session.base + path);
    const popup = await opened;
    await popup.getByLabel("Sign-in name").fill(login);
    await popup.getByLabel("Password").fill(password);
    await popup.getByRole("button", { name: "Sign in", exact: true }).click();
    await popup.getByRole("button", { name: "Allow", exact: true }).click();
    await popup.waitForURL((url) => url.href.startsWith(appPage));
    assert.ok(await popup.evaluate(() => window.opener), "the popup has lost its opener");
    await popup.evaluate(() => { window.opener.postMessage(location.href); });
    return reported;
}

module.exports = { connect, connectInPopup };
