import assert from "node:assert/strict";
import { hotShare, parseCode, shadersOf } from "../../bench/gpu_code.ts";
import { machines } from "../../bench/plans/machines.ts";
import { prepare } from "../../bench/workloads.ts";
import { currentDevice, setCurrentDevice } from "../../src/device/current.ts";

Deno.test("figures of a compiler are read with the blocks of each shader", () => {
  const rows = parseCode(
    "NAVI21",
    `one 16 loop.wgsl main: 793 instructions, 1928 cycles, 40 registers, 0 spilled, 4096 bytes shared, 24 waves
    BB12: 19 multiply-adds of 45 instructions (42 %), 10 reads of shared memory, 2 loads, 5 waits
    BB3: 4 multiply-adds of 63 instructions (6 %), 9 reads of shared memory, 0 loads, 9 waits
two.wgsl main: 11 instructions, 43 cycles, 8 registers, 0 spilled, 0 bytes shared, 32 waves
`,
  );
  assert.equal(rows.length, 2);
  const [{ blocks, ...first }, second] = rows;
  assert.deepEqual(first, {
    family: "NAVI21",
    shader: "one 16 loop main",
    instructions: 793,
    cycles: 1928,
    registers: 40,
    spilled: 0,
    sharedBytes: 4096,
    waves: 24,
  });
  assert.deepEqual(blocks[0], { multiplyAdds: 19, instructions: 45, sharedReads: 10, loads: 2, waits: 5 });
  assert.deepEqual([hotShare(rows[0]), hotShare(second)], [19 / 45, 0]);
  assert.throws(() => parseCode("NAVI21", "one.wgsl main: failed: 1"), /no line of figures/);
});

Deno.test("the shaders of a step are those that a GPU would receive", () => {
  const before = currentDevice();
  try {
    const shaders = shadersOf(() => prepare("ncde-character-direct@2x5"), machines.h100);
    const loops = [...shaders].filter(([name]) => name.startsWith("loop-"));
    assert.deepEqual(loops.map(([name]) => name), ["loop-1", "loop-2"]);
    for (const [, code] of loops) assert.match(code, /@compute/);
  } finally {
    setCurrentDevice(before);
  }
});
