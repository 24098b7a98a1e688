/**
 * Times training steps with adaptive solves, events and stochastic equations in Weft and Diffrax, which take turns. A training step is
 * a loss and its gradient, compiled by `jit` in both.
 */
import {
  concatenate,
  foldIn,
  jit,
  type Key,
  key,
  MLP,
  normal,
  odeint,
  odeintEvent,
  sdeint,
  solve,
  type Tensor,
  type Tree,
  uniform,
  valueAndGrad,
  type VectorField,
} from "../mod.ts";
import { main, wholeFrom } from "../src/commands/command.ts";
import { compare, comparisonTable, type PeerOptions, weft } from "./peers/compare.ts";
import { benchCommand } from "./programs.ts";

const column = (y: Tensor, i: number) => y.slice(1, i, i + 1);
const meanSquare = (x: Tensor) => x.square().mean();

/** A gradient with respect to initial states in float64. Each sample takes its own steps. */
function ofStates(
  field: (...columns: Tensor[]) => Tensor[],
  y0: Tensor,
  end: number,
  options: { method: "dopri5" | "kvaerno5"; tolerance: number },
): () => unknown {
  const { method, tolerance } = options;
  const f: VectorField = (_t, y) =>
    concatenate(field(...Array.from({ length: y.shape[1] }, (_, i) => column(y, i))), 1);
  const final = (y0: Tensor) =>
    odeint(f, y0, [0, end], { method, rtol: tolerance, atol: tolerance, norm: "sample" }).select(0, 1);
  const step = jit(valueAndGrad((y0: Tensor) => meanSquare(final(y0))));
  return () => step(y0);
}

function vanDerPol(batch: number): () => unknown {
  const mu = normal(key(0), [batch, 1], { dtype: "float64" }).abs().mul(3).add(0.5);
  const y0 = normal(key(1), [batch, 2], { dtype: "float64" }).mul(2);
  const field = (x: Tensor, v: Tensor) => [v, x.square().neg().add(1).mul(v).mul(mu).sub(x)];
  return ofStates(field, y0, 10, { method: "dopri5", tolerance: 1e-6 });
}

function lorenz(batch: number): () => unknown {
  const y0 = normal(key(1), [batch, 3], { dtype: "float64" }).mul(5).add(1);
  const field = (a: Tensor, b: Tensor, c: Tensor) => [
    b.sub(a).mul(10),
    a.mul(c.neg().add(28)).sub(b),
    a.mul(b).sub(c.mul(8 / 3)),
  ];
  return ofStates(field, y0, 2, { method: "dopri5", tolerance: 1e-6 });
}

/** Van der Pol's equation with mu = 100 over most of a period. */
function stiff(batch: number): () => unknown {
  const y0 = concatenate([
    uniform(key(1), [batch, 1], { dtype: "float64", low: 1.5, high: 2.5 }),
    uniform(key(2), [batch, 1], { dtype: "float64", low: -0.5, high: 0.5 }),
  ], 1);
  const field = (x: Tensor, v: Tensor) => [v, x.square().neg().add(1).mul(v).mul(100).sub(x)];
  return ofStates(field, y0, 100, { method: "kvaerno5", tolerance: 1e-5 });
}

/** 16 balls fall with a learned acceleration, bounce, and reach the ground again. */
function balls(): () => unknown {
  const closure = MLP({ inputs: 2, outputs: 1, width: 32, depth: 1, key: key(0) });
  const field: VectorField = (_t, y) => concatenate([column(y, 1), closure(y).mul(0.1).sub(9.81)], 1);
  const starts = uniform(key(1), [16, 1], { low: 5, high: 15 });
  const y0 = concatenate([starts, starts.zerosLike()], 1);
  const fall = () =>
    odeintEvent(field, y0, 0, (_t, y) => y.select(1, 0), {
      ...{ method: "dopri5", rtol: 1e-5, atol: 1e-6, norm: "sample", direction: "down", maxEvents: 2 },
      restart: (_t, y) => concatenate([column(y, 0), column(y, 1).mul(-0.8)], 1),
    });
  const step = jit(valueAndGrad((_: Tree) => meanSquare(fall().t)));
  return () => step(closure.parameters);
}

/** 32 latent states, each with 20 output times that other states do not have. */
function latentOde(): () => unknown {
  const make = (seed: number, outputs: number) =>
    MLP({ inputs: 8, outputs, width: 32, depth: 1, key: key(seed) });
  const [field, readout] = [make(0, 8), make(1, 2)];
  const y0 = normal(key(2), [32, 8]);
  const t = uniform(key(3), [32, 20], { low: 0, high: 2 }).sort(1);
  const f: VectorField = (_t, y) => field(y).tanh();
  const read = () =>
    solve(f, y0, [0, 2], {
      ...{ method: "dopri5", rtol: 1e-5, atol: 1e-6, norm: "sample" },
      save: { t, fn: (_t, y) => readout(y) },
    }).y;
  const step = jit(valueAndGrad((_: Tree) => meanSquare(read())));
  return () => step([field.parameters, readout.parameters]);
}

/** 64 samples of 8 channels, networks of width 32, 1,000 steps. */
function neuralSde(): () => unknown {
  const make = (seed: number) => MLP({ inputs: 8, outputs: 8, width: 32, depth: 1, key: key(seed) });
  const [f, g] = [make(0), make(1)];
  const y0 = normal(key(2), [64, 8]);
  const path = (key: Key) =>
    sdeint((_t, y: Tensor) => f(y).tanh(), (_t, y) => g(y).sigmoid(), y0, [0, 1], key, {
      method: "euler_maruyama",
      stepSize: 1e-3,
    });
  const step = jit((key: Key) =>
    valueAndGrad(() => meanSquare(path(key).select(0, 1)))([f.parameters, g.parameters])
  );
  let count = 0;
  return () => step(foldIn(key(3), count++));
}

const workloads: Readonly<Record<string, () => () => unknown>> = {
  balls,
  "latent-ode": latentOde,
  ...Object.fromEntries([1, 32, 256, 1024].map((batch) => [`van-der-pol@${batch}`, () => vanDerPol(batch)])),
  ...Object.fromEntries([1, 32, 256, 1024].map((batch) => [`lorenz@${batch}`, () => lorenz(batch)])),
  "stiff-van-der-pol@32": () => stiff(32),
  "neural-sde": neuralSde,
};

const names = Object.keys(workloads);
const program = benchCommand("adaptive")
  .argument("[workloads...]", `some of ${names.join(", ")}; all by default`)
  .option("--python <path>", "Python with Diffrax", "python3")
  .option("--threads <number>", "threads per implementation", wholeFrom(1), navigator.hardwareConcurrency)
  .option("--repeats <number>", "timed steps per implementation", wholeFrom(1), 7);
await main(async (args) => {
  program.parse(args, { from: "user" });
  const options = { ...program.opts<PeerOptions>(), scripts: ["diffrax_adaptive.py"] };
  const comparisons = [];
  for (const workload of program.args.length > 0 ? program.args : names) {
    const start = () => weft(workloads[workload], { ...options, device: "cpu" });
    comparisons.push(await compare(workload, start, options));
    console.error(JSON.stringify(comparisons.at(-1)));
  }
  console.log(comparisonTable(comparisons));
  return 0;
});
