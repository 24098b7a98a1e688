/** Replaces `current.ts` in applications for browsers: see `replacedInBrowsers` in `tasks/pack.ts`. */
import { browser } from "./browser.ts";
import type { Platform } from "./platform.ts";

/** The browser that runs Weft. */
export const platform: Platform = browser();
