/** Step size controllers, their limits, and tolerances of each element. */
import assert from "node:assert/strict";
import {
  cdeint,
  concatenate,
  constantStepSize,
  type ErrorNorm,
  findOdeintSteps,
  grad,
  integralController,
  jit,
  LinearInterpolation,
  NoProgressError,
  odeint,
  odeintEvent,
  piController,
  pidController,
  type SolveOptions,
  type SolveStatistics,
  stack,
  type StepController,
  stepTo,
  stopGradient,
  type Tensor,
  tensor,
} from "../../mod.ts";
import { stepFactor } from "../../src/solvers/control/next_step.ts";
import { testLong } from "../devices.ts";

const dtype = "float64";
const numbers = (values: number[]) => tensor(values, { dtype });
const norms: ErrorNorm[] = ["batch", "sample"];
const start = tensor([[2, 0]], { dtype });
const vanDerPol = (_t: Tensor, y: Tensor) => {
  const [x, v] = [y.slice(1, 0, 1), y.slice(1, 1, 2)];
  return concatenate([v, x.square().neg().add(1).mul(v).mul(20).sub(x)], 1);
};
const interval = [0, 40];

type Field = (t: Tensor, y: Tensor) => Tensor;

/** The steps of a solve of the first sample. */
async function stepsOf(f: Field, y0: Tensor, t: readonly number[], options: SolveOptions) {
  const [list] = (await findOdeintSteps(f, y0, t, options)).accepted.lists;
  const [starts, ends] = [[...list.starts], [...list.ends]];
  const lengths = starts.map((start, i) => Math.abs(ends[i] - start));
  return { starts, ends, lengths, rejected: list.rejected, tried: lengths.length + list.rejected };
}

async function assertClose(found: Tensor, expected: ArrayLike<number>, tolerance: number): Promise<void> {
  const values = [...await found.data()];
  assert.equal(values.length, expected.length);
  values.forEach((value, i) =>
    assert.ok(Math.abs(value - expected[i]) <= tolerance, `${values}, expected ${Array.from(expected)}`)
  );
}

for (const norm of norms) {
  Deno.test(`the coefficients 0, 1, 0 give the steps of the default controller, norm ${norm}`, async () => {
    const options = { method: "dopri5", rtol: 1e-4, norm } as const;
    const controllers = [undefined, integralController(), pidController(), piController()];
    const [plain, ...given] = await Promise.all(
      controllers.map((controller) => stepsOf(vanDerPol, start, [0, 10], { ...options, controller })),
    );
    assert.deepEqual(given.slice(0, 2), [plain, plain]);
    assert.notDeepEqual(given[2].starts, plain.starts);
  });
}

for (const method of ["bosh3", "dopri5", "tsit5", "dopri8"] as const) {
  Deno.test(`with ${method} a PI controller attempts and rejects fewer steps of a stiff equation`, async () => {
    const solve = async (controller?: StepController) => {
      const statistics: SolveStatistics = { steps: 0, rejected: 0, evaluations: 0 };
      const options = { method, rtol: 1e-4, atol: 1e-6, norm: "sample", controller, statistics } as const;
      const y = await odeint(vanDerPol, start, interval, options).data();
      return { ...statistics, tried: statistics.steps + statistics.rejected, y };
    };
    const [plain, proportional] = [await solve(), await solve(piController())];
    assert.ok(proportional.rejected < 0.5 * plain.rejected, `${proportional.rejected}, ${plain.rejected}`);
    assert.ok(proportional.tried < plain.tried, `${proportional.tried}, ${plain.tried}`);
    assert.ok(Math.abs(proportional.y[2] - plain.y[2]) < 0.01, `${proportional.y}, ${plain.y}`);
  });
}

const factor = async (
  ratio: number,
  options: Parameters<typeof pidController>[0],
  [previous, earlier] = [1, 1],
) => {
  const [r, a, b] = [ratio, previous, earlier].map((x) => tensor(x, { dtype }));
  return await stepFactor(r, [a, b], 5, pidController(options)).item();
};

