import assert from "node:assert/strict";
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
  for (const gradient of w.leaves(gradients)) console.log((await gradient.data()).join());
`;

Deno.test({
  name: "vectors in pairs give the numbers of single ones",
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
