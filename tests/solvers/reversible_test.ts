import assert from "node:assert/strict";
import {
  type Adjoint,
  cdeint,
  CubicSpline,
  key,
  type MethodName,
  naturalCubicCoeffs,
  normal,
  odeint,
  type SolveOptions,
  type Tensor,
  tensor,
  valueAndGrad,
} from "../../mod.ts";
import { cpu, longOnSoftware, testLong, testOnCpu, testOnDevices } from "../devices.ts";
import { solved } from "../loops.ts";
import { problem } from "./problems.ts";

const float64 = { dtype: "float64" } as const;
const methods: readonly MethodName[] =
  (["heun", "euler", "midpoint", "heun3", "ralston", "rk4", "rk4_classic", "dopri5", "dopri8"] as const)
    .map((name) => `reversible_${name}` as const);

/**
 * The largest distance of the reversible gradient from the direct gradient, relative to the largest element,
 * or to one if that is larger.
 */
async function distance(
  inputs: Record<string, Tensor>,
  loss: (adjoint: Adjoint) => Tensor,
  compile = true,
): Promise<number> {
  const [[a, byReversing], [b, byKeeping]] = (["reversible", "direct"] as const)
    .map((adjoint) => solved(compile, () => valueAndGrad(() => loss(adjoint))(inputs)));
  const pairs = [[a, b], ...Object.keys(inputs).map((name) => [byReversing[name], byKeeping[name]])];
  const errors = pairs.map(([x, y]) => x.sub(y).abs().max().div(y.abs().max().maximum(1)).item());
  return Math.max(...await Promise.all(errors));
}

for (const method of methods) {
  for (const compile of [true, false]) {
    testLong(
      `the reversible gradient of ${method} equals the direct gradient${compile ? "" : ", step by step"}`,
      async () => {
        for (const t of [[0, 1.5], [0, 0.4, 0.75, 1.5], [1.5, 0.3, 0]]) {
          const { f, y0 } = problem("vdp", "float64");
          const k = tensor([0.7], float64);
          const error = await distance({ y0, k }, (adjoint) => {
            const options = { method, stepSize: 0.11, adjoint, compile } as const;
            return odeint((t, y) => f(t, y).mul(k), y0, t, options).square().sum();
          }, compile);
          assert.ok(error < 1e-10, `at t = ${t}: ${error}`);
        }
      },
    );
  }
}

for (const method of ["reversible_heun", "reversible_midpoint", "reversible_rk4"] as const) {
  testOnDevices(
    `the reversible gradient of ${method} in float32 equals the direct gradient`,
    longOnSoftware,
    async () => {
      const y0 = tensor([[0.5, -1], [1, 0.2], [-0.3, 0.1]]);
      const k = tensor([[0.7, -0.3], [0.2, -0.5]]);
      const error = await distance({ y0, k }, (adjoint) => {
        const options = { method, stepSize: 0.05, adjoint } as const;
        return odeint((_t, y) => y.matmul(k).tanh(), y0, [0, 0.5, 1], options).square().sum();
      });
      assert.ok(error < 1e-4, `${error}`);
    },
  );

  Deno.test(`the reversible gradient of ${method} along a path equals the direct gradient`, async () => {
    const X = CubicSpline(naturalCubicCoeffs(normal(key(0), [4, 9, 3], float64).cumsum(1)));
    const inputs = { z0: normal(key(1), [4, 5], float64), w: normal(key(2), [5, 15], float64) };
    const error = await distance(inputs, (adjoint) => {
      const field = (_t: Tensor, z: Tensor) => z.matmul(inputs.w).tanh().reshape([4, 5, 3]);
      return cdeint(X, field, inputs.z0, [0, 4, 8], { method, stepSize: 0.25, adjoint }).square().sum();
    });
    assert.ok(error < 1e-9, `${error}`);
  });
}

Deno.test("after many steps the reversible gradient equals the direct gradient", async () => {
  const inputs = { y0: tensor([[1, 0]], float64), w: tensor([[0, -1], [1, 0]], float64) };
  const error = await distance(inputs, (adjoint) => {
    const options = { method: "reversible_midpoint", stepSize: 0.001, adjoint } as const;
    return odeint((_t, y) => y.matmul(inputs.w), inputs.y0, [0, 20], options).square().sum();
  });
  assert.ok(error < 1e-8, `${error}`);
});

