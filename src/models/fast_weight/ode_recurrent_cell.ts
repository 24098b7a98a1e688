import type { DType } from "../../device/dtype.ts";
import { checkCount, type ParameterTree } from "../../nn/layer.ts";
import { MLP } from "../../nn/mlp.ts";
import { zeroState } from "../../nn/recurrent.ts";
import { fixedMethods, methodOf } from "../../solvers/methods.ts";
import { type ButcherTableau, rungeKuttaStep } from "../../solvers/tableau.ts";
import { foldIn, type Key, split } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { writeAndAsk, zeroWeights } from "./discrete.ts";
import { checkSizes } from "./heads.ts";
import { OutputBlock } from "./output_block.ts";
import { checkRule, delta, type LearningRule } from "./rules.ts";
import { SlowNetwork } from "./slow_network.ts";

/** What {@linkcode ODERFWP} and {@linkcode LatentODERFWP} are made of. */
export interface ODERecurrentOptions {
  /** Channels of the observations. */
  inputChannels: number;
  /** Features of the recurrent state, and of all heads together: a multiple of `heads`. */
  modelDim: number;
  /** The number of fast weight matrices, each of `modelDim / heads` values by as many keys. */
  heads: number;
  /** The number of layers, 1 by default; each has fast weights and a recurrent state, and reads the state of the one below. */
  layers?: number;
  /** Features inside the feed-forward block, `4 * modelDim` by default. */
  feedForward?: number;
  /** What is added to W at an observation, {@linkcode delta} by default. */
  rule?: LearningRule;
  /** Features of each hidden layer of the vector field of the recurrent state. */
  width: number;
  /** The number of these layers. */
  depth: number;
  /** A Runge-Kutta method of fixed steps, `"rk4"` by default. */
  method?: string | ButcherTableau;
  /** Steps from an observation to the next, 1 by default. */
  stepsPerGap?: number;
  /** What the initial parameters are drawn from. */
  key: Key;
  /** `"float32"` by default. */
  dtype?: DType;
}

/** Fast weights `(batch, heads, values, keys)` and recurrent states `(batch, modelDim)` of all layers. */
export type ODERecurrentState = { readonly w: readonly Tensor[]; readonly h: readonly Tensor[] };

/** Recurrent fast weights between observations and at them. */
export interface ODERecurrentCell {
  readonly parameters: { readonly [name: string]: ParameterTree };
  /** Zeros, for sequences `(batch, length, ...)`. */
  start(x: Tensor): ODERecurrentState;
  /** Over gaps `(batch, 1)`: dh/dt = f(h); W stays. */
  evolve(state: ODERecurrentState, gap: Tensor): ODERecurrentState;
  /** At an observation `(batch, inputChannels)`. */
  observe(state: ODERecurrentState, x: Tensor): ODERecurrentState;
}

/** Makes an {@linkcode ODERecurrentCell}. */
export function ODERecurrentCell(model: string, options: ODERecurrentOptions): ODERecurrentCell {
  const { inputChannels, modelDim, heads, layers: count = 1, rule = delta(), width, depth, dtype } = options;
  const { feedForward = 4 * modelDim, method = "rk4", stepsPerGap = 1 } = options;
  checkRule(model, rule);
  checkSizes(model, { inputChannels, modelDim, heads, feedForward });
  for (const [name, value] of Object.entries({ layers: count, stepsPerGap })) checkCount(model, name, value);
  const tableau = methodOf(method);
  if (tableau.kind !== "explicit") {
    throw new RangeError(
      `${model}: method "${tableau.name}" is none of ${fixedMethods.map(({ name }) => name).join(", ")}`,
    );
  }
  const layers = Array.from({ length: count }, (_, l) => {
    const keys = split(foldIn(options.key, l), 3);
    const [inputs, project] = l === 0 ? [inputChannels, true] : [modelDim, false];
    return {
      slow: SlowNetwork({ inputs, project, modelDim, heads, feedback: true, key: keys[0], dtype }),
      block: OutputBlock({ modelDim, feedForward, key: keys[1], dtype }),
      field: MLP({
        ...{ inputs: modelDim, outputs: modelDim, width, depth, activation: "tanh" },
        ...{ key: keys[2], dtype },
      }),
    };
  });
  const along = (field: (h: Tensor) => Tensor, h: Tensor, gap: Tensor) => {
    const dt = gap.div(stepsPerGap);
    for (let step = 0; step < stepsPerGap; step++) {
      h = rungeKuttaStep(tableau, (_t, h) => field(h), dt, dt, h);
    }
    return h;
  };

  return {
    parameters: {
      layers: layers.map(({ slow, block, field }) => ({
        ...slow.parameters,
        ...block.parameters,
        vectorField: field.parameters,
      })),
    },
    start: (x) => ({
      w: layers.map(() => zeroWeights(x, modelDim, heads)),
      h: layers.map(() => zeroState(x, modelDim)),
    }),
    evolve: ({ w, h }, gap) => ({ w, h: h.map((own, l) => along(layers[l].field, own, gap)) }),
    observe({ w, h }, x) {
      const next = { w: [] as Tensor[], h: [] as Tensor[] };
      layers.forEach(({ slow, block }, l) => {
        const below = l === 0 ? x : next.h[l - 1];
        const [written, answers] = writeAndAsk(slow, rule, () => below, w[l], h[l]);
        next.w.push(written);
        next.h.push(block(answers));
      });
      return next;
    },
  };
}

/** One of two states for each series, by bool `(batch, 1)`; without it the first. */
export function whereObserved(
  observed: Tensor | undefined,
  seen: ODERecurrentState,
  unseen: ODERecurrentState,
): ODERecurrentState {
  if (!observed) return seen;
  return {
    w: seen.w.map((own, l) => observed.expandDims([-1, -2]).where(own, unseen.w[l])),
    h: seen.h.map((own, l) => observed.where(own, unseen.h[l])),
  };
}
