// Walks: what a person does in the browser. Each function gets the session (driver.js) and its arguments. It throws if an
// expectation fails; its return value goes to the Python test.
"use strict";
const assert = require("assert");
const { execFileSync } = require("child_process");
const { DESK, PHONE } = require("./sizes.js");

// ---- actions ----

// Types `text` into the field with this label, or clicks the button or link with this text if `text` is undefined.
async function fillOrClick(page, control, text) {
    const named = { name: control, exact: true };
    if (text === undefined)
        await Promise.all([page.waitForLoadState("load"), page.getByRole("button", named).or(page.getByRole("link", named)).click()]);
    else
        await page.getByLabel(control, { exact: true }).fill(text);
}

async function fillForm(page, fields, button) {
    for (const [label, text] of Object.entries(fields))
        await fillOrClick(page, label, text);
    await fillOrClick(page, button);
}

// Returns the status of an API request with this key.
function curl(base, key) {
    return execFileSync("curl", ["-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", `Authorization: Bearer ${key}`, `${base}/v1/account`],
        { encoding: "utf8" });
}

function at(page, path) {
    assert.strictEqual(new URL(page.url()).pathname, path);
}

async function says(page, text) {
    assert((await page.locator("body").innerText()).includes(text), `the page does not contain ${JSON.stringify(text)}`);
}

// ---- one page in all layouts and color schemes ----

async function headings(page) {
    const levels = await page.evaluate(() => [...document.querySelectorAll("h1,h2,h3,h4")].map((h) => +h.tagName[1]));
    assert.strictEqual(levels.filter((level) => level === 1).length, 1, `one h1, not ${levels}`);
    levels.forEach((level, i) => assert(level <= (levels[i - 1] || 0) + 1, `heading levels are skipped: ${levels}`));
}

async function noInlineCode(page) {
    const found = await page.evaluate(() => [...document.querySelectorAll("*")].filter((e) => e.hasAttribute("style") ||
        (e.tagName === "SCRIPT" && !e.src) || [...e.attributes].some((a) => a.name.startsWith("on"))).map((e) => e.outerHTML.slice(0, 100)));
    assert.deepStrictEqual(found, [], "no inline style, script or handler");
}

// Returns the problems of a page in each side: {dark, phone}. The page is loaded once. Colors and layout are checked in each
// side, everything else once.
async function look(session, { cookie, path, name, sides, form = [], status = 200 }) {
    const page = await session.openPage({ cookie, javascript: true });
    const problems = [];
    assert.strictEqual(await session.goto(page, path), status);
    for (const [control, text] of form)
        await fillOrClick(page, control, text);
    for (const summary of await page.locator("details > summary").all())
        await summary.click();
    await headings(page);
    await noInlineCode(page);
    for (const [i, side] of sides.entries()) {
        await page.emulateMedia({ colorScheme: side.dark ? "dark" : "light" });
        await page.setViewportSize(side.phone ? PHONE : DESK);
        problems.push(...await session.axe(page, i ? ["color-contrast", "scrollable-region-focusable", "target-size"] : undefined));
        problems.push(...await session.overflow(page));
        await session.screenshot(page, `${name}-${side.phone ? "phone" : "desk"}-${side.dark ? "dark" : "light"}`);
    }
    return problems;
}

// Returns title, text, links and images of pages without JavaScript.
async function readPlain(session, { cookie, paths, status = 200 }) {
    const page = await session.openPage({ cookie });
    const seen = [];
    for (const path of paths) {
        assert.strictEqual(await session.goto(page, path), status);
        seen.push(await page.evaluate(() => ({
            title: document.title,
            text: document.body.innerText,
            links: [...document.querySelectorAll("a")].map((a) => a.getAttribute("href")),
            images: [...document.querySelectorAll("img")].map((i) => i.src),
        })));
    }
    return seen;
}

// Types each of the terms into the search of the documentation; returns the entries that it shows and its status.
async function searchDocs(session, { path, terms }) {
    const page = await session.openPage({ javascript: true });
    await session.goto(page, path);
    const found = {};
    for (const term of terms) {
        await page.getByLabel("Search guides and operations").fill(term);
        found[term] = await page.evaluate(() => ({
            shown: [...document.querySelectorAll("nav.contents li")].filter((item) => !item.hidden).map((item) => item.innerText.trim()),
            status: document.querySelector("nav.contents [role=status]").textContent,
        }));
    }
    return found;
}

// ---- keyboard only ----

async function focused(page) {
    return page.evaluate(() => {
        const e = document.activeElement;
        const style = getComputedStyle(e);
        return {
            tag: e.tagName,
            text: (e.innerText || e.value || "").trim().slice(0, 60),
            href: e.getAttribute("href"),
            seen: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
            onScreen: e.getBoundingClientRect().top >= 0 && e.getBoundingClientRect().left >= 0,
        };
    });
}

