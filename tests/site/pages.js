/** Pages of the site in a browser: their faults, in each width and colour. */
import axe from "axe-core";
import puppeteer from "puppeteer-core";

/** Widths in pixels and colours. The findings of axe depend on either alone, so two states have both. */
export const states = [{ width: 390, colours: "dark" }, { width: 1280, colours: "light" }];

/** The other states, for pictures. */
const otherStates = [{ width: 390, colours: "light" }, { width: 1280, colours: "dark" }];

/** Starts Debian's Chromium. */
export function launch(flags = []) {
  return puppeteer.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", ...flags] });
}

/** Starts Debian's Firefox. Its driver cannot change preferences of motion later, and has no sessions of the DevTools protocol. */
export function launchFirefox({ reducesMotion = true } = {}) {
  const extraPrefsFirefox = { "ui.prefersReducedMotion": reducesMotion ? 1 : 0 };
  return puppeteer.launch({ browser: "firefox", executablePath: "/usr/bin/firefox-esr", extraPrefsFirefox });
}

/** Whether a page is in Firefox. */
export const isInFirefox = (page) => page.browser().process().spawnfile.includes("firefox");

/** Opens an empty page whose errors, warnings and requests to other hosts are faults. */
export async function openPage(browser, address, fault) {
  const page = await browser.newPage();
  page.on("console", (message) => {
    if (["error", "warn"].includes(message.type())) fault(`console: ${message.text()}`);
  });
  page.on("pageerror", ({ message }) => fault(`error: ${message}`));
  page.on("request", (request) => {
    const url = request.url();
    if (!url.startsWith(address) && !/^(data|blob):/.test(url)) fault(`request to ${url}`);
  });
  await show(page, states[1]);
  return page;
}

/** Sets the width of a page and its colours. */
async function show(page, { width, colours }) {
  await page.setViewport({ width, height: 844 });
  if (isInFirefox(page)) return;
  // A colour in transition could have too little contrast.
  await page.emulateMediaFeatures([
    { name: "prefers-color-scheme", value: colours },
    { name: "prefers-reduced-motion", value: "reduce" },
  ]);
}

const placeOf = ({ width, colours }) => `at ${width} pixels, ${colours}`;

/** A state in which the page scrolls horizontally is a fault. */
async function checkWidth(page, state, fault) {
  const overflow = await page.evaluate(() =>
    document.documentElement.scrollWidth - document.documentElement.clientWidth
  );
  if (overflow > 0) fault(`${placeOf(state)}: scrolls horizontally by ${overflow} pixels`);
}

/** Code that scrolls horizontally is a fault. On a phone, text in columns may scroll. */
async function checkCode(page, state, fault) {
  const wide = await page.$$eval("pre", (blocks, isPhone) =>
    blocks.filter((block) => block.scrollWidth > block.clientWidth + 1 && !(isPhone && block.closest(".language-text")))
      .map(({ textContent }) => textContent.slice(0, 60)), state.width < 640);
  if (wide.length > 0) fault(`${placeOf(state)}: ${wide.length} blocks of code scroll horizontally, such as ${wide[0]}`);
}

/** A serious violation that axe finds is a fault. */
async function checkAccessibility(page, state, fault) {
  const run = async () => (await globalThis.axe.run({ resultTypes: ["violations"] })).violations;
  for (const { id, impact, nodes } of await page.evaluate(run)) {
    if (!["serious", "critical"].includes(impact)) continue;
    fault(`${placeOf(state)}: axe ${id} (${nodes.length}): ${nodes[0].target} ${nodes[0].html.slice(0, 120)}`);
  }
}

/** Removes all tokens of highlighted code but one of each pair of colours. axe takes seconds for thousands of tokens. */
function removeTokens() {
  const colours = new Set();
  for (const token of document.querySelectorAll("pre span[style*='--shiki']")) {
    const style = token.getAttribute("style");
    if (colours.has(style)) token.remove();
    else colours.add(style);
  }
}

/**
 * Checks a page in each width and colour: it and its code do not scroll horizontally, and axe finds no serious violation. In Firefox
 * only the widths are checked, because the findings of axe are those in Chromium.
 *
 * @param screenshot Options of the picture of a state; undefined for no picture.
 * @param checked States that axe checks.
 */
export async function checkStates(page, fault, screenshot = () => undefined, checked = states) {
  for (const state of [...states, ...otherStates]) {
    const options = screenshot(`${state.width}-${state.colours}`);
    if (!options && otherStates.includes(state)) continue;
    await show(page, state);
    await checkWidth(page, state, fault);
    await checkCode(page, state, fault);
    if (options) await page.screenshot(options);
  }
  if (isInFirefox(page)) return;
  await page.evaluate(removeTokens);
  await page.evaluate(axe.source);
  for (const state of [...checked].reverse()) {
    await show(page, state);
    await checkAccessibility(page, state, fault);
  }
}
