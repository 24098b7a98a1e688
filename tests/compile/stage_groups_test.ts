import assert from "node:assert/strict";
import {
  CubicSpline,
  key,
  naturalCubicCoeffs,
  normal,
  odeint,
  scan,
  type Tensor,
  valueAndGrad,
} from "../../mod.ts";
import { withExecutors } from "../../src/compile/executors/choose_executor.ts";
import { observeLoops } from "../../src/compile/loop/graph_loop.ts";
import { evaluateStages, groupsOf } from "../../src/compile/loop/stage_groups.ts";
import { testOnCpu } from "../devices.ts";

const dtype = "float64";

/** Runs `body` with products before the loop, as on a GPU. Returns the sizes of the groups of each loop. */
function groupSizes(body: () => void): number[][] {
  const sizes: number[][] = [];
  withExecutors(
    (executor) =>
      Object.assign((run: Parameters<typeof executor>[0]) => executor(run), executor, {
        keepsProducts: false,
        evaluateHoisted: evaluateStages,
      }),
    () =>
      observeLoops(
        ({ hoistedLoop }) => sizes.push(groupsOf(hoistedLoop).map(({ length }) => length)),
        body,
      ),
  );
  return sizes;
}

/** Compares a loss and its gradient, compiled with products before the loop, with a loop that runs step by step. */
async function check<T extends Record<string, Tensor>>(
  loss: (compile: boolean) => Tensor,
  parameters: T,
  look: (sizes: readonly number[]) => void,
): Promise<void> {
  const run = (compile: boolean) => {
    const [value, gradients] = valueAndGrad(() => loss(compile))(parameters);
    return [value, ...Object.values(gradients)] as Tensor[];
  };
  let found: Tensor[] = [];
  const [forward] = groupSizes(() => found = run(true));
  look(forward);
  for (const [i, expected] of run(false).entries()) {
    const error = found[i].sub(expected).abs().max().div(expected.abs().max());
    assert.ok(await error.item() < 1e-12, `result ${i}`);
  }
}

testOnCpu("equal operations of the stages of a step are one operation, with the same gradient", async () => {
  const X = CubicSpline(naturalCubicCoeffs(normal(key(0), [2, 5, 3], { dtype })));
  const parameters = {
    control: normal(key(1), [3, 4], { dtype }),
    state: normal(key(2), [4, 4], { dtype, standardDeviation: 0.3 }),
    start: normal(key(3), [2, 4], { dtype }),
  };
  const field = (t: Tensor, z: Tensor) =>
    z.matmul(parameters.state).add(X.evaluate(t).matmul(parameters.control).tanh()).tanh();
  const loss = (compile: boolean) =>
    odeint(field, parameters.start, X.interval, { method: "rk4", stepSize: 1, compile }).select(0, -1)
      .square().mean();
  await check(loss, parameters, (sizes) => assert.ok(sizes.includes(4), `groups of ${sizes}`));
});

testOnCpu("operations that mix the stages of a step are separate", async () => {
  const parameters = {
    p: normal(key(0), [6], { dtype }),
    q: normal(key(1), [6], { dtype }),
    w: normal(key(2), [2, 3], { dtype }),
    y: normal(key(3), [2, 3], { dtype }),
  };
  const { p, q, w, y } = parameters;
  const body = (y: Tensor, [p, q]: Tensor[]): [Tensor, Tensor] => {
    const [a, b] = [p, q].map((scale) => w.mul(scale).exp().sum(1, { keepDims: true }));
    const [c, d] = [a.sub(b), b.sub(a)].map((x) => x.max(0, { keepDims: true }).tanh());
    return [y.mul(c).add(y.mul(d).tanh()), y.sum(1)];
  };
  const loss = (compile: boolean) => scan(body, y, [p, q], { compile })[0].square().mean();
  await check(loss, parameters, (sizes) => {
    assert.ok(sizes.includes(2), `groups of ${sizes}`);
    assert.ok(sizes.filter((size) => size === 1).length > 3, `groups of ${sizes}`);
  });
});
