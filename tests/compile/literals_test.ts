/**
 * Gradient rules that compute only with numbers, such as the rule of a power. These operations have no operand in
 * memory.
 */
import assert from "node:assert/strict";
import {
  grad,
  jit,
  odeint,
  scan,
  type ScanOptions,
  type SolveOptions,
  type Tensor,
  tensor,
} from "../../mod.ts";
import { testOnCpu, testOnDevices } from "../devices.ts";
import { assertAgree } from "../golden.ts";
import { size } from "../tensor/nd.ts";

const bodies: Record<string, (y: Tensor) => Tensor> = {
  "a power of the state": (y) => y.pow(3).neg(),
  "a power of a sum": (y) => y.mul(y.square().sum().pow(1.5)).neg(),
  "a power of a power": (y) => y.square().add(0.5).pow(1.5).pow(0.5),
  "a power of the largest element": (y) => y.mul(y.square().max().add(0.5).pow(-0.5)),
};

for (const shape of [[], [3], [2, 3], [2, 1, 3]]) {
  // The rank of the state decides no literal: on a GPU, loops have the first and the third shape, direct adjoints the first, and
  // continuous ones the third.
  const testFor = (...ranks: number[]) => ranks.includes(shape.length) ? testOnDevices : testOnCpu;
  const values = [0.5, -0.25, 0.75, 0.125, 0.3, 0.6].slice(0, size(shape));
  for (const [name, body] of Object.entries(bodies)) {
    testFor(0, 2)(`a loop with ${name} has the correct gradient, state of shape (${shape})`, async () => {
      const [y0, rows] = [tensor(values, { shape }), tensor([0.5, 0.25, -0.5])];
      const step = (y: Tensor, row: Tensor): [Tensor, Tensor] => {
        const next = body(y).add(row).tanh();
        return [next, next];
      };
      const gradient = (options: ScanOptions) =>
        grad((y: Tensor) => scan(step, y, rows, options)[1].square().sum())(y0);
      const expected = [gradient({ compile: false })];
      for (const executor of ["fused", "stepped"] as const) {
        await assertAgree(executor, [gradient({ executor })], expected, 1e-5);
      }
      await assertAgree("jit", [jit(() => gradient({}))()], expected, 1e-5);
    });

    for (const adjoint of ["direct", "continuous"] as const) {
      testFor(adjoint === "direct" ? 0 : 2)(
        `a solve with ${name} has the correct ${adjoint} gradient, state of shape (${shape})`,
        async () => {
          const y0 = tensor(values, { shape });
          const gradient = (options: SolveOptions) => {
            const solve = { method: "rk4", stepSize: 0.25, adjoint, ...options } as const;
            return grad((y: Tensor) => odeint((_, y) => body(y).mul(0.5), y, [0, 0.5], solve).square().sum())(
              y0,
            );
          };
          await assertAgree("gradient", [gradient({})], [gradient({ compile: false })], 1e-5);
        },
      );
    }
  }
}

testOnDevices("operations with the numbers 0 and -0 in one compiled loop keep their signs", async () => {
  const body = (y: Tensor): [Tensor, { positive: Tensor; negative: Tensor }] => {
    const square = y.sub(1).square();
    return [y.add(1), { positive: square.mul(0), negative: square.mul(-0) }];
  };
  const [, { positive, negative }] = scan(body, tensor([1, 2]), tensor([0, 0]), { executor: "fused" });
  assert.deepEqual([...await positive.data()], [0, 0, 0, 0]);
  assert.deepEqual([...await negative.data()], [-0, -0, -0, -0]);
});
