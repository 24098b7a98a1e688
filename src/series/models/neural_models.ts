/** Neural models of whole series. */
import { LRU } from "../../models/diagonal/lru.ts";
import { Mamba } from "../../models/diagonal/mamba.ts";
import { S4D } from "../../models/diagonal/s4d.ts";
import { S5 } from "../../models/diagonal/s5.ts";
import { S6 } from "../../models/diagonal/s6.ts";
import type { StateSpaceModel, StateSpaceOptions } from "../../models/diagonal/stack.ts";
import { FastWeightCDE } from "../../models/fast_weight/cde.ts";
import { FastWeightDirectMap } from "../../models/fast_weight/direct_map.ts";
import { FastWeightODE } from "../../models/fast_weight/ode.ts";
import { FastWeightRDE } from "../../models/fast_weight/rde.ts";
import { gatedDeltaRule, gatedOjaRule } from "../../models/fast_weight/gated_rules.ts";
import { deltaRule, hebbRule, type LearningRule, ojaRule } from "../../models/fast_weight/rules.ts";
import { DirectNeuralODE } from "../../models/direct_neural_ode.ts";
import { GRUODE } from "../../models/gru_ode.ts";
import { IrregularGRU, type IrregularGRUOptions } from "../../models/irregular_gru.ts";
import { LogNCDE } from "../../models/cde/log_ncde.ts";
import { NeuralCDE } from "../../models/cde/neural_cde.ts";
import { NeuralRDE } from "../../models/cde/neural_rde.ts";
import { seriesStreams } from "../../models/series_streams.ts";
import type { StreamableModel } from "../../models/stream.ts";
import { statesAtEnd } from "../../models/readout_states.ts";
import { Recurrent } from "../../models/recurrent.ts";
import { StructuredCDE } from "../../models/structured/structured_cde.ts";
import { Transformer } from "../../models/transformer.ts";
import type { WARPTransitionOptions } from "../../models/warp/transition.ts";
import { WARP } from "../../models/warp/warp.ts";
import { type Layer, layer } from "../../nn/layer.ts";
import type { SlopeScale } from "../../models/along_control.ts";
import { CubicSpline } from "../../paths/cubic_spline.ts";
import { LinearInterpolation } from "../../paths/linear.ts";
import type { Path } from "../../paths/path.ts";
import { concatenate } from "../../tensor/functions.ts";
import { splitKey } from "../../tensor/random.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import { stateSpaceStreams } from "./model_streams.ts";
import { ensembleStreams, meanOutput } from "./ensemble.ts";
import { slopeScaleOf } from "./pace.ts";
import type { ModelSetting } from "./model_settings.ts";
import type {
  FastWeightSizes,
  SeriesCall,
  SeriesModelKind,
  SeriesModelSizes,
  SeriesModelStates,
} from "./whole_series.ts";
import { stepsPerGap } from "./step_size.ts";
import { type ObservationRows, openRows, type SeriesReading } from "./series_reading.ts";

/** Settings of a solver. */
const solver = ["method", "stepSize"] as const;
/** Settings of a vector field that is a neural network. */
const field = ["width", "depth"] as const;
/** Settings of fast weight layers. */
const fastWeights = ["depth", "heads", "feedForward"] as const;

/** Heads of the Transformer, and the default for fast weights. */
const heads = 4;

/** A model along a path. */
type PathModel = Layer<[X: Path, call: SeriesCall]> & Partial<StreamableModel>;

/** Sizes of a model that does not read windows. */
type Sizes = Omit<SeriesModelSizes, "signatureDepth" | "fastWeights" | "pace"> & SlopeScale;

/** Sizes of a model along a path. */
type PathSizes = Omit<Sizes, "clipWeights" | "initial">;

/** Sizes of fast weights with their number of heads. */
type Weights = FastWeightSizes & { heads: number };

/** Makes a kind of model. `open` unpacks the tensor that the model reads. */
function kindOf<Form>(
  kind: Omit<SeriesModelKind, "make">,
  open: (form: Tensor) => Form,
  make: (sizes: SeriesModelSizes) => Layer<[form: Form, call: SeriesCall]> & SeriesModelStates,
): SeriesModelKind {
  return {
    ...kind,
    make(sizes) {
      const model = make(sizes);
      const { streamed, streams = streamed && (() => seriesStreams({ streamed })), warp } = model;
      const adapted = layer(model.parameters, (form: Tensor, call: SeriesCall) => model(open(form), call));
      return Object.assign(adapted, { streamed, streams, warp });
    },
  };
}

