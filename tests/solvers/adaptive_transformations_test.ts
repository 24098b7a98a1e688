/** Adaptive solves inside every transformation, against solves of each sample and central differences. */
import assert from "node:assert/strict";
import {
  cdeint,
  type ErrorNorm,
  grad,
  jacobian,
  jit,
  jvp,
  LinearInterpolation,
  odeint,
  remat,
  scan,
  type SolveOptions,
  stack,
  stopGradient,
  type Tensor,
  tensor,
  vjp,
  vmap,
} from "../../mod.ts";
import { testLong } from "../devices.ts";

const dtype = "float64";
const numbers = (values: number[]) => tensor(values, { dtype });

async function assertClose(found: Tensor, expected: readonly number[], tolerance: number): Promise<void> {
  const values = [...await found.data()];
  assert.equal(values.length, expected.length);
  values.forEach((value, i) => {
    const error = Math.abs(value - expected[i]);
    assert.ok(error <= tolerance * Math.max(1, Math.abs(expected[i])), `${values}, expected ${expected}`);
  });
}

/** y' = a t - y^2, whose steps depend on the start and on a. */
const solve = (y0: Tensor, a: Tensor, t: readonly number[], options: SolveOptions) =>
  odeint((t, y) => t.mul(a).sub(y.square()), y0, t, options).select(0, -1);

const starts = [1.5, 0.2];
const methods: Record<string, SolveOptions> = {
  "dopri5, norm batch": { method: "dopri5", rtol: 1e-7, atol: 1e-9 },
  "dopri5, norm sample": { method: "dopri5", rtol: 1e-7, atol: 1e-9, norm: "sample" },
  "tsit5 with jumps": { method: "tsit5", rtol: 1e-7, atol: 1e-9, jumpTimes: [0.7] },
  "dopri8, step by step": { method: "dopri8", rtol: 1e-7, atol: 1e-9, compile: false },
  "dopri5, checkpoint": { method: "dopri5", rtol: 1e-7, atol: 1e-9, adjoint: "checkpoint" },
};

