import assert from "node:assert/strict";
import { speedHint } from "../../src/commands/speed_hint.ts";
import { zeros } from "../../mod.ts";

const cpu = { kind: "cpu", arithmetic: { vectors: "128 bits", "large products": "Weft" } } as const;
const narrow = { weight: zeros([256, 64]) };
const wide = { weight: zeros([256, 300]) };

Deno.test("the hint names V8's switches on an x86-64 CPU, and their cost", () => {
  const hint = speedHint(cpu, narrow, "x86_64")!;
  assert.match(hint, /DENO_V8_FLAGS=--experimental-wasm-revectorize,--no-wasm-bounds-checks/);
  assert.match(hint, /address checks are off/);
  assert.doesNotMatch(hint, /blas/);
});

Deno.test("the hint names a BLAS for weights with at least 256 rows and columns", () => {
  assert.match(speedHint(cpu, wide, "aarch64")!, /^for faster training, use a native BLAS with --blas auto/);
});

Deno.test("there is no hint if nothing would help", () => {
  const fast = { ...cpu, arithmetic: { vectors: "256 bits", "large products": "OpenBLAS" } };
  assert.equal(speedHint(fast, wide, "x86_64"), undefined);
  assert.equal(speedHint(cpu, narrow, "aarch64"), undefined);
  assert.equal(speedHint({ ...cpu, kind: "webgpu" }, wide, "x86_64"), undefined);
});
