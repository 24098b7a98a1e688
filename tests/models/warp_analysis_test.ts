import assert from "node:assert/strict";
import {
  gradientDescentPath,
  key,
  linspace,
  normal,
  principalComponents,
  readoutMatrix,
  sinePhase,
  stack,
  timeCorrelation,
  WARP,
} from "../../mod.ts";
import { testOnDevices } from "../devices.ts";
import { disturbed, dtype, largestDifference, small, x } from "./warp_model.ts";

Deno.test("the correlation of weights with time is Pearson's, over all series and steps", async () => {
  const tau = linspace(0, 1, 5, { dtype });
  const weights = stack([tau, tau.mul(-2).add(3), tau.mul(0).add(7), tau.square()], 1);
  const states = stack([weights, weights.add(1)], 0); // the series differ by a constant
  const found = await timeCorrelation(states).data();
  // The correlation of t in both series, and of t + 1 in one of them, computed by hand.
  const pearson = (values: number[]) => {
    const times = [...Array(2)].flatMap(() => [0, 0.25, 0.5, 0.75, 1]);
    const centre = (all: number[]) => all.map((value) => value - all.reduce((a, b) => a + b) / all.length);
    const [a, b] = [centre(values), centre(times)];
    const sum = (f: (i: number) => number) => a.reduce((total, _, i) => total + f(i), 0);
    return sum((i) => a[i] * b[i]) / Math.sqrt(sum((i) => a[i] ** 2) * sum((i) => b[i] ** 2));
  };
  for (const k of [0, 1, 3]) {
    const series = (await states.select(2, k).data()) as Float64Array;
    assert.ok(Math.abs(found[k] - pearson([...series])) < 1e-12, `${k}: ${found[k]}`);
  }
  const constant = await timeCorrelation(stack([weights], 0)).data();
  assert.ok(Math.abs(constant[0] - 1) < 1e-12 && Math.abs(constant[1] + 1) < 1e-12 && constant[2] === 0);
  assert.throws(() => timeCorrelation(weights), /expected \(batch, T, D\)/);
});

Deno.test("the diagonal of the read-out matrix equals the model's outputs", async () => {
  for (const design of [{}, { physics: sinePhase(2) }]) {
    const model = disturbed(design);
    const matrix = readoutMatrix(model, model.weights(x).select(0, 1), x.select(0, 1).select(0, 0));
    assert.deepEqual(matrix.shape, [7, 7, 2]);
    const diagonal = stack(Array.from({ length: 7 }, (_, t) => matrix.select(0, t).select(0, t)), 0);
    assert.ok(await largestDifference(diagonal, model(x).select(0, 1)) < 1e-14);
    // The second row belongs to another state. Off the diagonal it is that state at another time.
    const other = model.decode(model.weights(x).select(0, 1).select(0, 2), 1);
    assert.ok(await largestDifference(matrix.select(0, 2).select(0, 6), other) < 1e-14);
  }
});

Deno.test("the matrix A is returned as a dense matrix for every form of A", async () => {
  const forms = ["dense", "diagonal", "planes", { blocks: 2 }, { rank: 4 }, {
    diagonal: "planes",
    rank: 2,
  }] as const;
  for (const transition of forms) {
    const model = disturbed({ transition });
    model.parameters.B.assign(model.parameters.B.mul(0));
    const states = model.weights(x);
    const expected = states.slice(1, 0, -1).matmul(model.transitionMatrix().mT);
    assert.ok(await largestDifference(states.slice(1, 1), expected) < 1e-13, JSON.stringify(transition));
  }
});

testOnDevices("principal components are the directions of the largest variance", async () => {
  // Points on known orthogonal directions, with standard deviations of 5, 2 and 0.1.
  const [a, b] = [normal(key(1), [400, 1]), normal(key(2), [400, 1])];
  const directions = [[0.6, 0.8, 0], [0.8, -0.6, 0]];
  const along = (values: typeof a, scale: number, [p, q, r]: number[]) =>
    stack([values.mul(scale * p), values.mul(scale * q), values.mul(scale * r)], 2).squeeze(1);
  const points = along(a, 5, directions[0]).add(along(b, 2, directions[1])).add(
    normal(key(3), [400, 3]).mul(0.1),
  );
  const { components, shares, project, mean } = principalComponents(points);
  const found = await components.toArray() as number[][];
  directions.forEach((direction, i) => {
    const cosine = direction.reduce((sum, value, k) => sum + value * found[i][k], 0);
    assert.ok(Math.abs(cosine) > 0.998, `${i}: ${cosine}`);
  });
  const [first, second] = await shares.data();
  assert.ok(first > 0.8 && second > 0.1 && first + second <= 1.0001 && first + second > 0.99);
  // Only the third direction is lost.
  const back = project(points).matmul(components).add(mean);
  assert.ok(await back.sub(points).abs().max().item() < 0.5);
  assert.throws(
    () => principalComponents(normal(key(0), [1, 5])),
    /2 components of points of shape \(1, 5\)/,
  );
});

Deno.test("gradient descent on the root network lowers its error on the series", async () => {
  const model = WARP({ ...small, root: { width: 8, depth: 1, activation: "tanh" }, key: key(0), dtype });
  const series = x.select(0, 0);
  const path = gradientDescentPath(model, series, { steps: 200, learningRate: 0.1 });
  assert.deepEqual(path.shape, [201, model.stateSize]);
  assert.equal(await largestDifference(path.select(0, 0), model.weights(x).select(0, 0).select(0, 0)), 0);
  const tau = linspace(0, 1, 7, { dtype }).slice(0, 0, 6).expandDims(1);
  const errorAt = async (step: number) => {
    const every = path.select(0, step).expandDims(0).broadcastTo([6, model.stateSize]);
    return await model.decode(every, tau).sub(series.slice(0, 1)).square().mean().item();
  };
  const errors = [await errorAt(0), await errorAt(20), await errorAt(200)];
  assert.ok(errors[1] < errors[0] && errors[2] < errors[1], `${errors}`);
  // A step follows the negative gradient, by central differences of the error along it.
  const moved = path.select(0, 1).sub(path.select(0, 0));
  const slope = (errors[0] - await errorAt(1)) / 0.1;
  const square = await moved.div(0.1).square().sum().item();
  assert.ok(Math.abs(slope / square - 1) < 0.2, `${slope}, ${square}`);
});

Deno.test("gradient descent fits a root network that reads the input", async () => {
  const model = disturbed({ root: { ...small.root, previousInput: true } });
  const path = gradientDescentPath(model, x.select(0, 0), { steps: 1, learningRate: 0.1 });
  assert.ok(Number.isFinite(await path.sum().item()));
});
