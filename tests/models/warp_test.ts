import { type DType, key, loadParameters, type Tensor, treeFlatten, valueAndGrad, WARP } from "../../mod.ts";
import { testOnDevices } from "../devices.ts";
import fixture from "../fixtures/warp.json" with { type: "json" };
import { assertClose, type Golden, read } from "../golden.ts";

type Case = typeof fixture.cases[number];

/** The model of a case, with the case's parameters. */
function modelOf(golden: Case, dtype: DType) {
  const [first, , last] = golden.root_layers;
  const model = WARP({
    inputChannels: golden.x.shape[2],
    outputChannels: last[1],
    root: { width: first[1], depth: 2, activation: golden.activation === "swish" ? "silu" : "relu" },
    key: key(0),
    dtype,
  });
  const layers = golden.initial_network.flatMap(({ weight, bias }, i): [string, Golden][] => [
    [`initial.layers.${i}.weight`, weight],
    [`initial.layers.${i}.bias`, bias],
  ]);
  const arrays: [string, Golden][] = [["A", golden.A], ["B", golden.B], ...layers];
  loadParameters(
    model.parameters,
    Object.fromEntries(arrays.map(([name, array]) => [name, read(array, dtype)])),
  );
  return model;
}

async function check(golden: Case, dtype: DType, tolerance: number) {
  const model = modelOf(golden, dtype);
  const x = read(golden.x, dtype);
  await assertClose("states", model.weights(x), golden.theta, tolerance);
  await assertClose("output", model(x), golden.y, tolerance);
  const [, gradient] = valueAndGrad(() => model(x).square().sum())(model.parameters);
  const found = new Map<string, Tensor>(treeFlatten(gradient));
  await assertClose("gradient of A", found.get("A")!, golden.grad_A, tolerance);
  await assertClose("gradient of B", found.get("B")!, golden.grad_B, tolerance);
}

for (const golden of fixture.cases) {
  const title = `${golden.mode} with ${golden.activation}, as transcribed from the paper`;
  Deno.test(`${title}, float64`, () => check(golden, "float64", 1e-9));
  testOnDevices(`${title}, float32`, () => check(golden, "float32", 1e-4));
}
