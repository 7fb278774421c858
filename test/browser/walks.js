// What people do. Each walk gets the visit (driver.js) and its arguments; it throws when something is not as it should be, and
// what it returns goes to the Python test.
"use strict";
const assert = require("assert");
const { execFileSync } = require("child_process");
const { DESK, PHONE } = require("./sizes.js");

// ---- what hands do ----

// A field's label with what is typed into it, or the words of a button or a link.
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

// The status that a program with this key gets.
function curl(base, key) {
    return execFileSync("curl", ["-s", "-o", "/dev/null", "-w", "%{http_code}", "-H", `Authorization: Bearer ${key}`, `${base}/v1/account`],
        { encoding: "utf8" });
}

function at(page, path) {
    assert.strictEqual(new URL(page.url()).pathname, path);
}

async function says(page, text) {
    assert((await page.locator("body").innerText()).includes(text), `the page says ${JSON.stringify(text)}`);
}

// ---- one page, looked at from all sides ----

async function headings(page) {
    const levels = await page.evaluate(() => [...document.querySelectorAll("h1,h2,h3,h4")].map((h) => +h.tagName[1]));
    assert.strictEqual(levels.filter((level) => level === 1).length, 1, `one h1, not ${levels}`);
    levels.forEach((level, i) => assert(level <= (levels[i - 1] || 0) + 1, `no level is left out: ${levels}`));
}

async function inlineThings(page) {
    const found = await page.evaluate(() => [...document.querySelectorAll("*")].filter((e) => e.hasAttribute("style") ||
        (e.tagName === "SCRIPT" && !e.src) || [...e.attributes].some((a) => a.name.startsWith("on"))).map((e) => e.outerHTML.slice(0, 100)));
    assert.deepStrictEqual(found, [], "no inline style, script or handler");
}

// Problems of a page, by side: {dark, phone}. It is loaded once; colours are looked at in every scheme, everything else once.
async function look(visit, { cookie, path, name, sides, form = [], status = 200 }) {
    const page = await visit.person({ cookie, javascript: true });
    const problems = [];
    assert.strictEqual(await visit.goto(page, path), status);
    for (const [control, text] of form)
        await fillOrClick(page, control, text);
    for (const summary of await page.locator("details > summary").all())
        await summary.click();
    await headings(page);
    await inlineThings(page);
    for (const [i, side] of sides.entries()) {
        await page.emulateMedia({ colorScheme: side.dark ? "dark" : "light" });
        await page.setViewportSize(side.phone ? PHONE : DESK);
        problems.push(...await visit.axe(page, i ? ["color-contrast", "scrollable-region-focusable", "target-size"] : undefined));
        problems.push(...await visit.overflow(page));
        await visit.screenshot(page, `${name}-${side.phone ? "phone" : "desk"}-${side.dark ? "dark" : "light"}`);
    }
    return problems;
}

// Without a script: the pages are there, whole, and say the same.
async function readPlain(visit, { cookie, paths, status = 200 }) {
    const page = await visit.person({ cookie });
    const seen = [];
    for (const path of paths) {
        assert.strictEqual(await visit.goto(page, path), status);
        seen.push(await page.evaluate(() => ({
            title: document.title,
            text: document.body.innerText,
            links: [...document.querySelectorAll("a")].map((a) => a.getAttribute("href")),
            images: [...document.querySelectorAll("img")].map((i) => i.src),
        })));
    }
    return seen;
}

// ---- with the keyboard alone ----

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

// Tabs through the whole page; gives what was focused, in order.
async function keyboard(visit, { cookie, path }) {
    const page = await visit.person({ cookie });
    await visit.goto(page, path);
    const stops = [];
    for (let i = 0; i < 200; i++) {
        await page.keyboard.press("Tab");
        const stop = await focused(page);
        if (stop.tag === "BODY" || stop.tag === "HTML")
            break;
        assert(stop.seen, `the focus is seen on ${JSON.stringify(stop)}`);
        assert(stop.onScreen, `the focus is on the screen at ${JSON.stringify(stop)}`);
        stops.push(stop);
    }
    const all = await page.evaluate(() => [...document.querySelectorAll(
        "a[href],button,summary,input:not([type=hidden]),select,textarea,[tabindex='0']")].filter((e) => e.checkVisibility()).length);
    assert.strictEqual(stops.length, all, "every control is reached");
    return stops;
}

