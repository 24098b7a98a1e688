/** The assembler of WebAssembly modules. */
import assert from "node:assert/strict";
import { below, fround, randomNumbers } from "./random_views.ts";
import { emitMultiplyAdd } from "../../src/device/cpu/assembler/multiply_add.ts";
import { type FunctionBuilder, ModuleBuilder } from "../../src/device/cpu/assembler/wasm.ts";
import { newMemory } from "../../src/device/cpu/runtime/wasm_memory.ts";

/** Assembles and runs a function without parameters. */
function assembleAndRun(result: "i32" | "f32" | "f64", fill: (f: FunctionBuilder) => void): number {
  const module = new ModuleBuilder();
  fill(module.addFunction("run", [], [result]));
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.toBytes()));
  return (exports.run as () => number)();
}

Deno.test("assembled constants keep their values", () => {
  const random = randomNumbers(18);
  const integers = [0, 1, -1, 63, 64, -64, -65, 127, 128, 8191, 8192, 2 ** 31 - 1, -(2 ** 31)];
  for (let i = 0; i < 200; i++) integers.push((random() - 0.5) * 2 ** below(random, 33) | 0);
  for (const value of integers) assert.equal(assembleAndRun("i32", (f) => f.i32(value)), value);
  for (const value of [0.1, -0, NaN, Infinity, 1e-310, 2 ** 60]) {
    assert.ok(Object.is(assembleAndRun("f64", (f) => f.f64(value)), value));
    assert.ok(Object.is(assembleAndRun("f32", (f) => f.f32(value)), fround(value)));
  }
});

Deno.test("assembled loops, branches and calls run correctly", () => {
  const module = new ModuleBuilder();
  const host = module.importFunction("env", "twice", ["f64"], ["f64"]);
  const f = module.addFunction("sumOfSquares", ["i32"], ["f64"]);
  const g = module.addFunction("square", ["i32"], ["i32"]);
  const [n] = f.params;
  const [i, sum] = [f.local("i32"), f.local("i32")];
  f.block((end) => {
    f.loop((again) => {
      f.branchIf(end, () => f.op("i32.ge_s", i, n));
      f.increment(sum, () => f.call(g, i));
      f.increment(i, 1);
      f.branch(again);
    });
  });
  f.if(() => f.op("i32.gt_s", sum, 100), () => f.i32(100), () => f.get(sum), "i32");
  f.op("f64.convert_i32_s");
  f.call(host);
  g.op("i32.mul", g.params[0], g.params[0]);
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.toBytes()), {
    env: { twice: (x: number) => 2 * x },
  });
  const run = exports.sumOfSquares as (n: number) => number;
  assert.deepEqual([0, 3, 5, 50].map(run), [0, 10, 60, 200]);
});

Deno.test("sums have the same values if the compiler delays arithmetic", () => {
  const bytes: Uint8Array[] = [];
  for (const is64 of [false, true]) {
    const results = [false, true].map((delaysArithmetic) => {
      const memory = newMemory(1, { is64, isShared: true });
      const module = new ModuleBuilder(is64, 1, delaysArithmetic);
      module.importMemory("env", "memory");
      const f = module.addFunction("dot", ["address", "i32"], ["f32"]);
      const [address, n] = f.params;
      const sums = f.locals("v128", 2);
      f.while(n, () => {
        for (const [i, sum] of sums.entries()) {
          const load = (offset: number) => () => f.load("v128.load", address, 16 * i + offset);
          f.set(sum, () => emitMultiplyAdd(f, "f32x4", load(0), load(32), sum));
        }
        f.increment(address, 64);
        f.increment(n, -1);
      });
      f.lane("f32x4.extract_lane", 3, () => f.op("f32x4.sub", ...sums));
      bytes.push(module.toBytes());
      new Float32Array(memory.buffer).forEach((_, i, values) => values[i] = Math.sin(i));
      const { exports } = new WebAssembly.Instance(new WebAssembly.Module(module.toBytes()), {
        env: { memory },
      });
      return (exports.dot as (address: number | bigint, n: number) => number)(is64 ? 64n : 64, 50);
    });
    assert.ok(Math.abs(results[0]) > 0.1);
    assert.equal(results[0], results[1]);
  }
  const branches = bytes.map((module) => module.filter((byte) => byte === 0x0d).length); // br_if
  assert.deepEqual([branches[1] - branches[0], branches[3] - branches[2]], [1, 1]);
});

Deno.test("a body of 100,000 instructions is assembled in less than a second", () => {
  const start = performance.now();
  const value = assembleAndRun("i32", (f) => {
    const sum = f.local("i32");
    for (let i = 0; i < 25_000; i++) f.set(sum, () => f.op("i32.add", sum, i));
    f.get(sum);
  });
  assert.equal(value, 25_000 * 24_999 / 2);
  assert.ok(performance.now() - start < 1000);
});