Deno.test("the next step size follows Soderlind's formula of three errors", async () => {
  const [p, i, d] = [0.4, 0.3, 0.1];
  const found = await factor(0.02, { pCoeff: p, iCoeff: i, dCoeff: d }, [0.05, 0.3]);
  const expected = 0.9 * 0.02 ** (-(p + i + d) / 5) * 0.05 ** ((p + 2 * d) / 5) * 0.3 ** (-d / 5);
  assert.ok(expected > 1 && Math.abs(found / expected - 1) < 1e-12, `${found}, expected ${expected}`);
});

Deno.test("the step size changes within bounds", async () => {
  const bounds = { safety: 0.8, factorMin: 0.3, factorMax: 4 };
  assert.equal(await factor(0, bounds), 4);
  assert.equal(await factor(1e30, bounds), 0.3);
  assert.equal(await factor(Infinity, bounds), 0.3);
  assert.equal(await factor(NaN, bounds), 0.3);
  assert.equal(await factor(0.99, bounds), 1);
  assert.ok(Math.abs(await factor(2, bounds) - 0.8 * 2 ** -0.2) < 1e-12);
});

// The cases of Diffrax: a decay with step_ts, and an oscillator whose force jumps at t = 7.5.
const decay: Field = (_t, y) => y.mul(-0.2);
const forced: Field = (t, y) => {
  const [x, v] = [y.slice(1, 0, 1), y.slice(1, 1, 2)];
  const force = t.less(7.5).where(x.zerosLike().add(10), -10);
  return concatenate([v, x.mul(-4 * Math.PI ** 2).sub(v.mul(0.2 * Math.PI)).add(force)], 1);
};
const one = tensor([[1]], { dtype });
const moving = tensor([[1.5, 0]], { dtype });
const stepEnds: [f: Field, y0: Tensor, end: number, limits: Parameters<typeof integralController>[0]][] = [
  [decay, one, 5, { stepTimes: [3, 4] }],
  [decay, one, 5, { stepTimes: [4, 3, 3, 99, -1] }],
  [decay, one, 5, { stepTimes: [1, 1 + 1e-9, 2], dtMax: 0.4 }],
  [decay, one, 25, { jumpTimes: [3, 13], stepTimes: [2, 13, 23] }],
  [forced, moving, 15, { jumpTimes: [7.5] }],
  [forced, moving, 15, { jumpTimes: [7.5], stepTimes: [7.5] }],
  [forced, moving, 15, { jumpTimes: [7.5], stepTimes: [3.5, 8] }],
  [decay, one, 5, { dtMax: 0.3 }],
  [decay, one, 5, { dtMax: 0.3, dtMin: 0.3, forceDtMin: true, stepTimes: [1] }],
];
for (const norm of norms) {
  const cases = norm === "batch" ? stepEnds : stepEnds.filter((_, i) => i % 3 === 2);
  for (const [f, y0, last, limits] of cases) {
    Deno.test(`steps end at ${JSON.stringify(limits)}, norm ${norm}`, async () => {
      for (const t of [[0, last], [last, 0]]) {
        const options = { method: "dopri5", rtol: 1e-4, atol: 1e-6, norm } as const;
        const found = await stepsOf(f, y0, t, { ...options, controller: integralController(limits) });
        const { stepTimes = [], jumpTimes = [], dtMax = Infinity } = limits!;
        for (const time of [...Array.from(stepTimes as number[]), ...Array.from(jumpTimes as number[])]) {
          assert.equal(found.ends.includes(time), 0 < time && time < last, `t = ${time}: ${found.ends}`);
        }
        assert.ok(Math.max(...found.lengths) <= dtMax * (1 + 1e-12), `${found.lengths}`);
        if (f === forced && !limits!.stepTimes) {
          const plain = await stepsOf(f, y0, t, options);
          assert.ok(found.tried < plain.tried, `${found.tried}, ${plain.tried}`);
        }
      }
    });
  }

  Deno.test(`a step below dtMin is a failure or accepted, norm ${norm}`, async () => {
    // The last step is shorter with the norm of samples.
    const solve = (controller: StepController, f: Field = (_t, y) => y.mul(-10)) =>
      stepsOf(f, numbers([1, 2]), [0, 1], { method: "bosh3", rtol: 1e-9, atol: 1e-9, norm, controller });
    const failure = async (controller: StepController, f?: Field) => {
      const error = await solve(controller, f).then(() => undefined, (error) => error);
      assert.ok(error instanceof NoProgressError, `${error}`);
      return error;
    };
    const { reason, message } = await failure(integralController({ dtMin: 0.125 }));
    assert.equal(reason, "dtMin");
    assert.match(
      message,
      /bosh3 cannot continue .*at t = 0, .*needs a step below dtMin, 0\.125; .* or forceDtMin/,
    );
    const taken = await solve(integralController({ dtMin: 0.125, forceDtMin: true }));
    assert.deepEqual([taken.starts, taken.rejected], [
      Array.from({ length: 8 }, (_, i) => i / 8),
      0,
    ]);
    // No failure if the tolerances need no smaller step, nor for a last step that is shorter.
    await solve(integralController({ dtMin: 1e-6 }), (_t, y) => y.mul(-0.1));
    const infinite: Field = (t, y) => y.mul(t.greater(0.5).where(t.zerosLike().add(NaN), 1));
    const forced = integralController({ dtMin: 0.01, forceDtMin: true });
    assert.equal((await failure(forced, infinite)).reason, "notFinite");
    assert.equal((await failure(integralController({ dtMin: 1e-6 }), infinite)).reason, "notFinite");
    assert.equal((await failure(integralController(), infinite)).reason, "notFinite");
  });
}

