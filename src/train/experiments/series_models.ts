/** Models that classify series, by the names that `deno task train --model` knows them by. */
import { FastWeightCDE } from "../../models/fast_weight/cde.ts";
import { FastWeightDirectMap } from "../../models/fast_weight/direct_map.ts";
import { FastWeightODE } from "../../models/fast_weight/ode.ts";
import { FastWeightRDE } from "../../models/fast_weight/rde.ts";
import { delta, hebb, type LearningRule, oja } from "../../models/fast_weight/rules.ts";
import { GRUODE } from "../../models/gru_ode.ts";
import { NeuralCDE } from "../../models/neural_cde.ts";
import { NeuralRDE } from "../../models/neural_rde.ts";
import { type Layer, layer } from "../../nn/layer.ts";
import { CubicSpline } from "../../paths/cubic_spline.ts";
import { LinearInterpolation } from "../../paths/linear.ts";
import { logsigWindows } from "../../paths/logsig_windows.ts";
import { hermiteCubicCoeffs } from "../../paths/hermite_cubic.ts";
import { naturalCubicCoeffs } from "../../paths/natural_cubic.ts";
import type { Path } from "../../paths/path.ts";
import { type Key, split } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";

/** Sizes and solver of a model of series. */
export interface SeriesModelSizes {
  /** Number of channels of the control, time included. */
  inputChannels: number;
  /** Number of outputs. */
  outputChannels: number;
  /** Features of the state of a Neural CDE, or of all heads of a fast weight programmer together. */
  hidden: number;
  /** Features of each hidden layer of a Neural CDE's vector field. */
  width: number;
  /** Number of hidden layers of a Neural CDE's vector field. */
  depth: number;
  /** Method of the solver, `"rk4"` by default. */
  method?: string;
  /** Length of the solver's steps: the distance of observations, or a window, by default. */
  stepSize?: number;
  /** Number of observations from one window to the next, 4 by default, for models along log-signatures. */
  window?: number;
  /** Depth of the log-signatures, from 1 to 4, 2 by default. */
  signatureDepth?: number;
  /** Random key of the initial parameters. */
  key: Key;
}

/** From a control and the length of each series int32 `(batch)` to `(batch, outputChannels)`. */
export type SeriesModel = Layer<[X: Path, reading: { lengths: Tensor; key?: Key }]> & {
  /** Follows a series along a Hermite cubic spline, where the model can. */
  stream?(options?: FollowOptions): Follower;
};

/** A model's outputs while observations arrive. */
export interface Follower {
  /** Takes a row of the control at a time; see {@linkcode Stream.push}. */
  push(t: number, row: number[]): Tensor;
  /** All that it knows, as JSON. */
  save(): Promise<unknown>;
}

/** Options of a {@linkcode Follower}: `state`, what its `save` gave. */
export type FollowOptions = { state?: unknown };

/** Controls of a model, made of series. */
export interface SeriesControl {
  /** Coefficients of a path through observations `(batch, length, channels)` at 0, 1, ...; NaN is missing. */
  coeffs(x: Tensor): Tensor;
  /** The path of these coefficients. */
  path(coeffs: Tensor): Path;
  /** Number of grid points of a series with so many observations. */
  gridPoints(observations: number): number;
}

/** A kind of model, and the controls that it reads. */
export interface SeriesModelKind {
  /** Makes the model. */
  make(sizes: SeriesModelSizes): SeriesModel;
  /** Controls of the model: `"spline"`, natural cubic splines; `"windows"`, log-signatures of windows. */
  reads: "spline" | "windows";
}

/** Heads of the fast weight programmers. */
const heads = 4;

function ofState(
  make: (sizes: Omit<SeriesModelSizes, "hidden"> & { hiddenChannels: number }) => SeriesModel,
): SeriesModelKind {
  return { make: ({ hidden, ...sizes }) => make({ ...sizes, hiddenChannels: hidden }), reads: "spline" };
}

const directMap: SeriesModelKind = {
  make: ({ hidden, ...sizes }) => FastWeightDirectMap({ ...sizes, modelDim: hidden }),
  reads: "spline",
};

function direct(rule: LearningRule): SeriesModelKind {
  return {
    make: ({ hidden, width: _, depth: __, ...sizes }) =>
      FastWeightODE({ ...sizes, modelDim: hidden, heads, rule }),
    reads: "spline",
  };
}

function controlled(rule: LearningRule, keys: "value" | "derivative"): SeriesModelKind {
  return {
    make: ({ hidden, width: _, depth: __, ...sizes }) =>
      FastWeightCDE({ ...sizes, modelDim: hidden, heads, rule, keys }),
    reads: "spline",
  };
}

