import assert from "node:assert/strict";
import type { MemoryKind } from "../../src/platform/platform.ts";
import { type VectorEvidence, vectorsPerRegisterOf } from "../../src/platform/vectors_per_register.ts";
import { runProgram } from "../run_program.ts";

const program = `
  import * as w from "./mod.ts";
  console.log((await w.init({ device: "cpu" })).info.description.includes("vectors in pairs"));
  for (const [m, k, n] of [[1, 9, 70], [2, 300, 37], [7, 643, 513], [40, 130, 100], [300, 400, 333]]) {
    const [a, b] = [[m, k], [k, n]].map((shape, i) => w.normal(w.key(i), shape));
    for (const right of [b, b.transpose().add(0).transpose()]) console.log((await a.matmul(right).data()).join());
  }
  const x = w.normal(w.key(2), [37, 9, 3]);
  const X = w.CubicSpline(w.naturalCubicCoeffs(x.greater(1).where(NaN, x)));
  const model = w.NeuralCDE({ inputChannels: 3, hiddenChannels: 24, outputChannels: 2, width: 20, depth: 1, key: w.key(3) });
  const gradients = w.grad(() => model(X).sum())(model.parameters);
  for (const gradient of w.treeLeaves(gradients)) console.log((await gradient.data()).join());
`;

Deno.test({
  name: "256-bit vectors give the same results as 128-bit vectors",
  ignore: Deno.build.arch !== "x86_64",
  fn: async () => {
    const switches = [
      "--no-experimental-wasm-revectorize",
      "--experimental-wasm-revectorize,--no-wasm-bounds-checks",
    ];
    const [single, pairs] = await Promise.all(
      switches.map((DENO_V8_FLAGS) =>
        runProgram(program, ["--allow-env=DENO_V8_FLAGS"], { env: { DENO_V8_FLAGS } })
      ),
    );
    assert.deepEqual([single.code, pairs.code], [0, 0], pairs.stderr);
    const [[before, ...expected], [after, ...found]] = [single, pairs].map(({ stdout }) =>
      stdout.split(/[\n,]/)
    );
    assert.deepEqual([before, after, found.length], ["false", "true", expected.length]);
    expected.forEach((value, i) =>
      assert.ok(Math.abs(Number(found[i]) - Number(value)) < 1e-4, `${found[i]}, ${value}`)
    );
  },
});

const [join, unchecked] = ["--experimental-wasm-revectorize", "--no-wasm-bounds-checks"];

Deno.test("the register width follows the engine's effective settings only", () => {
  const cases: [expected: 1 | 2, evidence: Partial<VectorEvidence & MemoryKind>][] = [
    [1, {}],
    // In an executable the environment variable has no effect: the engine checks addresses regardless.
    [1, { variable: `${join},${unchecked}`, isStandalone: true }],
    [1, { variable: `${join},${unchecked}` }],
    [1, { variable: join }],
    [2, { variable: `${join},${unchecked}`, checksAddresses: false }],
    [2, { variable: `${unchecked},--no-liftoff,${join}`, checksAddresses: false }],
    [2, { variable: "--experimental_wasm_revectorize,--nowasm_bounds_checks", checksAddresses: false }],
    [1, { variable: unchecked, checksAddresses: false }],
    [1, { variable: `${join},${unchecked},--no-experimental-wasm-revectorize`, checksAddresses: false }],
    [1, { variable: `${join},${unchecked}`, checksAddresses: false, arch: "aarch64" }],
    // Switches on the command line, in an executable, or in an environment without read permission.
    [2, { checksAddresses: false }],
    [2, { variable: join, checksAddresses: false }],
    [2, { variable: "--expose-gc", checksAddresses: false }],
    [2, { variable: unchecked, checksAddresses: false, isStandalone: true }],
    // An engine without 64-bit addresses.
    [1, { variable: `${join},${unchecked}`, checksAddresses: undefined }],
    [1, { checksAddresses: undefined }],
    // Traps check the addresses: no code does, in a memory with 32-bit addresses. V8 combines no vectors of a shared memory.
    [2, { variable: join, trapsAddresses: true, is64: false, isShared: false }],
    [1, {
      ...{ variable: join, trapsAddresses: true, is64: false, isShared: false },
      checksAddresses: undefined,
    }],
    [1, { variable: join, trapsAddresses: true, is64: true, isShared: false }],
    [1, { variable: join, trapsAddresses: true, is64: false, isShared: true }],
    [1, { variable: join, trapsAddresses: false, is64: false, isShared: false }],
    [1, { variable: `--no-${join.slice(2)}`, trapsAddresses: true, is64: false, isShared: false }],
    [1, { trapsAddresses: true, is64: false, isShared: false }],
    [1, { variable: join, trapsAddresses: true, is64: false, isShared: false, arch: "aarch64" }],
  ];
  for (const [expected, evidence] of cases) {
    const all = {
      arch: "x86_64",
      checksAddresses: true,
      variable: undefined,
      isStandalone: false,
      trapsAddresses: false,
      ...{ is64: true, isShared: true },
      ...evidence,
    };
    assert.equal(vectorsPerRegisterOf(all, all), expected, JSON.stringify(evidence));
  }
});

Deno.test({
  name: "V8's switches are noticed on the command line too, and without a permission",
  ignore: Deno.build.arch !== "x86_64",
  fn: async () => {
    const program = `
      import { platform } from "./src/platform/current.ts";
      console.log(platform.vectorsPerRegister({ is64: true, isShared: true }));
    `;
    const both = `${join},${unchecked}`;
    // The test process may already have switches, and V8 rejects an empty string.
    const other = "--expose-gc";
    const cases: [expected: number, args: string[], DENO_V8_FLAGS: string][] = [
      [2, [`--v8-flags=${both}`], other],
      [2, [`--v8-flags=${both},--no-liftoff`], other],
      [1, [`--v8-flags=${join}`], other],
      [2, [], both],
      [2, ["--allow-env=DENO_V8_FLAGS"], both],
      [1, ["--allow-env=DENO_V8_FLAGS"], unchecked],
      // Without the second switch V8 does not combine vectors.
      [1, ["--allow-env=DENO_V8_FLAGS"], join],
      [1, [], other],
    ];
    for (const [expected, args, DENO_V8_FLAGS] of cases) {
      const { stdout, stderr } = await runProgram(program, args, { env: { DENO_V8_FLAGS } });
      assert.equal(stdout, `${expected}\n`, `${args} ${DENO_V8_FLAGS} ${stderr}`);
    }
  },
});
