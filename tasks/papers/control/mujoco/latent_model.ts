/** Latent models of a system: the next observation and the time gap after an action. */
import {
  arange,
  BetweenObservations,
  concatenate,
  crossEntropy,
  deltaRule,
  GRUCell,
  hebbRule,
  type Key,
  Linear,
  type MethodName,
  MLP,
  normal,
  ODERecurrentCell,
  type ParameterOptions,
  type ParameterTree,
  scan,
  splitKey,
  type Tensor,
  type Tree,
  zeros,
} from "@weft/weft";
import { meanOfDecisions } from "../environment_model.ts";
import { gapClasses, gapRange } from "./problem.ts";
import { mujoco } from "../../recipes/mujoco.ts";
import { valuesOf } from "../../recipes/recipe.ts";

/** The learning rules of the fast weights. */
export const fastWeightRules = { hebb: hebbRule, delta: deltaRule } as const;

/** Outputs of the decoder: the next observation, or its difference from the current one. */
export const decodedValues = ["observation", "change"] as const;

/** Options of a latent model. */
export interface LatentModelOptions extends ParameterOptions {
  /** Values of an observation, and of an action. */
  readonly values: number;
  readonly actions: number;
  /** Features of the latent state, of the encoder and of the vector field's two hidden layers. */
  readonly hidden: number;
  /** Method of the solver, see `BetweenObservations`. */
  readonly method: MethodName;
  readonly decodes: (typeof decodedValues)[number];
  /** Heads, features of the feedforward block and rule of fast weights. */
  readonly heads: number;
  readonly feedForward: number;
  readonly rule: keyof typeof fastWeightRules;
}

const { distributionWidth, timerWidth, fieldDepth, relativeTolerance: rtol, absoluteTolerance: atol } =
  valuesOf(
    mujoco.rules,
  );

/** Decisions with the time along the second axis. Gaps are in time steps, and zero after the end of an episode. */
export interface Windows {
  /** Normalized observations before each decision and after the last one, `(batch, length + 1, values)`. */
  readonly states: Tensor;
  readonly actions: Tensor;
  readonly gaps: Tensor;
}

/** The latent state: a tree of tensors `(batch, ...)`. */
export type Latent = Tree;

/** A latent model. Observations are normalized, inputs are observations with actions `(batch, values + actions)`. */
export interface LatentModel<S extends Latent = Latent> {
  readonly parameters: { readonly [name: string]: ParameterTree };
  /** A latent state that is drawn from the prior, the standard normal distribution. */
  start(batch: number, key: Key): S;
  /** The latent state after a decision and a time gap `(batch, 1)` in time steps. */
  next(latent: S, input: Tensor, gap: Tensor): S;
  /** The recurrent features `(batch, hidden)` of the latent state. */
  read(latent: S): Tensor;
  /** The predicted observation after a decision, from the latent state after it and the observation before it. */
  decode(latent: S, state: Tensor): Tensor;
  /** The most probable time gap `(batch, 1)` of a decision, from the latent state before it. */
  gapAfter(latent: S, input: Tensor): Tensor;
  /**
   * The parts of the loss. The model reads the real observations, and predicts the next one.
   *
   * - `states`: mean squared error of observations,
   * - `gaps`: cross-entropy of time gaps,
   * - `divergence`: Kullback-Leibler divergence of the first latent state from the prior, per feature.
   */
  errors(windows: Windows, key: Key): { states: Tensor; gaps: Tensor; divergence: Tensor };
}

/** A recurrent cell with a differential equation between observations. */
interface Cell<S extends Latent> {
  readonly parameters: { readonly [name: string]: ParameterTree };
  readonly compiles: boolean;
  /** The state with the recurrent features `(batch, hidden)`. */
  start(features: Tensor): S;
  observe(state: S, input: Tensor): S;
  evolve(state: S, gap: Tensor): S;
  /** The recurrent features. */
  read(state: S): Tensor;
}

type CellOptions = LatentModelOptions & { readonly inputs: number };

const solverOf = ({ method, hidden }: LatentModelOptions) => ({
  ...{ method, width: hidden, depth: fieldDepth },
  ...(method === "dopri5" ? { rtol, atol } : {}),
});

/** A linear map of input and latent state, then an ODE: the latent ODE of Du et al. and of the authors' code. */
function linearCell(options: CellOptions): Cell<Tensor> {
  const { inputs, hidden, key, dtype } = options;
  const [linearKey, fieldKey] = splitKey(key);
  const update = Linear({ inputs: inputs + hidden, outputs: hidden, key: linearKey, dtype });
  const between = BetweenObservations({ features: hidden, ...solverOf(options), key: fieldKey, dtype });
  return {
    parameters: { update: update.parameters, vectorField: between.parameters },
    compiles: between.compiles,
    start: (features) => features,
    observe: (h, input) => update(concatenate([input, h], -1)),
    evolve: between.evolve,
    read: (h) => h,
  };
}