// Tabs through the whole page and returns the focused elements in order.
async function keyboard(session, { cookie, path }) {
    const page = await session.openPage({ cookie });
    await session.goto(page, path);
    const stops = [];
    for (let i = 0; i < 200; i++) {
        await page.keyboard.press("Tab");
        const stop = await focused(page);
        if (stop.tag === "BODY" || stop.tag === "HTML")
            break;
        assert(stop.seen, `no visible focus on ${JSON.stringify(stop)}`);
        assert(stop.onScreen, `focus is off screen at ${JSON.stringify(stop)}`);
        stops.push(stop);
    }
    const all = await page.evaluate(() => [...document.querySelectorAll(
        "a[href],button,summary,input:not([type=hidden]),select,textarea,[tabindex='0']")].filter((e) => e.checkVisibility()).length);
    assert.strictEqual(stops.length, all, "not every control can be reached");
    return stops;
}

async function skipLink(session, { cookie, path }) {
    const page = await session.openPage({ cookie });
    await session.goto(page, path);
    await page.keyboard.press("Tab");
    assert.match((await focused(page)).text, /Skip to content/);
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    assert(await page.evaluate(() => document.querySelector("main").contains(document.activeElement)), "the next focus is not in the content");
}

async function tableByKeyboard(session, { cookie, path }) {
    const page = await session.openPage({ cookie });
    await session.goto(page, path);
    const rows = page.locator("details.numbers tbody tr");
    assert.strictEqual(await rows.first().isVisible(), false);
    await page.locator("details.numbers summary").focus();
    await page.keyboard.press("Enter");
    await rows.first().waitFor({ state: "visible" });
    return rows.allInnerTexts();
}

// ---- invitation, keys, sign-in ----

async function firstDays(session, { base, invitation, login, password, keyName }) {
    const page = await session.openPage();
    assert.strictEqual(await session.goto(page, invitation), 200);
    await fillForm(page, { "Sign-in name": login, "Password": password, "Repeat the password": `${password}x` },
        "Set password and sign in");
    at(page, new URL(invitation).pathname); // the passwords differ: the form is shown again
    await fillForm(page, { "Sign-in name": login, "Password": password, "Repeat the password": password },
        "Set password and sign in");
    at(page, "/dashboard");
    assert.strictEqual(await session.goto(page, invitation), 410);

    await session.goto(page, "/keys");
    await fillForm(page, { "What is it for?": keyName }, "Create key");
    const key = await page.getByLabel("Your key", { exact: true }).inputValue();
    await says(page, keyName);
    assert.strictEqual(curl(base, key), "200");
    await page.getByRole("link", { name: "I have copied it" }).click();
    at(page, "/keys");
    assert(!(await page.content()).includes(key), "the key is shown again");
    await page.getByRole("link", { name: /^Revoke the key/ }).click();
    await says(page, keyName);
    await fillForm(page, {}, "Revoke it");
    at(page, "/keys");
    await says(page, "The key is revoked");
    assert.strictEqual(curl(base, key), "401");

    await fillForm(page, {}, "Sign out");
    await session.goto(page, "/keys");
    at(page, "/sign-in");
    await fillForm(page, { "Sign-in name": login, "Password": `not ${password}` }, "Sign in");
    at(page, "/sign-in");
    await fillForm(page, { "Sign-in name": login, "Password": password }, "Sign in");
    at(page, "/keys"); // the page that required the sign-in
}

// With JavaScript, a button copies the key and selects it.
async function copyKey(session, { cookie, keyName }) {
    const page = await session.openPage({ cookie, javascript: true });
    await session.goto(page, "/keys");
    await fillForm(page, { "What is it for?": keyName }, "Create key");
    const key = await page.getByLabel("Your key", { exact: true }).inputValue();
    await page.getByRole("button", { name: "Copy" }).click();
    await page.getByRole("button", { name: /^(Copied|Selected)/ }).waitFor();
    assert.strictEqual(await page.evaluate(() => {
        const input = document.activeElement.tagName === "INPUT" ? document.activeElement : document.querySelector("input.secret");
        return input.value.slice(input.selectionStart, input.selectionEnd);
    }), key);
}

// Signs in with the keyboard only.
async function signInByKeyboard(session, { login, password }) {
    const page = await session.openPage();
    await session.goto(page, "/sign-in");
    for (let i = 0; i < 20 && (await focused(page)).tag !== "INPUT"; i++)
        await page.keyboard.press("Tab");
    await page.keyboard.type(login);
    await page.keyboard.press("Tab");
    await page.keyboard.type(password);
    await page.keyboard.press("Enter");
    await page.waitForURL("**/dashboard");
}

module.exports = { ...require("./consent.js"), ...require("./linking.js"), look, readPlain, searchDocs, keyboard, skipLink, tableByKeyboard, firstDays, copyKey, signInByKeyboard };