/** A model along a spline. The path is made from the spline's coefficients. */
function alongSpline(
  takes: readonly ModelSetting[],
  drive: "values" | "changes",
  make: (sizes: PathSizes, weights: Weights) => PathModel,
): SeriesModelKind {
  return kindOf(
    { takes: ["hidden", "online", "condense", ...takes], reads: "spline", takesStatic: true },
    (coeffs) => CubicSpline(coeffs),
    ({ signatureDepth: _, clipWeights: __, initial: ___, fastWeights, pace, ...sizes }) =>
      make({ ...sizes, slopeScale: slopeScaleOf(pace, drive) }, withHeads(fastWeights)),
  );
}

/** A model along log-signatures of windows. */
function alongWindows(
  takes: readonly ModelSetting[],
  make: (sizes: PathSizes & { signatureDepth: number }, weights: Weights) => PathModel,
): SeriesModelKind {
  return kindOf(
    {
      takes: ["hidden", "window", "signatureDepth", ...solver, ...takes],
      reads: "windows",
      takesStatic: true,
    },
    (words) => LinearInterpolation(words),
    ({ signatureDepth = 2, clipWeights: _, initial: __, fastWeights, pace, ...sizes }) =>
      make({ ...sizes, signatureDepth, slopeScale: slopeScaleOf(pace, "changes") }, withHeads(fastWeights)),
  );
}

/** A model that reads series row by row. */
function atObservations(
  takes: readonly ModelSetting[],
  make: (sizes: Sizes) => Layer<[rows: ObservationRows, call: SeriesCall]> & SeriesModelStates,
  { takesStatic = false, typicalSteps }: Partial<Pick<SeriesModelKind, "takesStatic" | "typicalSteps">> = {},
): SeriesModelKind {
  return kindOf(
    { takes: ["hidden", "condense", ...takes], reads: "observations", takesStatic, typicalSteps },
    openRows,
    ({ signatureDepth: _, fastWeights: __, pace, ...sizes }) =>
      make({ ...sizes, slopeScale: slopeScaleOf(pace, "changes") }),
  );
}

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

function withHeads(sizes: FastWeightSizes = {}): Weights {
  return { ...sizes, heads: sizes.heads ?? heads };
}

function direct(rule: LearningRule): SeriesModelKind {
  return alongSpline(
    [...solver, ...fastWeights],
    "values",
    ({ hidden, width: _, depth: __, ...sizes }, weights) =>
      FastWeightODE({ ...sizes, ...weights, modelDim: hidden, rule }),
  );
}

function controlled(
  rule: LearningRule,
  keys: "value" | "derivative" | "derivative only",
  normalizeValues = false,
): SeriesModelKind {
  return alongSpline(
    [...solver, ...fastWeights],
    "changes",
    ({ hidden, width: _, depth: __, ...sizes }, weights) =>
      FastWeightCDE({ ...sizes, ...weights, modelDim: hidden, rule, keys, normalizeValues }),
  );
}

function rough(rule: LearningRule): SeriesModelKind {
  return alongWindows(
    fastWeights,
    ({ hidden, signatureDepth, width: _, depth: __, ...sizes }, weights) =>
      FastWeightRDE({ ...sizes, ...weights, modelDim: hidden, rule, depth: signatureDepth }),
  );
}

