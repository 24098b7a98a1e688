/** Pages of the site in a browser: their faults, in each width and colour. */
import axe from "axe-core";
import puppeteer from "puppeteer-core";

/** Widths in pixels and colours. axe, whose findings depend on either alone, checks the states with `axe`. */
export const states = [
  { width: 1280, colours: "light", axe: true },
  { width: 1280, colours: "dark" },
  { width: 390, colours: "light" },
  { width: 390, colours: "dark", axe: true },
];

/** Starts Debian's Chromium. */
export function launch(flags = []) {
  return puppeteer.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", ...flags] });
}

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
  await show(page, states[0]);
  return page;
}

/** Sets the width of a page and its colours. */
async function show(page, { width, colours }) {
  await page.setViewport({ width, height: 844 });
  // A colour in transition could have too little contrast.
  await page.emulateMediaFeatures([
    { name: "prefers-color-scheme", value: colours },
    { name: "prefers-reduced-motion", value: "reduce" },
  ]);
}

/**
 * Checks a page in each width and colour: it does not scroll horizontally, and axe finds no serious violation.
 *
 * @param screenshot Options of the picture of a state; undefined for no picture.
 */
export async function checkStates(page, fault, screenshot = () => undefined) {
  await page.evaluate(axe.source);
  for (const state of states) {
    const { width, colours } = state;
    await show(page, state);
    const place = `at ${width} pixels, ${colours}`;
    const overflow = await page.evaluate(() =>
      document.documentElement.scrollWidth - document.documentElement.clientWidth
    );
    if (overflow > 0) fault(`${place}: scrolls horizontally by ${overflow} pixels`);
    const violations = state.axe
      ? await page.evaluate(async () => (await globalThis.axe.run({ resultTypes: ["violations"] })).violations)
      : [];
    for (const { id, impact, nodes } of violations) {
      if (!["serious", "critical"].includes(impact)) continue;
      fault(`${place}: axe ${id} (${nodes.length}): ${nodes[0].target} ${nodes[0].html.slice(0, 120)}`);
    }
    const options = screenshot(`${width}-${colours}`);
    if (options) await page.screenshot(options);
  }
}