/** The peak of memory in bytes, above the memory in use before. */
function peak(body: () => unknown): number {
  const { allocate, release } = cpu;
  let [bytes, most] = [0, 0];
  cpu.allocate = (byteLength) => (most = Math.max(most, bytes += byteLength), allocate.call(cpu, byteLength));
  cpu.release = (memory, byteLength) => (bytes -= byteLength, release.call(cpu, memory, byteLength));
  try {
    body();
  } finally {
    Object.assign(cpu, { allocate, release });
  }
  return most;
}

for (const method of ["reversible_heun", "reversible_rk4"] as const) {
  testOnCpu(
    `the memory of the reversible gradient of ${method} does not grow with the number of steps`,
    () => {
      const y0 = normal(key(0), [32, 16]);
      const w = normal(key(1), [16, 16]).mul(0.1);
      const used = (steps: number, adjoint: Adjoint) =>
        peak(() =>
          valueAndGrad((w: Tensor) =>
            odeint((_t, y) => y.matmul(w).tanh(), y0, [0, 1], { method, stepSize: 1 / steps, adjoint })
              .square()
              .sum()
          )(w)
        );
      const perStep = (adjoint: Adjoint) => (used(2000, adjoint) - used(500, adjoint)) / 1500;
      const state = 4 * y0.size;
      // Times take some bytes per step, but no states are stored.
      assert.ok(perStep("reversible") < state / 16, `${perStep("reversible")} bytes a step`);
      assert.ok(perStep("direct") >= state, `${perStep("direct")} bytes a step`);
    },
  );
}

for (const method of ["reversible_heun", "reversible_rk4"] as const) {
  Deno.test(`the continuous gradient of ${method} approaches the direct gradient for short steps`, async () => {
    const y0 = tensor([[1, 0.5]], float64);
    const gradient = (adjoint: Adjoint) => {
      const options = { method, stepSize: 0.005, adjoint } as const;
      return valueAndGrad((y: Tensor) => odeint((t, y) => y.sin().mul(t.add(1)), y, [0, 1], options).sum())(
        y0,
      )[1];
    };
    const error = await gradient("continuous").sub(gradient("direct")).abs().max().item();
    assert.ok(error < 1e-4 && error > 0, `${error}`);
  });
}

Deno.test("a coupling of 1 gives the undamped leapfrog form, smaller couplings damp it", async () => {
  // y' = -y by Euler's method in two steps of 1, computed by hand.
  const solve = (coupling: number) => {
    const options = { method: "reversible_euler", stepSize: 1, coupling } as const;
    return odeint((_t, y) => y.neg(), tensor([1], float64), [0, 1, 2], options).data();
  };
  const expected = (coupling: number) => {
    let [y, z] = [1, 1];
    return [1, 2].map(() => {
      y = coupling * y + (1 - coupling) * z - z;
      z = z - y;
      return y;
    });
  };
  for (const coupling of [1, 0.9]) assert.deepEqual([...await solve(coupling)], [1, ...expected(coupling)]);
});

const solve = (options: SolveOptions) => odeint((_t, y) => y, tensor([[1]]), [0, 1], options);
const wrong: [name: string, call: () => unknown, message: RegExp][] = [
  [
    "the reversible adjoint with an irreversible method",
    () => solve({ method: "rk4", adjoint: "reversible" }),
    /the steps of rk4 cannot be undone.*"reversible_rk4"/,
  ],
  [
    "the reversible adjoint with a method without a reversible form",
    () => solve({ method: "explicit_adams", adjoint: "reversible" }),
    /the steps of explicit_adams cannot be undone.*"reversible_rk4"/,
  ],
  [
    "the reversible form of an unknown method",
    () => solve({ method: "reversible_rk5" as MethodName }),
    /method "reversible_rk5" is unknown.*reversible_rk4/,
  ],
  [
    "a coupling of zero",
    () => solve({ method: "reversible_rk4", coupling: 0 }),
    /coupling is 0, expected a number above 0 and up to 1/,
  ],
];
for (const [name, call, message] of wrong) {
  Deno.test(`odeint rejects ${name}`, () => {
    assert.throws(call, message);
  });
}