for (const [name, options] of Object.entries(methods)) {
  for (const t of name.startsWith("dopri5, norm") ? [[0, 2], [0, 0.4, 2]] : [[0, 0.4, 2]]) {
    const test = name === "dopri5, norm sample" && t.length === 3 ? Deno.test : testLong;
    // The state has one element, so that every norm gives the steps of a sample.
    const final = (y: Tensor, a: Tensor) => solve(y.reshape([1]), a, t, options).sum();
    const loss = (y: Tensor) => final(y, tensor(1, { dtype }));
    const lossOfA = (a: Tensor) => final(tensor(1.5, { dtype }), a);
    const valueOf = async (f: (x: Tensor) => Tensor, x: number) => await f(tensor(x, { dtype })).item();
    const slopeOf = async (f: (x: Tensor) => Tensor, x: number, h = 1e-3) => {
      const [a, b, c, d] = await Promise.all([-2, -1, 1, 2].map((i) => valueOf(f, x + i * h)));
      return (a - 8 * b + 8 * c - d) / (12 * h);
    };
    const one = tensor(1, { dtype });
    const tangentOf = (f: (x: Tensor) => Tensor) => (x: Tensor) => jvp(f)([x], [one])[1];
    const derivatives: Record<string, (f: (x: Tensor) => Tensor) => (x: Tensor) => Tensor> = {
      "vmap of grad": (f) => vmap(grad(f)),
      "grad of vmap": (f) => grad((x: Tensor) => vmap(f)(x).sum()),
      "vmap of jvp": (f) => vmap(tangentOf(f)),
      "jvp of vmap": (f) => (x) => jvp(vmap(f))([x], [x.zerosLike().add(1)])[1],
      "vmap of vmap of grad": (f) => (x) => vmap(vmap(grad(f)))(x.expandDims(1)).flatten(),
      "jit of vmap of grad": (f) => jit(vmap(grad(f))),
      "jit of jvp of vmap": (f) => jit((x: Tensor) => jvp(vmap(f))([x], [x.zerosLike().add(1)])[1]),
      "vmap of remat": (f) => vmap(grad((x: Tensor) => remat(f, x))),
    };
    for (const [transformation, transform] of Object.entries(derivatives)) {
      test(`${transformation} of ${name}, ${t.length} times, differentiates each example`, async () => {
        for (const [f, points] of [[loss, starts], [lossOfA, [1, 0.5]]] as const) {
          const expected = await Promise.all(points.map((x) => slopeOf(f, x)));
          await assertClose(transform(f)(numbers([...points])), expected, 2e-5);
        }
      });
    }
    const single: Record<string, (f: (x: Tensor) => Tensor) => (x: Tensor) => Tensor> = {
      grad,
      jvp: tangentOf,
      jacobian: (f) => jacobian(f),
      "jit of grad": (f) => jit(grad(f)),
      "jit of jvp": (f) => jit(tangentOf(f)),
      "grad of jit": (f) => grad(jit(f)),
      vjp: (f) => (x) => vjp(() => f(x), x).pullback(one),
      "grad inside scan": (f) =>
        grad((x: Tensor) =>
          scan((y: Tensor, x: Tensor) => [y.add(f(x)), {}], tensor(0, { dtype }), x.reshape([1]))[0]
        ),
    };
    for (const [transformation, transform] of Object.entries(single)) {
      test(`${transformation} of ${name}, ${t.length} times, gives the derivative`, async () => {
        const [f, g] = [loss, lossOfA].map((f) => transform(f));
        // A second point: the steps, and what jit replays, differ.
        for (const x of starts) await assertClose(f(tensor(x, { dtype })), [await slopeOf(loss, x)], 2e-5);
        await assertClose(g(tensor(0.5, { dtype })), [await slopeOf(lossOfA, 0.5)], 2e-5);
      });
    }
    test(`second derivatives of ${name}, ${t.length} times, agree`, async () => {
      const expected = await Promise.all(starts.map((x) => slopeOf(grad(loss), x)));
      const sum = (f: (x: Tensor) => Tensor) => (x: Tensor) => f(x).sum();
      await assertClose(
        stack(starts.map((x) => grad(sum(grad(loss)))(tensor(x, { dtype })))),
        expected,
        2e-4,
      );
      await assertClose(vmap(tangentOf(grad(loss)))(numbers(starts)), expected, 2e-4);
      await assertClose(jit(grad(sum(grad(loss))))(tensor(1.5, { dtype })), [expected[0]], 2e-4);
    });
    test(`vmap of ${name}, ${t.length} times, takes the steps of each example`, async () => {
      const alone = await Promise.all(starts.map((x) => valueOf(loss, x)));
      await assertClose(vmap(loss)(numbers(starts)), alone, 1e-12);
      await assertClose(vmap(vmap(loss))(numbers(starts).expandDims(0)), alone, 1e-12);
      await assertClose(jit(vmap(loss))(numbers(starts)), alone, 1e-12);
    });
  }
}

for (const norm of ["batch", "sample"] as const) {
  const coarse = { method: "bosh3", rtol: 1e-2, atol: 1e-2, norm } as const;
  const start = tensor([[1.5], [0.2]], { dtype });
  const ends = (y: Tensor) => odeint((t, y) => t.sub(y.square()), y, [0, 3], coarse).select(0, 1);
  Deno.test(`jvp of coarse steps treats step sizes as constants, norm ${norm}`, async () => {
    const gradient = grad((y: Tensor) => ends(y).sum())(start);
    await assertClose(jvp(ends)([start], [start.zerosLike().add(1)])[1], [...await gradient.data()], 1e-12);
    const batched = (y: Tensor) => vmap(ends)(y.expandDims(0)).squeeze(0);
    await assertClose(
      jvp(batched)([start], [start.zerosLike().add(1)])[1],
      [...await gradient.data()],
      1e-12,
    );
    if (norm === "sample") await assertClose(gradient, [0.00397, -0.00787], 1e-5);
  });
}

