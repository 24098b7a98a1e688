/** Memory of slots: slots that are live at the same time must not share memory. */
import assert from "node:assert/strict";
import { scan, type Tensor, zeros } from "../../mod.ts";
import { observeLoops } from "../../src/compile/loop/graph_loop.ts";
import { layOut, shareArrays } from "../../src/compile/program/layout.ts";
import {
  accessesOf,
  type Lifetime,
  lifetimesInStep,
  lifetimesOf,
} from "../../src/compile/program/liveness.ts";
import type { Operand, Program } from "../../src/compile/program/program.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { cpu } from "../devices.ts";

/** The program of a step with many intermediate values. */
function program(): Program {
  setCurrentDevice(cpu);
  const weight = zeros([6, 6]);
  const step = (h: Tensor, x: Tensor): [Tensor, Tensor] => {
    let y = h.add(x);
    for (let i = 0; i < 4; i++) y = y.matmul(weight).sin().add(y.slice(1, 0, 3).sum(1, { keepDims: true }));
    return [y, y.max(1)];
  };
  let found!: Program;
  observeLoops((_loop, run) => found = run.program, () => scan(step, zeros([3, 6]), zeros([2, 3, 6])));
  return found;
}

/** Pairs of slots that are live at the same time. */
function overlapping(lifetimes: ReadonlyMap<number, Lifetime>): [a: number, b: number][] {
  const list = [...lifetimes];
  return list.flatMap(([a, x], i) =>
    list.slice(i + 1).flatMap(([b, y]): [number, number][] =>
      x.first <= y.last && y.first <= x.last ? [[a, b]] : []
    )
  );
}

Deno.test("slots that are live at the same time have disjoint memory, and others share memory", () => {
  const { slots, ...rest } = program();
  const { offsets, size } = layOut({ slots, ...rest });
  const lifetimes = lifetimesInStep({ slots, ...rest });
  for (const [a, b] of overlapping(lifetimes)) {
    const [x, y] = [offsets[a]!, offsets[b]!];
    assert.ok(x + slots[a].size <= y || y + slots[b].size <= x, `slots ${a} and ${b} at ${x} and ${y}`);
  }
  const separate = [...lifetimes.keys()].reduce((sum, slot) => sum + slots[slot].size, 0);
  assert.ok(size < separate, `${size} elements, ${separate} if no slots shared memory`);
});

Deno.test("slots that are live at the same time have different arrays, and others share arrays", () => {
  const found = program();
  const lifetimes = lifetimesInStep(found);
  const arrays = shareArrays(found.slots, lifetimes);
  for (const [a, b] of overlapping(lifetimes)) assert.notEqual(arrays.get(a), arrays.get(b), `${a} and ${b}`);
  assert.ok(new Set(arrays.values()).size < lifetimes.size);
});

Deno.test("every access of a slot is within its lifetime", () => {
  const found = program();
  const lifetimes = lifetimesInStep(found);
  found.kernels.forEach((kernel, time) => {
    for (const { slot } of accessesOf(kernel)) {
      if (slot === undefined) continue;
      const { first, last } = lifetimes.get(slot)!;
      assert.ok(first <= time && time <= last, `slot ${slot} at ${time}, live from ${first} to ${last}`);
    }
  });
});

Deno.test("lifetimes count groups of kernels, and results are read after the last group", () => {
  const operand = (slot: number): Operand => ({
    slot,
    dtype: "float32",
    shape: [1],
    strides: [1],
    offset: 0,
  });
  const kernel = (reads: number[], output: number) => ({
    operands: reads.map(operand),
    output: operand(output),
  });
  const groups = [[kernel([0], 1), kernel([1], 2)], [kernel([2], 3)]];
  assert.deepEqual(
    lifetimesOf(groups, [0], [operand(3)]),
    new Map([
      [0, { first: -1, last: Infinity }],
      [1, { first: 0, last: 0 }],
      [2, { first: 0, last: 1 }],
      [3, { first: 1, last: 2 }],
    ]),
  );
});
