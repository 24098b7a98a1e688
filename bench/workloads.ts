/** The workloads of the papers, in the shapes of the scripts in `peers/`. */
import {
  bernoulli,
  crossEntropy,
  DeltaNet,
  deltaRule,
  type DiscreteFastWeightOptions,
  FastWeightCDE,
  type FastWeightModelOptions,
  FastWeightODE,
  full,
  gatedDeltaRule,
  gaussianNLL,
  hebbRule,
  key,
  type LearningRule,
  LinearTransformer,
  meanSquaredError,
  naturalCubicCoeffs,
  normal,
  type SolveOptions,
  StructuredCDE,
  type Tensor,
  WARP,
  type WARPOptions,
} from "../mod.ts";
import { neuralCde, type Problem, randomControl, training } from "./models.ts";
import type { PreparedWorkload } from "./timing.ts";

/** Sizes that override the sizes of a workload. */
interface Sizes {
  readonly batch?: number;
  readonly length?: number;
}

/** Makes a workload's data. The adjoint, if given, overrides the workload's adjoint. */
type Workload = (sizes: Sizes, adjoint?: SolveOptions["adjoint"]) => PreparedWorkload;

/** A step of a model solved by the 3/8 rule with one step per observation. */
function solved(
  make: (solver: SolveOptions, sizes: Sizes) => Problem,
  defaultAdjoint: SolveOptions["adjoint"] = "direct",
): Workload {
  return (sizes, adjoint = defaultAdjoint) => training(make({ method: "rk4", stepSize: 1, adjoint }, sizes));
}

function fastWeight(
  model: typeof FastWeightODE,
  [ownBatch, ownLength]: readonly [number, number],
  options: Omit<FastWeightModelOptions, "key">,
): Workload {
  return solved((solver, { batch = ownBatch, length = ownLength }) => {
    const X = randomControl(batch, length, options.inputChannels);
    const apply = model({ ...options, ...solver, key: key(1) });
    return { loss: () => apply(X).square().mean(), parameters: apply.parameters };
  });
}

function spline(
  [ownBatch, ownLength, channels]: readonly [batch: number, length: number, channels: number],
  missing: number,
): Workload {
  return ({ batch = ownBatch, length = ownLength }) => {
    const shape = [batch, length, channels];
    const complete = normal(key(0), shape);
    const x = missing > 0 ? bernoulli(key(1), missing, shape).where(NaN, complete) : complete;
    return { step: () => naturalCubicCoeffs(x) };
  };
}

function matmul(ownSize: number): Workload {
  return ({ batch: size = ownSize }) => {
    const [a, b] = [key(0), key(1)].map((seed) => normal(seed, [size, size]));
    return { step: () => a.matmul(b) };
  };
}

/** DeltaNet with a rule, or a linear Transformer without one, that reads all states of a batch. */
function discrete(mode: DiscreteFastWeightOptions["mode"], rule?: LearningRule): Workload {
  return ({ batch = 1, length = 4096 }) => {
    const x = normal(key(0), [batch, length, 8]);
    const options = { inputChannels: 8, modelDim: 128, heads: 4, outputChannels: 8, mode, key: key(1) };
    const model = rule ? DeltaNet({ ...options, rule }) : LinearTransformer(options);
    return training({
      loss: () => model(x, { states: "all" }).square().mean(),
      parameters: model.parameters,
    });
  };
}

/** A structured CDE of one layer, with blocks of 4 and steps of Euler, that reads all states of a batch. */
const structuredCde: Workload = ({ batch = 16, length = 4096 }) => {
  const x = normal(key(0), [batch, length, 128]);
  const model = StructuredCDE({
    ...{ inputChannels: 128, modelDim: 128, stateSize: 128, outputChannels: 8, layers: 1, key: key(1) },
    ...{ structure: { blockSize: 4 }, form: "euler", control: "values" },
  });
  return training({
    loss: () => model(x, { states: "all" }).square().mean(),
    parameters: model.parameters,
  });
};

const discreteRules = {
  "delta-net": deltaRule({ boundValues: false }),
  "gated-delta-net": gatedDeltaRule({ time: "discrete" }),
  "linear-transformer": undefined,
};

type Loss = (output: Tensor, x: Tensor) => Tensor;

const squaredError: Loss = (predictions, x) => meanSquaredError(predictions.slice(1, 0, -1), x.slice(1, 1));
const likelihood: Loss = (output, x) => gaussianNLL(output.slice(2, 0, 1), output.slice(2, 1), x);

/** WARP on random walks. With a forcing probability it feeds back predictions from the second value on. */
function warp(
  [ownBatch, ownLength, channels]: readonly [number, number, number],
  loss: Loss,
  options: Omit<WARPOptions, "inputChannels" | "key">,
  pForcing?: number,
): Workload {
  return ({ batch = ownBatch, length = ownLength }) => {
    const x = normal(key(0), [batch, length, channels]).cumsum(1).div(Math.sqrt(length));
    const model = WARP({ ...options, inputChannels: channels, key: key(1) });
    const call = pForcing === undefined ? {} : { context: 1, pForcing, key: key(2) };
    return training({ loss: () => loss(model(x, call), x), parameters: model.parameters });
  };
}

