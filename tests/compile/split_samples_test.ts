import assert from "node:assert/strict";
import {
  CubicSpline,
  deltaRule,
  FastWeightCDE,
  key,
  type LearningRule,
  naturalCubicCoeffs,
  normal,
  scan,
  type Tensor,
  valueAndGrad,
} from "../../mod.ts";
import { withExecutors } from "../../src/compile/executors/choose_executor.ts";
import type { Executor, Run, RunResult } from "../../src/compile/executors/run.ts";
import { runOnCpu } from "../../src/compile/executors/wasm/run_on_cpu.ts";
import type { Program } from "../../src/compile/program/program.ts";
import { splitSamples } from "../../src/compile/program/passes/split_samples.ts";
import type { CpuDevice } from "../../src/device/cpu/device.ts";
import { makeContiguous } from "../../src/device/view.ts";
import { testOnCpu } from "../devices.ts";

type Watch = (run: Run) => void;

/** Calls `watch` with each loop, whose samples are whole. Products of the slow network run before it, as on a GPU. */
function watchLoops(watch: Watch, body: () => void): void {
  const asOnGpu = (executor: Executor): Executor => {
    const execute = (run: Run) => {
      watch(run);
      return executor(run);
    };
    const whole = (program: Program) => ({ program, parts: 1 });
    return Object.assign(execute, executor, { keepsProducts: false, splitSamples: whole });
  };
  withExecutors(asOnGpu, body);
}

/** The loops of a model of fast weights and its gradient. The matrices of three heads have 4 rows and columns. */
function watchFastWeights(rule: LearningRule, watch: Watch): void {
  const X = CubicSpline(naturalCubicCoeffs(normal(key(0), [5, 6, 2])));
  const model = FastWeightCDE({
    inputChannels: 2,
    modelDim: 12,
    heads: 3,
    outputChannels: 1,
    rule,
    key: key(1),
  });
  watchLoops(watch, () => void valueAndGrad(() => model(X).square().mean())(model.parameters));
}

const valuesOf = ({ finals, outputs, sums }: RunResult, device: CpuDevice) =>
  device.read([...finals, ...outputs, ...sums].map((view) => makeContiguous(device, view)));

testOnCpu(
  "heads of fast weights are independent: their loops have the same results, bit for bit",
  async (device) => {
    const cpu = device as CpuDevice;
    const results: ReturnType<typeof valuesOf>[] = [];
    watchFastWeights(deltaRule(), (run) => {
      const { program, parts } = splitSamples(run.program);
      assert.equal(parts, 3);
      assert.deepEqual(program.next.map(({ shape }) => shape), [[1, 1, 4, 4]]);
      results.push(valuesOf(runOnCpu(cpu, { ...run, program, batch: run.batch * parts }), cpu));
      results.push(valuesOf(runOnCpu(cpu, run), cpu));
    });
    const [splitForward, forward, splitBackward, backward] = await Promise.all(results);
    assert.deepEqual(splitForward, forward);
    assert.deepEqual(splitBackward, backward);
  },
);

/** Each head forgets a part of the mean of all heads. */
const mixing: LearningRule = (signals, w) => {
  const change = deltaRule()(signals, w);
  return w ? change.sub(w.mean(-3, { keepDims: true }).mul(0.1)) : change;
};

testOnCpu("heads that read each other stay in one sample", () => {
  watchFastWeights(mixing, ({ program }) => assert.deepEqual(splitSamples(program), { program, parts: 1 }));
});

testOnCpu("samples whose gradients of weights are sums over samples stay whole", () => {
  const [w, y] = [normal(key(0), [3]), normal(key(1), [4, 2, 3])];
  const decay = (y: Tensor, rate: Tensor): [Tensor, Tensor] => [y.sub(y.mul(w).mul(rate)), rate];
  const solve = (w: Tensor) => scan(decay, y.mul(w), normal(key(2), [5]))[0].sum();
  const parts: number[] = [];
  watchLoops(
    ({ program }) => parts.push(splitSamples(program).parts),
    () => void valueAndGrad(solve)(w),
  );
  assert.deepEqual(parts, [2, 1]);
});
