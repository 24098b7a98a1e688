/** Neural models of whole series. */
import type { SlopeScale } from "../../../models/along_control.ts";
import type { StateSpaceModel, StateSpaceOptions } from "../../../models/diagonal/stack.ts";
import type { LearningRule } from "../../../models/fast_weight/rules.ts";
import type { IrregularGRUOptions } from "../../../models/irregular_gru.ts";
import { statesAtEnd } from "../../../models/readout_states.ts";
import type { WARPTransitionOptions } from "../../../models/warp/transition.ts";
import { type Layer, layer } from "../../../nn/layer.ts";
import type { Path } from "../../../paths/path.ts";
import { concatenate } from "../../../tensor/functions.ts";
import { splitKey } from "../../../tensor/random.ts";
import type { Tensor } from "../../../tensor/tensor.ts";
import { ensembleStreams, meanOutput } from "../ensemble.ts";
import type { ModelSetting } from "../model_settings.ts";
import { slopeScaleOf } from "../slope_scale.ts";
import type { ObservationRows, SeriesReading } from "../series_reading.ts";
import { stepsPerGap } from "../step_size.ts";
import type { SeriesCall, SeriesModelKind } from "../whole_series.ts";
import { stateSpaceStreams } from "./model_streams.ts";
import {
  alongSpline,
  alongWindows,
  atObservations,
  heads,
  kindOf,
  type PathModel,
  type Sizes,
  solver,
} from "./neural_kinds.ts";

/** Settings of a vector field that is a neural network. */
const field = ["width", "depth"] as const;
/** Settings of fast weight layers. */
const fastWeights = ["depth", "heads", "feedForward"] as const;

/** Wraps a model without dropout: its calls do not take a key. */
function withoutDropout(
  model: Layer<[X: Path, call: Omit<SeriesCall, "key">]> & Pick<PathModel, "streamed">,
): PathModel {
  const adapted = layer(
    model.parameters,
    (X: Path, { lengths, staticFeatures }: SeriesCall) => model(X, { lengths, staticFeatures }),
  );
  return Object.assign(adapted, { streamed: model.streamed });
}

const cdeModels = () => import("./cde_models.ts");
const fastWeightModels = () => import("./fast_weight_models.ts");
const recurrentModels = () => import("./recurrent_models.ts");
const stateSpaceModels = () => import("./state_space_models.ts");

/** Makes a learning rule. */
type MakeRule = (rules: Awaited<ReturnType<typeof fastWeightModels>>) => LearningRule;

function direct(rule: MakeRule): SeriesModelKind {
  return alongSpline(
    [...solver, ...fastWeights],
    "values",
    fastWeightModels,
    (models, { hidden, width: _, depth: __, ...sizes }, weights) =>
      models.FastWeightODE({ ...sizes, ...weights, modelDim: hidden, rule: rule(models) }),
  );
}

function controlled(
  rule: MakeRule,
  keys: "value" | "derivative" | "derivative only",
  normalizeValues = false,
): SeriesModelKind {
  return alongSpline(
    [...solver, ...fastWeights],
    "changes",
    fastWeightModels,
    (models, { hidden, width: _, depth: __, ...sizes }, weights) =>
      models.FastWeightCDE({
        ...{ ...sizes, ...weights, modelDim: hidden, rule: rule(models), keys, normalizeValues },
      }),
  );
}

function rough(rule: MakeRule): SeriesModelKind {
  return alongWindows(
    fastWeights,
    fastWeightModels,
    (models, { hidden, signatureDepth, width: _, depth: __, ...sizes }, weights) =>
      models.FastWeightRDE({
        ...{ ...sizes, ...weights, modelDim: hidden, rule: rule(models), depth: signatureDepth },
      }),
  );
}

/** A GRU or LSTM that reads every row, including the time. */
function recurrent(cell: "gru" | "lstm"): SeriesModelKind {
  return atObservations([], recurrentModels, ({ Recurrent }, sizes) => {
    const { inputChannels, outputChannels, hidden, staticFeatures, key } = sizes;
    const model = Recurrent({
      ...{ cell, inputChannels, hiddenChannels: hidden, outputChannels, staticFeatures, key },
    });
    return layer(
      model.parameters,
      ({ values }, { lengths, staticFeatures }) => model(values, { lengths, staticFeatures }),
    );
  }, { takesStatic: true });
}

/** A GRU that is updated by rows with observations. The time since the last such row replaces the time. */
function irregular(
  between: (sizes: Sizes) => IrregularGRUOptions["between"],
  takes: readonly ModelSetting[] = [],
): SeriesModelKind {
  return atObservations(
    takes,
    recurrentModels,
    ({ IrregularGRU }, sizes) => {
      const { inputChannels, outputChannels, hidden, staticFeatures, key } = sizes;
      const model = IrregularGRU({
        ...{ inputChannels, hiddenChannels: hidden, outputChannels, staticFeatures, key },
        between: between(sizes),
      });
      return layer(model.parameters, ({ values, since, gaps, observed }, { lengths, staticFeatures }) => {
        const inputs = concatenate([since, values.slice(-1, 1)], -1);
        return model(inputs, { gaps, observed, lengths, staticFeatures });
      });
    },
    { takesStatic: true },
  );
}