function alongWindows(rule: LearningRule): SeriesModelKind {
  return {
    make: ({ hidden, width: _, depth: __, signatureDepth: depth = 2, ...sizes }) =>
      FastWeightRDE({ ...sizes, modelDim: hidden, heads, rule, depth }),
    reads: "windows",
  };
}

const neuralRde: SeriesModelKind = {
  make: ({ hidden, signatureDepth = 2, ...sizes }) =>
    NeuralRDE({ ...sizes, hiddenChannels: hidden, signatureDepth }),
  reads: "windows",
};

/** The mean of the outputs of several models, which learn together. */
function mean(...kinds: readonly SeriesModelKind[]): SeriesModelKind {
  return {
    make(sizes) {
      const keys = split(sizes.key, kinds.length);
      const members = kinds.map(({ make }, i) => make({ ...sizes, key: keys[i] }));
      const average = (outputs: readonly Tensor[]) =>
        outputs.reduce((sum, output) => sum.add(output)).div(outputs.length);
      const model = layer(
        Object.fromEntries(members.map(({ parameters }, i) => [`${i}`, parameters])),
        (X: Path, reading: { lengths: Tensor; key?: Key }) =>
          average(members.map((member) => member(X, reading))),
      );
      if (!members.every(({ stream }) => stream)) return model;
      return Object.assign(model, {
        stream({ state }: FollowOptions = {}): Follower {
          const followers = members.map((member, i) => member.stream!({ state: (state as unknown[])?.[i] }));
          return {
            push: (t, row) => average(followers.map((follower) => follower.push(t, row))),
            save: () => Promise.all(followers.map((follower) => follower.save())),
          };
        },
      });
    },
    reads: "spline",
  };
}

/** Every model that classifies series, by the name that `--model` takes. */
export const seriesModels: Readonly<Record<string, SeriesModelKind>> = {
  "neural-cde": ofState(NeuralCDE),
  "gru-ode": ofState(({ width: _, depth: __, ...sizes }) => GRUODE(sizes)),
  "neural-rde": neuralRde,
  "delta": mean(controlled(delta(), "derivative"), direct(delta())),
  "hebb-ode": direct(hebb()),
  "oja-ode": direct(oja()),
  "delta-ode": direct(delta()),
  "hebb-cde": controlled(hebb(), "value"),
  // Values from x, keys from its derivative (equations 36 and 37).
  "hebb-cde-exchanged": controlled(hebb(), "derivative"),
  "oja-cde": controlled(oja(), "value"),
  "delta-cde": controlled(delta(), "derivative"),
  "hebb-rde": alongWindows(hebb()),
  "oja-rde": alongWindows(oja()),
  // Over thousands of windows the paper takes tanh of the difference (equation 32).
  "delta-rde": alongWindows(delta({ postTanh: true })),
  "direct-map": directMap,
};

function kindOf(name: string): SeriesModelKind {
  if (!Object.hasOwn(seriesModels, name)) {
    throw new RangeError(`unknown model "${name}"; there are ${Object.keys(seriesModels).join(", ")}`);
  }
  return seriesModels[name];
}

/**
 * Makes a model by its name.
 *
 * @throws {RangeError} With the names that there are.
 */
export function seriesModel(name: string, { window: _, ...sizes }: SeriesModelSizes): SeriesModel {
  return kindOf(name).make(sizes);
}

/**
 * Controls of a model, by its name: `online`, Hermite cubic splines, which do not look ahead.
 *
 * @throws {RangeError} For windows of a model that has none, or online for one that has some.
 */
export function seriesControl(
  name: string,
  { window, signatureDepth, online = false }: Pick<SeriesModelSizes, "window" | "signatureDepth"> & {
    online?: boolean;
  } = {},
): SeriesControl {
  if (online && kindOf(name).reads !== "spline") {
    throw new RangeError(
      `model "${name}" reads windows, whose end is not known online: choose another model`,
    );
  }
  if (kindOf(name).reads === "spline") {
    if (window !== undefined || signatureDepth !== undefined) {
      const windowed = Object.keys(seriesModels).filter((name) => seriesModels[name].reads === "windows");
      throw new RangeError(
        `model "${name}" reads no windows: a window and a depth of log-signatures are for ${
          windowed.join(", ")
        }`,
      );
    }
    return {
      coeffs: (x) => online ? hermiteCubicCoeffs(x) : naturalCubicCoeffs(x),
      path: (coeffs) => CubicSpline(coeffs),
      gridPoints: (observations) => observations,
    };
  }
  const [length, depth] = [window ?? 4, signatureDepth ?? 2];
  return {
    coeffs: (x) => logsigWindows(x, depth, Math.min(length, x.shape[1] - 1)),
    path: (coeffs) => LinearInterpolation(coeffs),
    gridPoints: (observations) => Math.max(2, Math.ceil((observations - 1) / length) + 1),
  };
}