Deno.test("an implicit method ends a step at a jump", async () => {
  const options = { method: "kvaerno3", rtol: 1e-3, atol: 1e-3, stepSize: 0.01 } as const;
  const controller = integralController({ jumpTimes: [0.5], stepTimes: [0.7], dtMax: 0.2 });
  const { ends, lengths } = await stepsOf((_t, y) => y.neg(), numbers([1]), [0, 1], {
    ...options,
    controller,
  });
  assert.ok(ends.includes(0.5) && ends.includes(0.7) && Math.max(...lengths) < 0.2 + 1e-12, `${ends}`);
});

Deno.test("the gradient of a jump of a controller is correct", async () => {
  // Diffrax's discontinuous forcing: the integral of y, for y' = -y + 1 after the jump, changes by -(1 - exp(t - 1)).
  const integral = (jump: Tensor) =>
    odeint(
      (t, y) => {
        const [x] = [y.slice(0, 0, 1)];
        return concatenate([t.less(stopGradient(jump)).where(x.neg(), x.neg().add(1)), x], 0);
      },
      numbers([1, 0]),
      [0, 1],
      {
        method: "tsit5",
        rtol: 1e-8,
        atol: 1e-8,
        controller: pidController({ jumpTimes: jump.reshape([1]) }),
      },
    ).select(0, 1).select(0, 1);
  for (const transformed of [grad(integral), jit(grad(integral))]) {
    await assertClose(transformed(tensor(0.5, { dtype })), [-0.3934693402873666], 1e-7);
  }
});

