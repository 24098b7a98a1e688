/** Learned models of an environment: the next state and the time gap after an action. */
import {
  BetweenObservations,
  concatenate,
  GRUCell,
  Linear,
  MLP,
  ODERecurrentCell,
  type ParameterOptions,
  type ParameterTree,
  scan,
  splitKey,
  type Tensor,
  tensor,
  type Tree,
  zeros,
} from "@weft/weft";
import { type Environment, timeUnit } from "./environments.ts";

/** A recurrent cell whose state an ODE evolves between observations. */
interface Cell<S extends Tree> {
  readonly parameters: { readonly [name: string]: ParameterTree };
  /** A state of zeros, for states of the environment `(batch, states)`. */
  start(x: Tensor): S;
  observe(state: S, x: Tensor): S;
  evolve(state: S, gap: Tensor): S;
  /** The features `(batch, hidden)` that the decoder reads. */
  read(state: S): Tensor;
}

/** Options of an environment model. */
export interface EnvironmentModelOptions extends ParameterOptions {
  /** Features of the cell's state. A multiple of 4. */
  readonly hidden: number;
}

type CellOptions = EnvironmentModelOptions & { readonly inputs: number };

/** An ODE-RFWP: fast weights at observations, an ODE between them (Irie et al., 2022, equations 26 and 27). */
function fastWeightCell({ inputs, hidden, key, dtype }: CellOptions) {
  const cell = ODERecurrentCell({
    ...{ inputChannels: inputs, modelDim: hidden, heads: 4, feedForward: 2 * hidden, key, dtype },
    ...{ width: hidden, depth: 1 },
  });
  return { ...cell, read: ({ h }: ReturnType<typeof cell.start>) => h.at(-1)! };
}

/** An ODE-RNN, the baseline: a GRU at observations, an ODE between them (equations 9 and 10). */
function recurrentCell({ inputs, hidden, key, dtype }: CellOptions): Cell<Tensor> {
  const [cellKey, betweenKey] = splitKey(key);
  const gru = GRUCell({ inputs, hidden, key: cellKey, dtype });
  const between = BetweenObservations({
    ...{ features: hidden, width: hidden, depth: 1, key: betweenKey, dtype },
  });
  return {
    parameters: { cell: gru.parameters, vectorField: between.parameters },
    start: (x) => zeros([x.shape[0], hidden], { dtype: x.dtype }),
    observe: (h, x) => gru(x, h),
    evolve: between.evolve,
    read: (h) => h,
  };
}

/** Real decisions of episodes, with the time along the second axis. */
export interface Segments {
  /** States before each decision and after the last one, `(batch, length + 1, states)`. */
  readonly states: Tensor;
  /** Actions `(batch, length, 1)`. */
  readonly actions: Tensor;
  /** Time gaps in seconds `(batch, length, 1)`. Zero after the end of an episode. */
  readonly gaps: Tensor;
}

/** A transition of the model: the states are `(batch, states)`, the others `(batch, 1)`. */
export interface Transition {
  readonly state: Tensor;
  readonly action: Tensor;
  readonly gap: Tensor;
  readonly next: Tensor;
}

/** Mean of values `(..., channels)` over the decisions, summed over channels. A gap of zero is no decision. */
export function meanOfDecisions(x: Tensor, gaps: Tensor): Tensor {
  const known = gaps.greater(0).cast(gaps.dtype);
  return x.mul(known).sum().div(known.sum().maximum(1));
}

/** A learned model of an environment. */
export interface EnvironmentModel {
  readonly parameters: { readonly [name: string]: ParameterTree };
  /**
   * Simulates transitions from states `(batch, states)`, starting from zero fast weights. The state is complete, so
   * the model needs no history. Transitions are stacked along a new first axis.
   *
   * @param rows Actions `(length, batch, 1)`, or the inputs of a policy.
   * @param act A policy: the action in a state.
   */
  rollout(state: Tensor, rows: Tensor, act?: (state: Tensor, row: Tensor) => Tensor): Transition;
  /**
   * Mean squared errors: of states after 1, 2, 3 ... real actions and time gaps, in units of typical changes, and of
   * time gaps, in time units.
   */
  errors(segments: Segments): { states: Tensor; gaps: Tensor };
  /** Predicted states `(batch, length, states)` for the real actions and time gaps of segments. */
  predict(segments: Segments): Tensor;
}