const character = { batch: 32, length: 182, channels: 4, hidden: 32, width: 32, depth: 3 };
/** For a vector field whose layers are as wide as the state. */
const wide = (hidden: number) => ({ batch: 32, length: 65, channels: 4, hidden, width: hidden, depth: 3 });
const speech = { batch: 128, length: 161, channels: 21, hidden: 90, width: 40, depth: 4 };

const workloads: Record<string, Workload> = {
  // Kidger et al. (2020), appendix D.2.
  "ncde-character-direct": solved((solver, sizes) => neuralCde({ ...character, ...sizes }, solver)),
  "ncde-character-adjoint": solved(
    (solver, sizes) => neuralCde({ ...character, ...sizes }, solver),
    "continuous",
  ),
  // Appendix D.4, with an eighth of its batch size.
  "ncde-speech-adjoint": solved((solver, sizes) => neuralCde({ ...speech, ...sizes }, solver), "continuous"),
  // Not from a paper: weights of 0.5, 2 and 7 MB.
  ...Object.fromEntries(
    [128, 256, 512].map((hidden) => [
      `ncde-hidden-${hidden}`,
      solved((solver, sizes) => neuralCde({ ...wide(hidden), ...sizes }, solver)),
    ]),
  ),
  // Irie et al. (2022), table 3.
  "fwp-ode-speech-hebb": fastWeight(FastWeightODE, [64, 161], {
    inputChannels: 21,
    modelDim: 128,
    heads: 32,
    feedForward: 512,
    outputChannels: 10,
    rule: hebbRule(),
  }),
  "fwp-cde-speech-delta": fastWeight(FastWeightCDE, [64, 161], {
    inputChannels: 21,
    modelDim: 80,
    heads: 4,
    feedForward: 320,
    outputChannels: 10,
    rule: deltaRule(),
  }),
  // EigenWorms, with a quarter of its length.
  "fwp-cde-worms-delta": fastWeight(FastWeightCDE, [16, 1125], {
    inputChannels: 7,
    modelDim: 128,
    heads: 16,
    feedForward: 64,
    outputChannels: 5,
    rule: deltaRule({ postTanh: true }),
  }),
  // Not from a paper: fast weights of 4 heads of 32 x 32, by chunks and step by step.
  ...Object.fromEntries(
    Object.entries(discreteRules).flatMap(([name, rule]) => [
      [name, discrete("auto", rule)],
      [`${name}-recurrent`, discrete("recurrent", rule)],
    ]),
  ),
  // Walker et al. (2025): the block-diagonal form, over a long series.
  "structured-cde": structuredCde,
  "spline-dense": spline([1024, 161, 21], 0),
  // The sepsis data of PhysioNet: a tenth of the values is observed.
  "spline-missing": spline([64, 72, 34], 0.9),
  // Not from a paper: a product of two square matrices.
  "matmul": matmul(1024),
  // Nzoyem et al. (2025), appendix C: sine waves, D = 4,849.
  "warp-sine": warp([10, 16, 1], squaredError, {
    outputChannels: 1,
    root: { width: 48, depth: 3, activation: "silu" },
  }, 0.25),
  // Mass-spring-damper, with an eighth of its length and of its batch size, D = 4,898.
  "warp-msd": warp([128, 32, 2], squaredError, {
    outputChannels: 2,
    root: { width: 48, depth: 3, activation: "silu" },
    bound: { low: -38, high: 38 },
  }, 0.25),
  // Digits of 14 x 14 pixels, D = 1,298.
  "warp-mnist": warp([64, 196, 1], likelihood, {
    outputChannels: 1,
    root: { width: 24, depth: 3 },
    output: "normal",
    bound: "dynamicTanh",
    initial: "learned",
    leastDeviation: 0.5,
  }, 0.15),
  // Spirals, D = 98, with all values known.
  "warp-spirals": warp(
    [256, 64, 2],
    (logits) => crossEntropy(logits, full([logits.shape[0]], 1, { dtype: "int32" })),
    {
      outputChannels: 2,
      root: { width: 24, depth: 1, activation: "silu" },
      output: "logits",
    },
  ),
};

/** Names of the workloads, in order. */
export const workloadNames: readonly string[] = Object.keys(workloads);

/**
 * Makes the data of a workload on the current device.
 *
 * @param name Name of the workload, optionally followed by @ and the batch size, or the batch size and the
 * length: "warp-msd@1024x256".
 * @throws {RangeError} If the workload is unknown.
 */
export function prepare(name: string, adjoint?: SolveOptions["adjoint"]): PreparedWorkload {
  const [, workload, batch, length] = /^([^@]*)(?:@(\d+)(?:x(\d+))?)?$/.exec(name) ?? [];
  if (!(workload in workloads)) {
    throw new RangeError(`unknown workload ${name}; expected one of ${workloadNames.join(", ")}`);
  }
  const sizes = { ...batch && { batch: Number(batch) }, ...length && { length: Number(length) } };
  return workloads[workload](sizes, adjoint);
}
