import assert from "node:assert/strict";
import {
  type Activation,
  type DType,
  key,
  loadParameters,
  type Tensor,
  tensor,
  treeFlatten,
  valueAndGrad,
  WARP,
} from "../../mod.ts";
import { type Feeding, type RollOut, rollOut } from "../../src/models/warp/autoregressive.ts";
import type { Dynamics } from "../../src/models/warp/dynamics.ts";
import { rollOutByConvolution } from "../../src/models/warp/feeding_by_convolution.ts";
import { makeReadout, type Readout } from "../../src/models/warp/readout.ts";
import { makeTransition } from "../../src/models/warp/transition.ts";
import { times } from "../../src/models/warp/call.ts";
import { hardwareOnly, testOnCpu, testOnDevices } from "../devices.ts";
import fixture from "../fixtures/warp_autoregressive.json" with { type: "json" };
import { assertClose, read, valuesOf } from "../golden.ts";

type Case = typeof fixture.cases[number];

/** The options of a case's model. */
function optionsOf({ activation, root, output, least_deviation, dynamic_tanh, clip_weights }: Case) {
  return {
    inputChannels: 2,
    outputChannels: 2,
    root: {
      width: root.width,
      depth: root.depth,
      activation: (activation === "swish" ? "silu" : activation) as Activation,
    },
    output: output as "values" | "normal",
    leastDeviation: least_deviation ?? 1e-4,
    bound: dynamic_tanh ?? undefined,
    clipWeights: clip_weights ?? undefined,
  };
}

type Feed = (dynamics: Dynamics, readout: Readout, feeding: Feeding) => RollOut;

async function check(golden: Case, feed: Feed, dtype: DType, tolerance: number) {
  const { clipWeights, ...design } = optionsOf(golden);
  const readout = makeReadout({ ...design, dtype });
  const transition = makeTransition("dense", readout.root.size, key(0), dtype);
  transition.first.assign(read(golden.A, dtype));
  const [B, theta] = [read(golden.B, dtype), read(golden.theta_0, dtype)];
  const x = read(golden.x, dtype);
  const dynamics = { transition, input: B, clip: clipWeights };
  const run = () =>
    feed(dynamics, readout, {
      start: theta.expandDims(0).broadcastTo([x.shape[0], theta.size]),
      x,
      usesObservation: tensor(golden.given, { dtype: "int32" }).equal(1).expandDims(2),
      noise: golden.noise ? read(golden.noise, dtype) : undefined,
      tau: times(x.shape[1], dtype),
    }).y;
  await assertClose("output", run(), golden.y, tolerance);
  const loss = () => run().mul(read(golden.weights, dtype)).sum();
  const [, gradients] = valueAndGrad(loss)([transition.first, B, theta]);
  const [ofA, ofB, ofTheta] = gradients as Tensor[];
  const rows = Array.from({ length: golden.grad_A_rows.shape[0] }, (_, i) => 4 * i);
  await assertClose(
    "gradient of A",
    ofA.take(tensor(rows, { dtype: "int32" }), 0),
    golden.grad_A_rows,
    tolerance,
  );
  await assertClose("gradient of A, summed", ofA.sum(0), golden.grad_A_sum, tolerance);
  await assertClose("gradient of B", ofB, golden.grad_B, tolerance);
  // The code clips A A^-1 theta_0. For an element at the bound, rounding decides on which side it lies.
  const isInside = Array.from(
    valuesOf(golden.theta_0),
    (value) => Math.abs(value) < (clipWeights ?? Infinity),
  );
  const expected = Array.from(valuesOf(golden.grad_theta_0), (value, i) => isInside[i] ? value : 0);
  await assertClose(
    "gradient of theta_0",
    tensor(isInside).where(ofTheta, 0),
    { ...golden.grad_theta_0, data: expected },
    tolerance,
  );
}

for (const [i, golden] of fixture.cases.entries()) {
  const title = `case ${i} of the authors' code for feeding (${golden.activation}, ${golden.output}), ` +
    "WARP gives its outputs and gradients";
  // If a kernel takes seconds to compile, only one case for each kind of output.
  const options = i === 0 || i === 4 ? {} : hardwareOnly;
  testOnCpu(`${title} in float64`, () => check(golden, rollOut, "float64", 1e-9));
  testOnDevices(`${title} in float32`, options, () => check(golden, rollOut, "float32", 1e-4));
  if (golden.clip_weights !== null) continue;
  const byConvolution: Feed = (...args) => rollOutByConvolution(...args, 3);
  testOnCpu(`${title} by convolution in float64`, () => check(golden, byConvolution, "float64", 1e-9));
  testOnDevices(
    `${title} by convolution in float32`,
    options,
    () => check(golden, byConvolution, "float32", 1e-4),
  );
}

for (const [i, isAll] of [[0, true], [1, false]] as const) {
  testOnCpu(`WARP agrees with case ${i}, fed ${isAll ? "all" : "no"} observations`, async () => {
    const golden = fixture.cases[i];
    const model = WARP({ ...optionsOf(golden), initial: "learned", key: key(0), dtype: "float64" });
    const values = { A: golden.A, B: golden.B, "initial.theta": golden.theta_0 };
    loadParameters(
      model.parameters,
      Object.fromEntries(Object.entries(values).map(([name, array]) => [name, read(array, "float64")])),
    );
    assert.deepEqual(treeFlatten(model.parameters).map(([name]) => name).sort(), Object.keys(values).sort());
    const x = read(golden.x, "float64");
    await assertClose("output", model(x, { context: isAll ? x.shape[1] : 1 }), golden.y, 1e-9);
  });
}