/** WARP without the time channel, since it has its own time tau: rows are assumed to be equidistant. */
function warp(transition: WARPTransitionOptions): SeriesModelKind {
  const load = () => import("../../../models/warp/warp.ts");
  return atObservations(["depth", "clipWeights"], load, ({ WARP }, sizes) => {
    const { inputChannels, outputChannels, hidden: width, depth, clipWeights, initial, key } = sizes;
    const model = WARP({
      ...{ inputChannels: inputChannels - 1, outputChannels, output: "logits", initial, transition, key },
      root: { width, depth, activation: "relu" },
      clipWeights: clipWeights || undefined,
    });
    const adapted = layer(
      model.parameters,
      ({ values }: ObservationRows, { lengths }: SeriesCall) =>
        statesAtEnd("WARP", model(values.slice(-1, 1), { states: "all" }), lengths),
    );
    return Object.assign(adapted, { warp: model });
    // A change of the transition is raised to the power of the number of steps.
  }, { typicalSteps: 128 });
}

/** A state space model. It reads each row, the time since the last observation, and a flag. */
function stateSpace<Module>(
  load: () => Promise<Module>,
  make: (module: Module, options: StateSpaceOptions, changes: SlopeScale) => StateSpaceModel,
): SeriesModelKind {
  return atObservations(["online"], load, (module, sizes) => {
    const { inputChannels, outputChannels, hidden, key, slopeScale } = sizes;
    const model = make(module, {
      ...{ inputChannels: inputChannels + 2, modelDim: hidden, outputChannels, key },
      layers: 2,
      pooling: "mean",
    }, { slopeScale });
    const adapted = layer(
      model.parameters,
      ({ values, since, observed }: ObservationRows, { lengths }: SeriesCall) => {
        const seen = observed.cast(values.dtype).expandDims(-1);
        return model(concatenate([values, since, seen], -1), { lengths });
      },
    );
    return Object.assign(adapted, { streams: () => stateSpaceStreams(model, inputChannels) });
  });
}

/** Averages the outputs of several models, trained jointly. All must read the same form and the same settings. */
function ensembleOf(...kinds: readonly SeriesModelKind[]): SeriesModelKind {
  return {
    async load() {
      for (const { load } of kinds) await load?.();
    },
    make(sizes) {
      const keys = splitKey(sizes.key, kinds.length);
      const members = kinds.map(({ make }, i) => make({ ...sizes, key: keys[i] }));
      const model = layer(
        Object.fromEntries(members.map(({ parameters }, i) => [`${i}`, parameters])),
        (form: Tensor, call: SeriesCall) => meanOutput(members.map((member) => member(form, call))),
      );
      if (!members.every(({ streams }) => streams)) return model;
      return Object.assign(model, {
        streams: () => ensembleStreams(members.map(({ streams }) => streams!()), meanOutput),
      });
    },
    takes: kinds[0].takes,
    reads: kinds[0].reads,
    takesStatic: kinds.every(({ takesStatic }) => takesStatic),
  };
}

