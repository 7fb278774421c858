// One headless Chromium for all browser tests. Reads one JSON request per line from standard input, {walk, args}, runs that
// function of walks.js in new browser contexts, and writes one JSON line: {value} or {error}.
//
// A walk fails if a page violates its content security policy, opens a dialog, writes an error to the console, throws, or
// sends a request to another host.
"use strict";
const fs = require("fs");
const path = require("path");
const readline = require("readline");

const modules = path.join(process.env.BROWSER_MODULES, "node_modules");
const { chromium } = require(path.join(modules, "playwright-core"));
const axe = fs.readFileSync(path.join(modules, "axe-core", "axe.min.js"), "utf8");
const walks = require("./walks.js");

const { DESK, PHONE } = require("./sizes.js");
const WAIT_MS = 15000;

class Session {
    constructor(browser, base, problems) {
        Object.assign(this, { browser, base, problems, contexts: [] });
    }

    // Opens a page in a new browser context. Options: cookie, javascript (false), phone (false), dark (false), elsewhere (other
    // URLs that may be requested).
    async openPage(options = {}) {
        const context = await this.browser.newContext({
            javaScriptEnabled: options.javascript === true,
            viewport: options.phone ? PHONE : DESK,
            isMobile: options.phone === true,
            hasTouch: options.phone === true,
            colorScheme: options.dark ? "dark" : "light",
            reducedMotion: "reduce",
            ignoreHTTPSErrors: true,            // of servers that tests start
        });
        this.contexts.push(context);
        context.setDefaultTimeout(WAIT_MS);
        if (options.cookie)
            await context.addCookies([{ name: "viewtally-session", value: options.cookie, url: this.base, httpOnly: true, sameSite: "Lax" }]);
        await context.route((url) => !url.href.startsWith(this.base) && url.protocol !== "data:", (route) => {
            const url = route.request().url();
            if ((options.elsewhere || []).some((start) => url.startsWith(start)))
                return route.fulfill({ status: 200, contentType: "text/html", body: "<title>elsewhere</title>elsewhere" });
            this.problems.push(`requested ${url}`);
            return route.abort();
        });
        const page = await context.newPage();
        page.on("console", (message) => {
            // The browser logs pages with an error status, which some walks expect.
            if (message.type() === "error" && !/Failed to load resource: the server responded/.test(message.text()))
                this.problems.push(`console: ${message.text()} (${page.url()})`);
        });
        page.on("pageerror", (error) => this.problems.push(`threw: ${error} (${page.url()})`));
        page.on("dialog", (dialog) => {
            this.problems.push(`dialog: ${dialog.message()} (${page.url()})`);
            return dialog.dismiss();
        });
        await context.addInitScript(() => addEventListener("securitypolicyviolation", (event) =>
            console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`)));
        return page;
    }

    async goto(page, address) {
        const response = await page.goto(address.startsWith("http") ? address : this.base + address);
        return response.status();
    }

    // Returns the violations that axe-core finds, of all rules or of the given ones.
    async axe(page, rules) {
        await page.evaluate(axe);
        const found = await page.evaluate((only) => window.axe.run(document, {
            resultTypes: ["violations"], ...(only && { runOnly: { type: "rule", values: only } }),
        }), rules);
        return found.violations.map((v) => `${v.id}: ${v.help}: ${v.nodes.map((n) => n.target.join(" ")).slice(0, 3).join(", ")}`);
    }

    // Returns elements that overflow the page horizontally.
    async overflow(page) {
        return page.evaluate(() => {
            const width = document.documentElement.clientWidth;
            if (document.documentElement.scrollWidth <= width)
                return [];
            const wide = [...document.querySelectorAll("body *")].filter((e) => e.getBoundingClientRect().right > width + 1 &&
                !e.closest(".scroll"));
            return wide.slice(0, 3).map((e) => `overflows: ${e.outerHTML.slice(0, 120)}`).concat(`${document.documentElement.scrollWidth} px`);
        });
    }

    async screenshot(page, name) {
        if (!process.env.BROWSER_SCREENSHOTS)
            return;
        // A screenshot of the whole reference takes longer than the timeout of Playwright on a busy machine.
        const fullPage = await page.evaluate(() => document.documentElement.scrollHeight < 15000);
        await page.screenshot({ path: path.join(process.env.BROWSER_SCREENSHOTS, `${name}.png`), fullPage });
    }

    async end() {
        for (const context of this.contexts)
            await context.close();
    }
}

async function run(browser, { walk, args }) {
    const problems = [];
    const session = new Session(browser, args.base, problems);
    try {
        const value = await walks[walk](session, args);
        return problems.length ? { error: problems.join("\n") } : { value: value === undefined ? null : value };
    } catch (error) {
        return { error: [String(error.stack || error), ...problems].join("\n") };
    } finally {
        await session.end();
    }
}

async function main() {
    // Chromium has no sandbox when it runs as root, as in a container.
    const root = process.getuid && process.getuid() === 0;
    const launch = (more) => chromium.launch({
        executablePath: process.env.BROWSER_PROGRAM,
        args: ["--disable-dev-shm-usage", "--disable-gpu", ...more],
    });
    const plain = ["--no-sandbox"];
    // Some kernels do not let users create a sandbox. Without one is safe here: it opens only pages of this machine.
    const browser = root ? await launch(plain) : await launch([]).catch(() => launch(plain));
    for await (const line of readline.createInterface({ input: process.stdin }))
        process.stdout.write(JSON.stringify(await run(browser, JSON.parse(line))) + "\n");
    await browser.close();
}

main();
