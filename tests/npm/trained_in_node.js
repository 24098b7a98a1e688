/** Checks trained models in Node, from the files of the folder `trained`. */
import { readFile } from "node:fs/promises";
import { openTrained } from "@weft/weft/series";
import { checkTrained } from "./trained.js";

const read = (name) => readFile(`trained/${name}`);
console.log(`Node ${process.versions.node}: ${await checkTrained(openTrained, read)}`);
