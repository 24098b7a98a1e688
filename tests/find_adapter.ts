/**
 * Prints the adapter of Deno's WebGPU as JSON, or `null`. A program of its own: Mesa's OpenGL can crash a
 * process that has used it at its exit, and then nothing is lost.
 */
import { findAdapter } from "../src/device/webgpu/adapter.ts";

const found = await findAdapter("native");
console.log(JSON.stringify(
  found ? { description: found.description, openGl: found.openGl, software: found.software } : null,
));
