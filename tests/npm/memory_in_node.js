// Trains a Neural CDE eagerly for 400 steps, and checks that the memory of the process stays within twice that after ten steps.
import assert from "node:assert/strict";
import { Adam, CubicSpline, init, key, naturalCubicCoeffs, NeuralCDE, normal, valueAndGrad } from "@weft/weft";

await init({ device: "cpu" });
const times = [0, 0.4, 0.5, 1.3, 2, 2.1, 3.7, 4];
const coeffs = naturalCubicCoeffs(normal(key(0), [64, times.length, 3]), times);
const model = NeuralCDE({ inputChannels: 3, hiddenChannels: 8, outputChannels: 1, width: 16, depth: 1, key: key(1) });
const optimizer = Adam(model.parameters, { learningRate: 0.002 });
const loss = () => model(CubicSpline(coeffs, times)).square().mean();

const megabytes = () => process.memoryUsage().rss / 2 ** 20;
let atTen = 0, most = 0;
for (let step = 1; step <= 400; step++) {
  const [value, gradients] = valueAndGrad(loss)(model.parameters);
  optimizer.step(gradients);
  await value.item();
  if (step === 10) atTen = megabytes();
  if (step >= 10) most = Math.max(most, megabytes());
}
assert.ok(most < 2 * atTen, `${most.toFixed(0)} MiB, after ten steps ${atTen.toFixed(0)} MiB`);
console.log(`memory in Node ${process.versions.node}: ${(most / atTen).toFixed(2)} times that after ten steps`);
