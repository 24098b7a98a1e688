import assert from "node:assert/strict";
import { arange, checkGradients, key, normal, splitKey, type Tensor, vjp } from "../../mod.ts";
import { testLong, testOnDevices } from "../devices.ts";
import { chunkedFinalState, chunkedStates } from "../../src/models/warp/chunked.ts";
import {
  convolveByWindows,
  convolvedFinalState,
  convolvedStates,
} from "../../src/models/warp/convolution.ts";
import type { Dynamics } from "../../src/models/warp/dynamics.ts";
import { convolveByFourier } from "../../src/models/warp/fourier.ts";
import { recurrentFinalState, recurrentStates } from "../../src/models/warp/recurrent.ts";
import { makeTransition, type WARPTransitionOptions } from "../../src/models/warp/transition.ts";

const dtype = "float64";
const batch = 3;

type Run = (dynamics: Dynamics, start: Tensor, changes: Tensor) => Tensor;

const inBlocks = (run: typeof chunkedStates, doublings: number): Run => (dynamics, start, changes) =>
  run(dynamics, start, changes, doublings);

const allStates: Record<string, Run> = {
  convolutional: convolvedStates,
  "chunked by 1": inBlocks(chunkedStates, 0),
  "chunked by 8": inBlocks(chunkedStates, 3),
  "chunked by 32": inBlocks(chunkedStates, 5),
};

const finalStates: Record<string, Run> = {
  recurrent: recurrentFinalState,
  convolutional: convolvedFinalState,
  "chunked by 1": inBlocks(chunkedFinalState, 0),
  "chunked by 8": inBlocks(chunkedFinalState, 3),
  "chunked by 32": inBlocks(chunkedFinalState, 5),
};

/** Gelfand's formula, with the power 2^30. */
async function spectralRadius(A: Tensor): Promise<number> {
  let [power, logarithm] = [A, 0];
  for (let i = 0; i < 30; i++) {
    const norm = await power.abs().max().item();
    logarithm = 2 * (logarithm + Math.log(norm));
    power = power.div(norm);
    power = power.matmul(power);
  }
  return Math.exp(logarithm / 2 ** 30);
}

interface Problem {
  readonly dynamics: Dynamics;
  readonly start: Tensor;
  readonly changes: Tensor;
}

async function randomProblem(steps: number, size: number, inputs: number, radius: number): Promise<Problem> {
  const keys = splitKey(key(steps + size), 4);
  const transition = makeTransition("dense", size, key(0), dtype);
  const A = normal(keys[0], [size, size], { dtype });
  transition.first.assign(A.mul(radius / await spectralRadius(A)));
  return {
    dynamics: { transition, input: normal(keys[1], [size, inputs], { dtype }) },
    start: normal(keys[2], [batch, size], { dtype }),
    changes: normal(keys[3], [batch, steps, inputs], { dtype }),
  };
}

/**
 * The largest difference, relative to the largest expected element. With an axis, for each position along it.
 */
async function assertAgree(name: string, found: Tensor, expected: Tensor, axis?: number) {
  assert.deepEqual(found.shape, expected.shape, name);
  const others = axis === undefined ? undefined : found.shape.flatMap((_, i) => i === axis ? [] : [i]);
  const errors = found.sub(expected).abs().max(others).div(expected.abs().max(others));
  const worst = await errors.max().item();
  assert.ok(worst <= 1e-9, `${name}: ${worst}`);
}

const shapes = [[1, 3, 1], [2, 3, 2], [31, 5, 2], [33, 4, 1], [100, 6, 3], [2000, 7, 1]] as const;

for (const radius of [0.9, 1, 1.02]) {
  for (const [steps, size, inputs] of shapes) {
    const title = `over ${steps} steps of ${size} weights with a spectral radius of ${radius}`;
    Deno.test(`every mode gives the recurrence's states at every step, ${title}`, async () => {
      const { dynamics, start, changes } = await randomProblem(steps, size, inputs, radius);
      const expected = recurrentStates(dynamics, start, changes);
      for (const [name, run] of Object.entries(allStates)) {
        await assertAgree(name, run(dynamics, start, changes), expected, 1);
      }
      for (const [name, run] of Object.entries(finalStates)) {
        await assertAgree(`final state, ${name}`, run(dynamics, start, changes), expected.select(1, -1));
      }
    });
  }

  for (const [steps, size, inputs] of [[33, 5, 2], [2000, 4, 1]] as const) {
    const title = `over ${steps} steps with a spectral radius of ${radius}`;
    Deno.test(`every mode gives the recurrence's gradients, ${title}`, async () => {
      const { dynamics, start, changes } = await randomProblem(steps, size, inputs, radius);
      const wrt = { A: dynamics.transition.first, B: dynamics.input, start, changes };
      const gradientsOf = (run: Run, weights: Tensor) =>
        vjp(() => run(dynamics, start, changes), wrt).pullback(weights);
      const compare = async (runs: Record<string, Run>, reference: Run, weights: Tensor) => {
        const expected = gradientsOf(reference, weights);
        for (const [name, run] of Object.entries(runs)) {
          const found = gradientsOf(run, weights);
          for (const wanted of ["A", "B", "start", "changes"] as const) {
            await assertAgree(`${name}, gradient of ${wanted}`, found[wanted], expected[wanted]);
          }
        }
      };
      await compare(allStates, recurrentStates, normal(key(1), [batch, steps + 1, size], { dtype }));
      await compare(finalStates, recurrentFinalState, normal(key(2), [batch, size], { dtype }));
    });
  }
}

