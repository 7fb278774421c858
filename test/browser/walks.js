// What people do. Each walk gets the visit (driver.js) and its arguments; it throws when something is not as it should be, and
// what it returns goes to the Python test.
"use strict";
const assert = require("assert");
const { DESK, PHONE } = require("./sizes.js");

// ---- one page, looked at from all sides ----

async function headings(page) {
    const levels = await page.evaluate(() => [...document.querySelectorAll("h1,h2,h3,h4")].map((h) => +h.tagName[1]));
    assert.strictEqual(levels.filter((level) => level === 1).length, 1, `one h1, not ${levels}`);
    levels.forEach((level, i) => assert(level <= (levels[i - 1] || 0) + 1, `no level is left out: ${levels}`));
}

async function inlineThings(page) {
    const found = await page.evaluate(() => [...document.querySelectorAll("*")].filter((e) => e.hasAttribute("style") ||
        e.tagName === "SCRIPT" || [...e.attributes].some((a) => a.name.startsWith("on"))).map((e) => e.outerHTML.slice(0, 100)));
    assert.deepStrictEqual(found, [], "no inline style, script or handler");
}

// Problems of a page, by side: {dark, phone}. It is loaded once; colours are looked at in every scheme, everything else once.
async function look(visit, { cookie, path, name, sides, status = 200 }) {
    const page = await visit.person({ cookie, javascript: true });
    const problems = [];
    assert.strictEqual(await visit.goto(page, path), status);
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
    const all = await page.evaluate(() => document.querySelectorAll("a[href],button,summary,input:not([type=hidden]),select,textarea,[tabindex='0']").length);
    assert.strictEqual(stops.length, all, "every control is reached");
    return stops;
}

async function skipLink(visit, { cookie, path }) {
    const page = await visit.person({ cookie });
    await visit.goto(page, path);
    await page.keyboard.press("Tab");
    assert.match((await focused(page)).text, /Skip to the content/);
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

module.exports = { look, readPlain, keyboard, skipLink, tableByKeyboard };