/** A GRU or LSTM that reads every row, including the time. */
function recurrent(cell: "gru" | "lstm"): SeriesModelKind {
  return atObservations([], (sizes) => {
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
  return atObservations(takes, (sizes) => {
    const { inputChannels, outputChannels, hidden, staticFeatures, key } = sizes;
    const model = IrregularGRU({
      ...{ inputChannels, hiddenChannels: hidden, outputChannels, staticFeatures, key },
      between: between(sizes),
    });
    return layer(model.parameters, ({ values, since, gaps, observed }, { lengths, staticFeatures }) => {
      const inputs = concatenate([since, values.slice(-1, 1)], -1);
      return model(inputs, { gaps, observed, lengths, staticFeatures });
    });
  }, { takesStatic: true });
}

/** WARP without the time channel, since it has its own time tau: rows are assumed to be equidistant. */
function warp(transition: WARPTransitionOptions): SeriesModelKind {
  return atObservations(["depth", "clipWeights"], ({ inputChannels, hidden: width, depth, ...sizes }) => {
    const { outputChannels, clipWeights, initial, key } = sizes;
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
function stateSpace(
  make: (options: StateSpaceOptions, changes: SlopeScale) => StateSpaceModel,
): SeriesModelKind {
  return atObservations(["online"], ({ inputChannels, outputChannels, hidden, key, slopeScale }) => {
    const model = make({
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
      // As in the authors' code, static features replace the first observation.
      ({ hidden, ...sizes }) =>
        withoutDropout(NeuralCDE({ ...sizes, hiddenChannels: hidden, initial: !sizes.staticFeatures })),
    ),
    isCandidate: true,
  },
  "gru-ode": alongSpline(
    solver,
    "values",
    ({ hidden, width: _, depth: __, ...sizes }) =>
      withoutDropout(GRUODE({ ...sizes, hiddenChannels: hidden })),
  ),
  "neural-ode": alongSpline(
    [...solver, ...field],
    "values",
    ({ hidden, ...sizes }) => withoutDropout(DirectNeuralODE({ ...sizes, hiddenChannels: hidden })),
  ),
  "delta": {
    ...ensembleOf(controlled(deltaRule(), "derivative"), direct(deltaRule())),
    isCandidate: true,
  },
  "hebb-ode": direct(hebbRule()),
  "oja-ode": direct(ojaRule()),
  "delta-ode": direct(deltaRule()),
  "gated-delta-ode": direct(gatedDeltaRule()),
  "gated-oja-ode": direct(gatedOjaRule()),
  "hebb-cde": controlled(hebbRule(), "value"),
  // Values from x, keys from its derivative (equations 36 and 37).
  "hebb-cde-exchanged": controlled(hebbRule(), "derivative"),
  "oja-cde": controlled(ojaRule(), "value"),
  // Keys and values from the derivative (equation 38).
  "hebb-cde-derivative": controlled(hebbRule(), "derivative only"),
  "oja-cde-derivative": controlled(ojaRule(), "derivative only"),
  "delta-cde-derivative": controlled(deltaRule(), "derivative only"),
  "delta-cde": controlled(deltaRule(), "derivative"),
  // As the authors' commands for sepsis with and without observational intensity.
  "delta-cde-post-tanh": controlled(deltaRule({ postTanh: true }), "derivative"),
  "delta-cde-value-norm": controlled(deltaRule(), "derivative", true),
  "direct-map": alongSpline(
    field,
    "changes",
    ({ hidden, ...sizes }) => FastWeightDirectMap({ ...sizes, modelDim: hidden }),
  ),
  "log-ncde": alongWindows(
    field,
    ({ hidden, ...sizes }) => withoutDropout(LogNCDE({ ...sizes, hiddenChannels: hidden })),
  ),
  "neural-rde": alongWindows(
    field,
    ({ hidden, ...sizes }) => withoutDropout(NeuralRDE({ ...sizes, hiddenChannels: hidden })),
  ),
  "structured-rde": kindOf(
    { takes: ["hidden", "window", "signatureDepth"], reads: "windows", takesStatic: false },
    (words) => words,
    ({ inputChannels, outputChannels, hidden, signatureDepth = 2, pace, key }) => {
      const model = StructuredCDE({
        ...{ inputChannels, outputChannels, modelDim: hidden, signatureDepth, key },
        slopeScale: slopeScaleOf(pace, "changes"),
      });
      return layer(model.parameters, (words: Tensor, { lengths }: SeriesCall) => model(words, { lengths }));
    },
  ),
  "hebb-rde": rough(hebbRule()),
  "oja-rde": rough(ojaRule()),
  // For thousands of windows, the paper applies tanh to the difference (equation 32).
  "delta-rde": rough(deltaRule({ postTanh: true })),
  "gru": recurrent("gru"),
  "lstm": recurrent("lstm"),
  "transformer": atObservations([], ({ inputChannels, outputChannels, hidden, key }) => {
    const model = Transformer({ inputChannels, outputChannels, modelDim: hidden, heads, key });
    return layer(model.parameters, ({ values }, { lengths }) => model(values, { lengths }));
    // Memory grows with the square of the number of steps.
  }, { typicalSteps: 256 }),
  "warp": { ...warp("dense"), isCandidate: true },
  "warp-rotation": warp({ initialization: "rotation" }),
  "warp-planes": warp("planes"),
  "warp-planes-low-rank": warp({ diagonal: "planes", rank: 16 }),
  "s4d": stateSpace(S4D),
  "lru": stateSpace(LRU),
  "s5": { ...stateSpace(S5), isCandidate: true },
  "s6": { ...stateSpace(S6), typicalSteps: 256 },
  "mamba": { ...stateSpace(Mamba), typicalSteps: 256 },
  // Memory grows with the block size times the size of the state, for each step. Rows are close in time, where a step of
  // Euler is near the exponential and takes a tenth of its time.
  "structured-cde": {
    ...stateSpace((options, changes) => StructuredCDE({ ...options, ...changes, form: "euler" })),
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