async function skipLink(visit, { cookie, path }) {
    const page = await visit.person({ cookie });
    await visit.goto(page, path);
    await page.keyboard.press("Tab");
    assert.match((await focused(page)).text, /Skip to content/);
    await page.keyboard.press("Enter");
    await page.keyboard.press("Tab");
    assert(await page.evaluate(() => document.querySelector("main").contains(document.activeElement)), "the next stop is in the content");
}

async function tableByKeyboard(visit, { cookie, path }) {
    const page = await visit.person({ cookie });
    await visit.goto(page, path);
    const rows = page.locator("details.numbers tbody tr");
    assert.strictEqual(await rows.first().isVisible(), false);
    await page.locator("details.numbers summary").focus();
    await page.keyboard.press("Enter");
    await rows.first().waitFor({ state: "visible" });
    return rows.allInnerTexts();
}

// ---- an author's first days ----

async function firstDays(visit, { base, invitation, login, password, keyName }) {
    const page = await visit.person();
    assert.strictEqual(await visit.goto(page, invitation), 200);
    await fillForm(page, { "Sign-in name": login, "Password": password, "Repeat the password": `${password}x` },
        "Set password and sign in");
    at(page, new URL(invitation).pathname); // they differ: asked again
    await fillForm(page, { "Sign-in name": login, "Password": password, "Repeat the password": password },
        "Set password and sign in");
    at(page, "/dashboard");
    assert.strictEqual(await visit.goto(page, invitation), 410);

    await visit.goto(page, "/keys");
    await fillForm(page, { "What is it for?": keyName }, "Create key");
    const key = await page.getByLabel("Your key", { exact: true }).inputValue();
    await says(page, keyName);
    assert.strictEqual(curl(base, key), "200");
    await page.getByRole("link", { name: "I have copied it" }).click();
    at(page, "/keys");
    assert(!(await page.content()).includes(key), "it is shown once");
    await page.getByRole("link", { name: /^Revoke the key/ }).click();
    await says(page, keyName);
    await fillForm(page, {}, "Revoke it");
    at(page, "/keys");
    await says(page, "The key is revoked");
    assert.strictEqual(curl(base, key), "401");

    await fillForm(page, {}, "Sign out");
    await visit.goto(page, "/keys");
    at(page, "/sign-in");
    await fillForm(page, { "Name": login, "Password": `not ${password}` }, "Sign in");
    at(page, "/sign-in");
    await fillForm(page, { "Name": login, "Password": password }, "Sign in");
    at(page, "/keys"); // where it was asked for
}

// With a script there is a button that copies; gives what it says afterwards and what stands selected.
async function copyKey(visit, { cookie, keyName }) {
    const page = await visit.person({ cookie, javascript: true });
    await visit.goto(page, "/keys");
    await fillForm(page, { "What is it for?": keyName }, "Create key");
    const key = await page.getByLabel("Your key", { exact: true }).inputValue();
    await page.getByRole("button", { name: "Copy" }).click();
    await page.getByRole("button", { name: /^(Copied|Selected)/ }).waitFor();
    assert.strictEqual(await page.evaluate(() => {
        const input = document.activeElement.tagName === "INPUT" ? document.activeElement : document.querySelector("input.secret");
        return input.value.slice(input.selectionStart, input.selectionEnd);
    }), key);
}

// Signs in without ever touching a mouse.
async function signInByKeyboard(visit, { login, password }) {
    const page = await visit.person();
    await visit.goto(page, "/sign-in");
    for (let i = 0; i < 20 && (await focused(page)).tag !== "INPUT"; i++)
        await page.keyboard.press("Tab");
    await page.keyboard.type(login);
    await page.keyboard.press("Tab");
    await page.keyboard.type(password);
    await page.keyboard.press("Enter");
    await page.waitForURL("**/dashboard");
}

module.exports = { ...require("./consent.js"), ...require("./linking.js"), look, readPlain, keyboard, skipLink, tableByKeyboard, firstDays, copyKey, signInByKeyboard };