for (const [length, inputs] of [[1, 1], [2, 1], [9, 2], [100, 3], [501, 2]] as const) {
  Deno.test(`convolution by FFT agrees with convolution by windows, ${length} steps`, async () => {
    const u = normal(key(1), [batch, length, inputs], { dtype });
    // Kernels that decay, stay constant and grow.
    for (const rate of [-0.05, 0, 0.05]) {
      const growth = arange(length, { dtype }).mul(rate).exp().reshape([length, 1, 1]);
      const kernel = normal(key(2), [length, inputs, 4], { dtype }).mul(growth);
      const [expected, found] = [convolveByWindows, convolveByFourier].map((convolve) => {
        const { value, pullback } = vjp(() => convolve(u, kernel), { u, kernel });
        return { value, ...pullback(normal(key(3), [batch, length, 4], { dtype })) };
      });
      await assertAgree("states", found.value, expected.value, 1);
      await assertAgree("gradient of u", found.u, expected.u);
      await assertAgree("gradient of the kernel", found.kernel, expected.kernel);
    }
  });
}

testOnDevices("convolution by FFT agrees with convolution by windows in float32", async () => {
  const u = normal(key(1), [2, 300, 2]);
  const kernel = normal(key(2), [300, 2, 4]);
  const [expected, found] = [convolveByWindows, convolveByFourier].map((convolve) => {
    const { value, pullback } = vjp(() => convolve(u, kernel), [kernel]);
    return [value, ...pullback(value.mul(0.1))];
  });
  for (const [i, x] of found.entries()) {
    const error = x.sub(expected[i]).abs().max().div(expected[i].abs().max());
    assert.ok(await error.item() <= 1e-4);
  }
});

Deno.test("a shared initial state gives the same results as equal initial states per sample", async () => {
  const { dynamics, start, changes } = await randomProblem(40, 5, 2, 1);
  const shared = start.slice(0, 0, 1);
  const each = shared.broadcastTo(start.shape);
  await assertAgree(
    "all",
    convolvedStates(dynamics, shared, changes),
    recurrentStates(dynamics, each, changes),
    1,
  );
  const final = recurrentFinalState(dynamics, each, changes);
  await assertAgree("convolved", convolvedFinalState(dynamics, shared, changes), final);
  await assertAgree("chunked", chunkedFinalState(dynamics, shared, changes, 3), final);
});

const forms: WARPTransitionOptions[] = [
  "dense",
  "diagonal",
  "planes",
  { initialization: "rotation" },
  { blocks: 2, initialization: "rotation" },
  { blocks: 2 },
  { rank: 3 },
  { diagonal: "planes", rank: 2 },
];
for (const form of forms) {
  const name = JSON.stringify(form);
  testLong(`gradients with a transition ${name} agree with central differences in every mode`, async () => {
    const [size, inputs] = [6, 2];
    const keys = splitKey(key(5), 3);
    const transition = makeTransition(form, size, keys[0], dtype);
    // Perturb the transition, because some errors do not show at the identity.
    const first = transition.first;
    first.assign(first.mul(0.8).add(normal(keys[1], first.shape, { dtype, standardDeviation: 0.1 })));
    const dynamics = { transition, input: normal(keys[2], [size, inputs], { dtype }) };
    const start = normal(key(6), [2, size], { dtype });
    const changes = normal(key(7), [2, 11, inputs], { dtype });
    const args = { A: transition.parameters, B: dynamics.input, start, changes };
    const runs = {
      recurrent: recurrentStates,
      convolutional: convolvedStates,
      chunked: inBlocks(chunkedStates, 2),
      ...{ recurrentFinalState, convolvedFinalState, chunkedFinalState: inBlocks(chunkedFinalState, 2) },
    };
    for (const run of Object.values(runs)) {
      await checkGradients((_) => run(dynamics, start, changes), [args], { elements: 8 });
    }
    const expected = recurrentStates(dynamics, start, changes);
    await assertAgree("convolutional", convolvedStates(dynamics, start, changes), expected, 1);
    await assertAgree("chunked", chunkedStates(dynamics, start, changes, 2), expected, 1);
  });
}

for (const [name, convolve] of Object.entries({ convolveByWindows, convolveByFourier })) {
  Deno.test(`first and second gradients of ${name} agree with central differences`, async () => {
    const u = normal(key(1), [2, 9, 2], { dtype });
    const kernel = normal(key(2), [9, 2, 3], { dtype });
    await checkGradients(convolve, [u, kernel], { elements: 6 });
    const inner = (u: Tensor, kernel: Tensor) => {
      const { value, pullback } = vjp(() => convolve(u, kernel).square().sum(), { u, kernel });
      return pullback(value.zerosLike().add(1));
    };
    await checkGradients(inner, [u, kernel], { elements: 6 });
  });
}
