/**
 * Adaptive solves of 256 samples, alternating between steps shared by all samples and separate steps per
 * sample:
 *
 *     deno run bench/adaptive_steps.ts [repeats]
 *
 * Van der Pol's equation with a different stiffness for each sample, and Lorenz's equation; dopri5, a
 * tolerance of 1e-6, float64. Prints medians.
 */
import {
  concatenate,
  type ErrorNorm,
  init,
  key,
  normal,
  odeint,
  type SolveOptions,
  type SolveStatistics,
  type Tensor,
  valueAndGrad,
  type VectorField,
} from "../mod.ts";
import { secondsOf } from "./timing.ts";

const repeats = Number(Deno.args[0] ?? 5);
const device = await init({ device: "cpu" });
const batch = 256;
const dtype = "float64";

const stiffness = normal(key(0), [batch, 1], { dtype }).abs().mul(3).add(0.5);
const part = (y: Tensor, i: number) => y.slice(1, i, i + 1);
const problems: { name: string; f: VectorField; y0: Tensor; t: number[] }[] = [
  {
    name: "Van der Pol, stiffness 0.5 to 10",
    f: (_t, y) => {
      const [x, v] = [part(y, 0), part(y, 1)];
      return concatenate([v, x.square().neg().add(1).mul(v).mul(stiffness).sub(x)], 1);
    },
    y0: normal(key(1), [batch, 2], { dtype }).mul(2),
    t: [0, 10],
  },
  {
    name: "Lorenz",
    f: (_t, y) => {
      const [a, b, c] = [part(y, 0), part(y, 1), part(y, 2)];
      return concatenate([b.sub(a).mul(10), a.mul(c.neg().add(28)).sub(b), a.mul(b).sub(c.mul(8 / 3))], 1);
    },
    y0: normal(key(1), [batch, 3], { dtype }).mul(5).add(1),
    t: [0, 2],
  },
];
const median = (values: number[]) => values.toSorted((a, b) => a - b)[values.length >> 1];
const norms: ErrorNorm[] = ["batch", "sample"];

for (const { name, f, y0, t } of problems) {
  const statistics = { batch: {} as SolveStatistics, sample: {} as SolveStatistics };
  const options = (norm: ErrorNorm): SolveOptions => ({
    method: "dopri5",
    rtol: 1e-6,
    atol: 1e-6,
    norm,
    statistics: statistics[norm],
  });
  const works = {
    solve: (norm: ErrorNorm) => odeint(f, y0, t, options(norm)),
    "solve and gradient": (norm: ErrorNorm) =>
      valueAndGrad((y: Tensor) => odeint(f, y, t, options(norm)).square().mean())(y0),
  };
  for (const [what, work] of Object.entries(works)) {
    const seconds = { batch: [] as number[], sample: [] as number[] };
    for (let i = -2; i < repeats; i++) {
      for (const norm of norms) {
        const taken = await secondsOf(device, () => work(norm));
        if (i >= 0) seconds[norm].push(taken);
      }
    }
    const [all, separate] = norms.map((norm) => median(seconds[norm]));
    const times = `${(1000 * all).toFixed(1)} ms, separate steps ${(1000 * separate).toFixed(1)} ms`;
    console.log(`${name}, ${what}: shared steps ${times}, ${(all / separate).toFixed(1)} times faster`);
  }
  const { stepsOfSamples = [], rejected, evaluations } = statistics.sample;
  const mean = stepsOfSamples.reduce((sum, steps) => sum + steps) / batch;
  const { batch: shared } = statistics;
  console.log(
    `  shared: ${shared.steps} steps, ${shared.rejected} rejected, ${shared.evaluations} evaluations; separate: ` +
      `${mean.toFixed(1)} steps per sample (${Math.min(...stepsOfSamples)} to ${
        Math.max(...stepsOfSamples)
      }), at most ` +
      `${rejected} rejected, ${evaluations} evaluations of the batch`,
  );
}
