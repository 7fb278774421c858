// Links an account at a platform and disconnects it again, without JavaScript.
"use strict";
const assert = require("assert");

async function press(page, name) {
    const named = { name, exact: true };
    await Promise.all([page.waitForLoadState("load"), page.getByRole("button", named).or(page.getByRole("link", named)).click()]);
}

async function says(page, text) {
    await page.getByText(text).first().waitFor({ timeout: 10000 });
    assert.strictEqual(new URL(page.url()).pathname, "/platforms");
}

async function linkAccount(session, { cookie, platform, account }) {
    const page = await session.openPage({ cookie });
    await session.goto(page, "/");
    await press(page, "Platforms");
    await says(page, "No account is connected yet.");
    await press(page, `Connect ${platform}`);
    await says(page, "Connected. Your numbers arrive with the next refresh.");
    await says(page, account);
    await press(page, `Disconnect ${account}`);
    await press(page, "Disconnect it");
    await says(page, "Disconnected.");
    await says(page, "No account is connected yet.");
}

module.exports = { linkAccount };