/** Neural models of whole series, by the name for `--model`. */
export const neuralModels: Readonly<Record<string, SeriesModelKind>> = {
  "neural-cde": {
    ...alongSpline(
      [...solver, ...field],
      "changes",
      cdeModels,
      // As in the authors' code, static features replace the first observation.
      ({ NeuralCDE }, { hidden, ...sizes }) =>
        withoutDropout(NeuralCDE({ ...sizes, hiddenChannels: hidden, initial: !sizes.staticFeatures })),
    ),
    isCandidate: true,
  },
  "gru-ode": alongSpline(
    solver,
    "values",
    cdeModels,
    ({ GRUODE }, { hidden, width: _, depth: __, ...sizes }) =>
      withoutDropout(GRUODE({ ...sizes, hiddenChannels: hidden })),
  ),
  "neural-ode": alongSpline(
    [...solver, ...field],
    "values",
    cdeModels,
    ({ DirectNeuralODE }, { hidden, ...sizes }) =>
      withoutDropout(DirectNeuralODE({ ...sizes, hiddenChannels: hidden })),
  ),
  "delta": {
    ...ensembleOf(
      controlled((rules) => rules.deltaRule(), "derivative"),
      direct((rules) => rules.deltaRule()),
    ),
    isCandidate: true,
  },
  "hebb-ode": direct((rules) => rules.hebbRule()),
  "oja-ode": direct((rules) => rules.ojaRule()),
  "delta-ode": direct((rules) => rules.deltaRule()),
  "gated-delta-ode": direct((rules) => rules.gatedDeltaRule()),
  "gated-oja-ode": direct((rules) => rules.gatedOjaRule()),
  "hebb-cde": controlled((rules) => rules.hebbRule(), "value"),
  // Values from x, keys from its derivative (equations 36 and 37).
  "hebb-cde-exchanged": controlled((rules) => rules.hebbRule(), "derivative"),
  "oja-cde": controlled((rules) => rules.ojaRule(), "value"),
  // Keys and values from the derivative (equation 38).
  "hebb-cde-derivative": controlled((rules) => rules.hebbRule(), "derivative only"),
  "oja-cde-derivative": controlled((rules) => rules.ojaRule(), "derivative only"),
  "delta-cde-derivative": controlled((rules) => rules.deltaRule(), "derivative only"),
  "delta-cde": controlled((rules) => rules.deltaRule(), "derivative"),
  // As the authors' commands for sepsis with and without observational intensity.
  "delta-cde-post-tanh": controlled((rules) => rules.deltaRule({ postTanh: true }), "derivative"),
  "delta-cde-value-norm": controlled((rules) => rules.deltaRule(), "derivative", true),
  "direct-map": alongSpline(
    field,
    "changes",
    fastWeightModels,
    ({ FastWeightDirectMap }, { hidden, ...sizes }) => FastWeightDirectMap({ ...sizes, modelDim: hidden }),
  ),
  "log-ncde": alongWindows(
    field,
    cdeModels,
    ({ LogNCDE }, { hidden, ...sizes }) => withoutDropout(LogNCDE({ ...sizes, hiddenChannels: hidden })),
  ),
  "neural-rde": alongWindows(
    field,
    cdeModels,
    ({ NeuralRDE }, { hidden, ...sizes }) => withoutDropout(NeuralRDE({ ...sizes, hiddenChannels: hidden })),
  ),
  "structured-rde": kindOf(
    { takes: ["hidden", "window", "signatureDepth"], reads: "windows", takesStatic: false },
    (words) => words,
    stateSpaceModels,
    ({ StructuredCDE }, sizes) => {
      const { inputChannels, outputChannels, hidden, signatureDepth = 2, pace, key } = sizes;
      const model = StructuredCDE({
        ...{ inputChannels, outputChannels, modelDim: hidden, signatureDepth, key },
        slopeScale: slopeScaleOf(pace, "changes"),
      });
      return layer(model.parameters, (words: Tensor, { lengths }: SeriesCall) => model(words, { lengths }));
    },
  ),
  "hebb-rde": rough((rules) => rules.hebbRule()),
  "oja-rde": rough((rules) => rules.ojaRule()),
  // For thousands of windows, the paper applies tanh to the difference (equation 32).
  "delta-rde": rough((rules) => rules.deltaRule({ postTanh: true })),
  "gru": recurrent("gru"),
  "lstm": recurrent("lstm"),
  "transformer": atObservations(
    [],
    recurrentModels,
    ({ Transformer }, sizes) => {
      const { inputChannels, outputChannels, hidden, key } = sizes;
      const model = Transformer({ inputChannels, outputChannels, modelDim: hidden, heads, key });
      return layer(model.parameters, ({ values }, { lengths }) => model(values, { lengths }));
      // Memory grows with the square of the number of steps.
    },
    { typicalSteps: 256 },
  ),
  "warp": { ...warp("dense"), isCandidate: true },
  "warp-rotation": warp({ initialization: "rotation" }),
  "warp-planes": warp("planes"),
  "warp-planes-low-rank": warp({ diagonal: "planes", rank: 16 }),
  "s4d": stateSpace(stateSpaceModels, ({ S4D }, options) => S4D(options)),
  "lru": stateSpace(stateSpaceModels, ({ LRU }, options) => LRU(options)),
  "s5": { ...stateSpace(stateSpaceModels, ({ S5 }, options) => S5(options)), isCandidate: true },
  "s6": {
    ...stateSpace(stateSpaceModels, ({ S6 }, options) => S6(options)),
    typicalSteps: 256,
  },
  "mamba": {
    ...stateSpace(stateSpaceModels, ({ Mamba }, options) => Mamba(options)),
    typicalSteps: 256,
  },
  // Memory grows with the block size times the size of the state, for each step. Rows are close in time, where a step of
  // Euler is near the exponential and takes a tenth of its time.
  "structured-cde": {
    ...stateSpace(
      stateSpaceModels,
      ({ StructuredCDE }, options, changes) => StructuredCDE({ ...options, ...changes, form: "euler" }),
    ),
    typicalSteps: 256,
  },
  "gru-dt": irregular(() => "nothing"),
  "gru-d": irregular(() => "decay"),
  "ode-rnn": irregular(
    ({ width, depth, method, stepSize }) => ({
      ...{ width, depth, method, stepsPerGap: stepsPerGap("ode-rnn", stepSize) },
    }),
    [...solver, ...field],
  ),
};

/** Names of the models that read a form of series. */
export function modelsThatRead(reading: SeriesReading): string[] {
  return Object.keys(neuralModels).filter((name) => neuralModels[name].reads === reading);
}
