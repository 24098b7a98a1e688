/** Finds the program that runs Weft by its global names. */
import { browser } from "./browser.ts";
import { deno } from "./deno.ts";
import { node } from "./node.ts";
import type { Platform } from "./platform.ts";

const globals = globalThis as { Deno?: unknown; process?: { versions?: { node?: string } } };

/** The program that runs Weft. */
export const platform: Platform = globals.Deno
  ? deno()
  : globals.process?.versions?.node
  ? node()
  : browser();