// Steps without error control.
const growth: Field = (t, y) => y.mul(t.sin());
const grown = (t: number) => Math.exp(1 - Math.cos(t));
const uneven = [0.9, 0.1, 0.35, 1.6];
const fixedSteps: [controller: StepController, short: SolveOptions, ends: number[]][] = [
  [constantStepSize(0.5), { stepSize: 0.5 }, [0.5, 1, 1.5, 2]],
  [constantStepSize(0.8), { stepSize: 0.8 }, [0.8, 1.6, 2]],
  [stepTo(uneven), { grid: uneven }, [0.1, 0.35, 0.9, 1.6, 2]],
  [stepTo(numbers([1, 5])), { grid: [1] }, [1, 2]],
];
for (const [controller, short, ends] of fixedSteps) {
  const { kind: _, ...steps } = controller as { kind: string };
  const title = `a controller of fixed steps ${JSON.stringify(steps)}`;
  Deno.test(`${title} equals the short form, and gives an adaptive method the steps`, async () => {
    const y0 = tensor([[1], [2]], { dtype });
    const rk4 = (options: SolveOptions) => odeint(growth, y0, [0, 0.7, 2], { method: "rk4", ...options });
    assert.deepEqual(await rk4({ controller }).data(), await rk4(short).data());
    for (const norm of norms) {
      const statistics: SolveStatistics = { steps: 0, rejected: 0, evaluations: 0 };
      const options = { method: "dopri8", controller, norm, statistics } as const;
      const y = odeint(growth, y0, [0, 0.7, 2], options);
      await assertClose(y.select(0, -1), [grown(2), 2 * grown(2)], 2e-5);
      assert.deepEqual([statistics.steps, statistics.rejected], [ends.length, 0]);
      assert.deepEqual((await stepsOf(growth, y0, [0, 2], options)).ends, ends);
      // Backwards the last step is the shorter one.
      const back = odeint(growth, y0, [2, 0], { method: "dopri8", controller, norm });
      await assertClose(back.select(0, 1), [1 / grown(2), 2 / grown(2)], 2e-5);
    }
  });
}

Deno.test("fixed steps of an adaptive method end at jumps of a control, with every adjoint", async () => {
  const X = LinearInterpolation(numbers([0, 1, 0.5]).reshape([3, 1]), [0, 1, 3]);
  const end = (scale: Tensor, adjoint: "direct" | "checkpoint" | "continuous") =>
    cdeint(X, (_t, z) => z.mul(scale).expandDims(-1), numbers([1]), [0, 3], {
      method: "dopri5",
      controller: constantStepSize(0.3),
      adjoint,
    }).slice(0, 1, 2).sum();
  for (const adjoint of ["direct", "checkpoint", "continuous"] as const) {
    await assertClose(end(tensor(1, { dtype }), adjoint), [Math.exp(0.5)], 1e-6);
    await assertClose(
      grad((s: Tensor) => end(s, adjoint))(tensor(1, { dtype })),
      [0.5 * Math.exp(0.5)],
      1e-5,
    );
  }
});

Deno.test("an event takes the steps of a controller", async () => {
  const falling: Field = (_t, y) => stack([y.select(0, 1), y.select(0, 1).zerosLike().sub(9.81)]);
  const statistics: SolveStatistics = { steps: 0, rejected: 0, evaluations: 0 };
  const controllers: [controller: StepController, steps: number][] = [
    [integralController({ dtMax: 0.1 }), 15],
    [constantStepSize(0.1), 15],
    [integralController({ dtMax: 0.2, stepTimes: [0.15] }), 8],
  ];
  for (const [controller, least] of controllers) {
    const height = (_t: Tensor, y: Tensor) => y.select(0, 0);
    const { t } = odeintEvent(falling, numbers([10, 0]), 0, height, {
      method: "dopri5",
      controller,
      statistics,
    });
    await assertClose(t, [Math.sqrt(20 / 9.81)], 1e-9);
    assert.ok(statistics.steps >= least, `${statistics.steps}`);
  }
  assert.throws(
    () => odeintEvent(falling, numbers([1, 0]), 0, (_t, y) => y.select(0, 0), { controller: stepTo([1]) }),
    /odeintEvent: a controller of stepTo has no steps after its last time/,
  );
});