Deno.test("NaN of a control after the end of an example reaches no gradient", async () => {
  const X = LinearInterpolation(tensor([[0], [1], [NaN], [NaN]], { dtype }), [0, 1, 2, 3]);
  const end = (scale: Tensor, norm: ErrorNorm) =>
    cdeint(X, (_t, z) => z.mul(scale).expandDims(-1), tensor([[1]], { dtype }), [0, 1], {
      method: "dopri5",
      rtol: 1e-9,
      atol: 1e-9,
      norm,
    }).slice(1, 1, 2).sum();
  for (const norm of ["batch"] as const) {
    const scales = numbers([1, 2]);
    await assertClose(vmap(grad((s: Tensor) => end(s, norm)))(scales), [Math.exp(1), Math.exp(2)], 1e-6);
    await assertClose(vmap(grad((s: Tensor) => end(s, norm)))(numbers([1, 200])).slice(0, 0, 1), [
      Math.exp(1),
    ], 1e-6);
  }
});

Deno.test("a training step with an adaptive solve gives the same losses inside jit", async () => {
  const run = async (wrap: (f: (w: Tensor, x: Tensor) => Tensor) => (w: Tensor, x: Tensor) => Tensor) => {
    const step = wrap((w, x) =>
      w.sub(
        grad((w: Tensor) =>
          odeint((_t, y) => y.matmul(w).tanh(), x.matmul(w), [0, 0.5, 2], { method: "dopri5", rtol: 1e-5 })
            .square().mean()
        )(w).mul(0.1),
      )
    );
    let w = tensor([[0.3, -0.4], [0.1, 0.9]], { dtype });
    for (let i = 0; i < 6; i++) w = step(w, tensor([[1, 2 + i], [-1, 0.5 * i]], { dtype }));
    return [...await w.data()];
  };
  const [plain, traced] = [await run((f) => f), await run(jit)];
  assert.deepEqual(traced, plain);
});

Deno.test("an adaptive solve inside scan equals solves one after another", async () => {
  const options = { method: "dopri5", rtol: 1e-6 } as const;
  const next = (y: Tensor, x: Tensor) => solve(y, x, [0, 1], options);
  const xs = numbers([1, 0.5, 2]);
  const [last] = scan((y: Tensor, x: Tensor) => [next(y, x), {}], numbers([1, 0.3]), xs);
  let y = numbers([1, 0.3]);
  for (let i = 0; i < 3; i++) y = next(y, xs.select(0, i));
  await assertClose(last, [...await y.data()], 1e-12);
});

for (const norm of ["batch", "sample"] as const) {
  Deno.test(`gradients flow to the times of jumps, norm ${norm}`, async () => {
    // y' = -y + 1 after the jump: y(1) = exp(-1) y0 + 1 - exp(jump - 1), with the derivative -exp(jump - 1).
    const end = (jump: Tensor, from = 0, to = 1) =>
      odeint(
        (t, y) => y.neg().add(t.greater(stopGradient(jump.select(0, 0))).where(1, y.zerosLike())),
        tensor([[0.3], [2]], { dtype }),
        [from, to],
        { method: "dopri5", rtol: 1e-9, atol: 1e-11, jumpTimes: jump, norm },
      ).select(0, 1).sum();
    const jump = numbers([0.5]);
    const expected = -2 * Math.exp(-0.5);
    await assertClose(grad((jump: Tensor) => end(jump))(jump), [expected], 1e-7);
    await assertClose(jvp((jump: Tensor) => end(jump))([jump], [numbers([1])])[1], [expected], 1e-7);
    await assertClose(jit(grad((jump: Tensor) => end(jump)))(jump), [expected], 1e-7);
    // Backwards from 1 to 0: y(0) = e (y(1) - 1) + exp(jump).
    await assertClose(grad((jump: Tensor) => end(jump, 1, 0))(jump), [2 * Math.exp(0.5)], 1e-7);
  });
}
