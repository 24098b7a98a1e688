/** Checks trained models in Node or Bun, from the files of the folder `trained`. */
import { readFile } from "node:fs/promises";
import { openTrained } from "@weft/weft/series";
import { checkTrained } from "./trained.js";

const read = (name) => readFile(`trained/${name}`);
const { bun, node } = process.versions;
// Bun rounds a multiplication and addition of WebAssembly twice, and V8 once.
const checked = await checkTrained(openTrained, read, bun ? 1e-5 : 0);
console.log(`${bun ? `Bun ${bun}` : `Node ${node}`}: ${checked}`);