const wrong: [title: string, call: () => unknown, message: RegExp][] = [
  [
    "a coefficient of NaN",
    () => pidController({ pCoeff: NaN }),
    /^RangeError: pidController: pCoeff is NaN, expected a finite/,
  ],
  ["no safety", () => piController({ safety: 0 }), /piController: safety is 0, expected a number above 0/],
  ["factorMin 1", () => integralController({ factorMin: 1 }), /factorMin is 1, expected a number between/],
  ["factorMax 1", () => integralController({ factorMax: 1 }), /factorMax is 1, expected a number above 1/],
  [
    "an infinite factorMax",
    () => integralController({ factorMax: Infinity }),
    /factorMax is Infinity, expected a finite/,
  ],
  ["dtMin 0", () => integralController({ dtMin: 0 }), /dtMin is 0, expected a positive, finite number/],
  ["dtMax NaN", () => integralController({ dtMax: NaN }), /dtMax is NaN, expected a positive, finite/],
  [
    "dtMax below dtMin",
    () => integralController({ dtMin: 2, dtMax: 1 }),
    /dtMax is 1, expected at least dtMin, 2/,
  ],
  ["forceDtMin alone", () => integralController({ forceDtMin: true }), /dtMin is undefined, expected a size/],
  [
    "an infinite time",
    () => integralController({ stepTimes: [1, Infinity] }),
    /integralController: stepTimes\[1\] is Inf/,
  ],
  ["a coefficient of integral", () => integralController({ pCoeff: 1 } as never), /unknown option pCoeff/],
  ["a step of zero", () => constantStepSize(0), /constantStepSize: stepSize is 0, expected a positive/],
  ["a time of NaN", () => stepTo([0, NaN]), /stepTo: stepTimes\[1\] is NaN, expected a finite time/],
  ["times that are a number", () => stepTo(1 as never), /stepTo: stepTimes is .*expected times/],
  ...([
    [
      "plain options",
      { method: "dopri5", controller: { pcoeff: 1 } as never },
      /the option controller is not a controller/,
    ],
    [
      "errors of rk4",
      { method: "rk4", controller: piController() },
      /rk4 does not use the option controller/,
    ],
    [
      "two step sizes",
      { method: "rk4", controller: constantStepSize(1), stepSize: 1 },
      /controller and stepSize both/,
    ],
    [
      "two grids",
      { method: "rk4", controller: stepTo([1]), grid: [1] },
      /controller and grid both determine/,
    ],
    [
      "two lists of jumps",
      { method: "dopri5", controller: integralController({ jumpTimes: [1] }), jumpTimes: [1] },
      /controller and jumpTimes both/,
    ],
    [
      "tolerances of fixed steps",
      { method: "dopri5", controller: stepTo([1]), rtol: 1 },
      /dopri5 with fixed steps does not use the option rtol/,
    ],
    ["a negative tolerance", { method: "dopri5", rtol: [1, -1] }, /odeint: rtol is -1, expected a positive/],
    [
      "too many tolerances",
      { method: "dopri5", atol: [1, 1, 1] },
      /odeint: atol has shape \(3,\), .*broadcast against \(1, 2\)/,
    ],
    [
      "a tolerance that is a string",
      { method: "dopri5", atol: "1e-3" as never },
      /odeint: atol is .*expected a positive number/,
    ],
  ] as [string, SolveOptions, RegExp][]).map(([title, options, message]) =>
    [title, () => odeint(vanDerPol, start, interval, options), message] as [string, () => unknown, RegExp]
  ),
  [
    "a tree without a tolerance",
    () =>
      odeint((_t, y: { a: Tensor; b: Tensor }) => y, { a: one, b: one }, [0, 1], { rtol: { a: 1 } as never }),
    /odeint: rtol.b is undefined, expected a positive number, or numbers that broadcast against \(1, 1\)/,
  ],
];
for (const [title, call, message] of wrong) {
  Deno.test(`a controller or tolerance is rejected: ${title}`, () => {
    assert.throws(call, message);
  });
}

// The test of torchdiffeq for jump_locations: a jump makes fewer evaluations.
for (const method of ["dopri5", "bosh3", "dopri8", "adaptive_heun"] as const) {
  const test = method === "adaptive_heun" || method === "bosh3" ? testLong : Deno.test;
  test(`torchdiffeq: a step at a jump saves evaluations of ${method}`, async () => {
    const f: Field = (t, y) => t.less(0.5).where(y.mul(-0.5), y.square());
    const evaluations = (jumpTimes?: number[]) => {
      const statistics: SolveStatistics = { steps: 0, rejected: 0, evaluations: 0 };
      odeint(f, numbers([1, 2]), [0, 1], { method, jumpTimes, statistics });
      return statistics.evaluations;
    };
    await Promise.resolve();
    assert.ok(evaluations([0.5]) < evaluations(), `${evaluations([0.5])}, ${evaluations()}`);
  });
}