/** Makes a model. */
export type MakeEnvironmentModel = (
  environment: Environment,
  options: EnvironmentModelOptions,
) => EnvironmentModel;

/** The models by name. */
export const environmentModels: Readonly<Record<"ode-rfwp" | "ode-rnn", MakeEnvironmentModel>> = {
  "ode-rfwp": (environment, options) => make(environment, options, fastWeightCell),
  "ode-rnn": (environment, options) => make(environment, options, recurrentCell),
};

/** Largest logarithm of a predicted time gap in time units. */
const gapBound = 2;

function make<S extends Tree>(
  { states, features, featuresOf, changes }: Environment,
  { hidden, key, dtype }: EnvironmentModelOptions,
  makeCell: (options: CellOptions) => Cell<S>,
): EnvironmentModel {
  const keys = splitKey(key, 3);
  const inputs = features + 1;
  const cell = makeCell({ inputs, hidden, key: keys[0], dtype });
  const decoder = Linear({ inputs: hidden, outputs: states.length, key: keys[1], dtype });
  const timer = MLP({ inputs, outputs: 1, width: 64, depth: 1, activation: "tanh", key: keys[2], dtype });
  const scale = () => tensor([...changes], { dtype });
  const inputOf = (state: Tensor, action: Tensor) => concatenate([featuresOf(state), action], -1);
  const gapAfter = (input: Tensor) => timer(input).clip(-gapBound, gapBound).exp().mul(timeUnit);

  type Carry = { memory: S; state: Tensor };
  const step = ({ memory, state }: Carry, input: Tensor, gap: Tensor): Carry => {
    const units = gap.div(timeUnit);
    const evolved = cell.evolve(cell.observe(memory, input), units);
    // The decoder reads the mean rate of change over the gap.
    return { memory: evolved, state: state.add(decoder(cell.read(evolved)).mul(units).mul(scale())) };
  };

  const predict = ({ states, actions, gaps }: Segments): Tensor => {
    const state = states.select(1, 0);
    const rows = { action: actions.transpose(0, 1), gap: gaps.transpose(0, 1) };
    const [, predicted] = scan(
      (carry: Carry, { action, gap }: typeof rows): [Carry, Tensor] => {
        const next = step(carry, inputOf(carry.state, action), gap);
        return [next, next.state];
      },
      { memory: cell.start(state), state },
      rows,
    );
    return (predicted as Tensor).transpose(0, 1);
  };

  return {
    parameters: { ...cell.parameters, decoder: decoder.parameters, timer: timer.parameters },
    predict,
    rollout(state, rows, act = (_state, action) => action) {
      const [, transitions] = scan(
        (carry: Carry, row: Tensor): [Carry, Transition] => {
          const action = act(carry.state, row);
          const input = inputOf(carry.state, action);
          const gap = gapAfter(input);
          const next = step(carry, input, gap);
          return [next, { state: carry.state, action, gap, next: next.state }];
        },
        { memory: cell.start(state), state },
        rows,
      );
      return transitions;
    },
    errors(segments) {
      const { states, actions, gaps } = segments;
      const length = actions.shape[1];
      const predictedGaps = gapAfter(inputOf(states.slice(1, 0, length), actions));
      const wrong = predict(segments).sub(states.slice(1, 1)).div(scale());
      return {
        states: meanOfDecisions(wrong.square(), gaps).div(states.shape[2]),
        gaps: meanOfDecisions(predictedGaps.sub(gaps).div(timeUnit).square(), gaps),
      };
    },
  };
}
