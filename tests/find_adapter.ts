/**
 * Prints the adapter of Deno's WebGPU as JSON, or `null`. It is a separate program, because Mesa's
 * OpenGL can crash a process at its exit.
 */
import { findAdapter } from "../src/device/webgpu/adapter.ts";

const found = await findAdapter("native");
console.log(JSON.stringify(
  found ? { description: found.description, openGl: found.openGl, software: found.software } : null,
));
