import assert from "node:assert/strict";
import { testOnDevices } from "../devices.ts";
import { computeSwept, sweptFunctions, worstOf } from "./float32_sweep.ts";

for (const fn of sweptFunctions(8)) {
  const bound = `${fn.ulp} units in the last place${fn.isAbsolute ? " of 1" : ""}`;
  testOnDevices(`float32 ${fn.name} is within ${bound} for all exponents`, async ({ info }) => {
    for (const where of ["eager", "loop"] as const) {
      const { ulp, at, found, expected } = worstOf(fn, await computeSwept(fn, where), info.kind === "webgpu");
      assert.ok(ulp <= fn.ulp, `${where}: ${ulp} units at ${at}: ${found}, expected ${expected}`);
    }
  });
}