/** Recurrent fast weights, then an ODE (Irie et al., 2022, equations 26 and 27, in the order of the code). */
function fastWeightCell(options: CellOptions) {
  const { inputs, hidden, heads, feedForward, rule, key, dtype } = options;
  const cell = ODERecurrentCell({
    ...{ inputChannels: inputs, modelDim: hidden, heads, feedForward, rule: fastWeightRules[rule]() },
    // As in the code: the query depends on the input alone.
    ...{ queryFeedback: false, ...solverOf(options), key, dtype },
  });
  return {
    ...cell,
    start: (features: Tensor) => ({ ...cell.start(features.expandDims(1)), h: [features] }),
    read: ({ h }: ReturnType<typeof cell.start>) => h[0],
  };
}

/** The models by name. */
export const latentModels: Readonly<
  Record<"latent-ode" | "latent-ode-rfwp", (options: LatentModelOptions) => LatentModel>
> = {
  "latent-ode": (options) => make(options, linearCell),
  "latent-ode-rfwp": (options) => make(options, fastWeightCell),
};

function make<S extends Latent>(
  options: LatentModelOptions,
  makeCell: (options: CellOptions) => Cell<S>,
): LatentModel {
  const { values, actions, hidden, decodes, dtype } = options;
  const keys = splitKey(options.key, 5);
  const inputs = values + actions;
  const cell = makeCell({ ...options, inputs, key: keys[0] });
  const encoder = GRUCell({ inputs, hidden, key: keys[1], dtype });
  const distribution = MLP({
    ...{ inputs: hidden, outputs: 2 * hidden, width: distributionWidth, depth: 1, activation: "tanh" },
    ...{ key: keys[2], dtype },
  });
  const decoder = Linear({ inputs: hidden, outputs: values, key: keys[3], dtype });
  const timer = MLP({
    ...{ inputs: inputs + hidden, outputs: gapClasses, width: timerWidth, depth: 1, activation: "tanh" },
    ...{ key: keys[4], dtype },
  });
  const decode = (features: Tensor, state: Tensor) =>
    decodes === "change" ? state.add(decoder(features)) : decoder(features);
  const next = (latent: S, input: Tensor, gap: Tensor) => cell.evolve(cell.observe(latent, input), gap);

  /** Mean and logarithm of the variance of the first latent state, from all decisions of windows. */
  const encode = (inputs: Tensor, gaps: Tensor) => {
    const rows = { input: inputs.transpose(0, 1), known: gaps.transpose(0, 1).greater(0) };
    const [last] = scan(
      (h: Tensor, { input, known }: typeof rows): [Tensor, Tensor] => {
        const after = known.where(encoder(input, h), h);
        return [after, after.slice(-1, 0, 1)];
      },
      zeros([inputs.shape[0], hidden], { dtype }),
      rows,
    );
    const encoded = distribution(last);
    return { mean: encoded.slice(-1, 0, hidden), logVariance: encoded.slice(-1, hidden) };
  };

  const model: LatentModel<S> = {
    parameters: {
      ...{ cell: cell.parameters, encoder: encoder.parameters, distribution: distribution.parameters },
      ...{ decoder: decoder.parameters, timer: timer.parameters },
    },
    start: (batch, key) => cell.start(normal(key, [batch, hidden], { dtype })),
    ...{ next, read: cell.read },
    decode: (latent, state) => decode(cell.read(latent), state),
    gapAfter(latent, input) {
      const logits = timer(concatenate([input, cell.read(latent)], -1));
      // Compiled loops have no argmax.
      const isBest = logits.greaterEqual(logits.max(-1, { keepDims: true })).cast(input.dtype);
      const total = isBest.mul(arange(gapClasses, { dtype })).sum(-1, { keepDims: true });
      return total.div(isBest.sum(-1, { keepDims: true })).add(gapRange.least);
    },
    errors({ states, actions, gaps }, key) {
      const length = actions.shape[1];
      const before = states.slice(1, 0, length);
      const inputs = concatenate([before, actions], -1);
      const { mean, logVariance } = encode(inputs, gaps);
      const first = mean.add(logVariance.div(2).exp().mul(normal(key, mean.shape, { dtype })));
      const rows = { input: inputs.transpose(0, 1), gap: gaps.transpose(0, 1) };
      const [, read] = scan(
        (latent: S, { input, gap }: typeof rows): [S, Tensor] => {
          const after = next(latent, input, gap);
          return [after, cell.read(after)];
        },
        cell.start(first),
        rows,
        { compile: cell.compiles },
      );
      const features = (read as Tensor).transpose(0, 1);
      const earlier = concatenate([first.expandDims(1), features.slice(1, 0, length - 1)], 1);
      const wrong = decode(features, before).sub(states.slice(1, 1));
      const logits = timer(concatenate([inputs, earlier], -1));
      // A gap of zero has the class -1, a missing label.
      const classes = gaps.squeeze(-1).sub(gapRange.least).cast("int32");
      const divergence = logVariance.exp().add(mean.square()).sub(1).sub(logVariance).div(2).mean();
      return {
        states: meanOfDecisions(wrong.square(), gaps).div(values),
        gaps: crossEntropy(logits, classes),
        divergence,
      };
    },
  };
  return model as unknown as LatentModel;
}
