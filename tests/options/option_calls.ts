/** A call of every exported function that takes options, with valid arguments. */
import * as weft from "../../mod.ts";
import * as data from "../../src/data/mod.ts";
import * as serve from "../../src/serve/mod.ts";
import * as train from "../../src/train/mod.ts";
import * as series from "../../src/series/mod.ts";
import * as commands from "../../src/commands/mod.ts";
import { ownSeries } from "../../src/series/run/own_series.ts";

/** A fitted model of ten short series. */
let learned: Promise<series.LearnedModel> | undefined;
const rows = Array.from(
  { length: 30 },
  (_, i) => ({ series: `s${i / 3 | 0}`, time: i % 3, x: i % 7, label: i / 3 & 1 ? "a" : "b" }),
);
const learn = () =>
  learned ??= series.classify({ name: "rows", rows }, { model: "gru", epochs: 1, device: "cpu" });

/** A function with options, and valid options, if the test can call it. */
type Call = readonly [call: (options: never) => unknown, valid: object];

const { key, normal, tensor } = weft;
const float64 = { dtype: "float64" } as const;
const x = normal(key(0), [2, 6, 3]);
const y0 = tensor([1, 0]);
const spline = weft.CubicSpline(weft.naturalCubicCoeffs(x));
const windows = weft.LinearInterpolation(weft.logsigWindows(x, 2, 2));
const decay = (_t: weft.Tensor, y: weft.Tensor) => y.neg();
const field = (_t: weft.Tensor, z: weft.Tensor) => z.expandDims(-1).mul(tensor([1, 0.5, 0.2]));
const z0 = normal(key(1), [2, 2]);
const gaps = tensor([0, 0.1, 0.7, 0.2, 1, 0.3]);
const labels = tensor([0, 1], { dtype: "int32" });
const weight = weft.parameter(y0);
const rule: weft.UpdateRule = { state: [], update: (parameter) => ({ parameter, state: [] }) };
const random = { key: key(2) };
const layers = { width: 4, depth: 1 };
const channels = { inputChannels: 3, outputChannels: 2 };
const path = { ...channels, ...random, hiddenChannels: 4 };
const heads = { modelDim: 4, heads: 2 };
const fast = { ...channels, ...random, ...heads };
const stateSpace = { ...channels, ...random, modelDim: 4, stateSize: 4 };
const irregular = { inputChannels: 3, ...random, ...layers };
const forecaster = { channels: 3, ...random };
const warp = { ...channels, ...random, root: layers };
const model = weft.WARP(warp);
const latent = weft.LatentODE({ ...channels, ...random, ...layers, latentChannels: 2 });
const latentRNN = weft.LatentODERNN({ ...irregular, hiddenChannels: 4 });
const latentRFWP = weft.LatentODERFWP({ ...irregular, ...heads });
const items = Array.from({ length: 12 }, (_, i) => ({ label: i % 2 }));
const nothing = undefined as never;

/** Calls of reductions, whose first argument is the axes. */
const reductions = Object.fromEntries(
  (["sum", "max", "min", "mean", "variance", "std", "prod", "any", "all", "norm", "logsumexp"] as const).map((
    name,
  ): [string, Call] => [
    `Tensor.${name}`,
    [(options) => x[name](0, options), { keepDims: true }],
  ]),
);

/** A model and a call of the model, under both names. */
function modelOf<O extends object, M>(
  name: string,
  make: (options: O) => M,
  options: O,
  call?: (model: M, options: never) => unknown,
  valid: object = {},
): Record<string, Call> {
  return {
    [name]: [make as Call[0], options],
    ...(call
      ? { [`${name}()`]: [(callOptions) => call(make(options), callOptions), valid] satisfies Call }
      : {}),
  };
}

const alongSpline = (model: weft.WindowedModel, options: never) => model(spline, options);
const alongWindows = (model: weft.WindowedModel, options: never) => model(windows, options);
const alongRows = (model: weft.Layer<[x: weft.Tensor, call: never]>, options: never) => model(x, options);
const all = { states: "all" };

/** The calls, by the names that `functionsWithOptions` gives. */
export const calls: Readonly<Record<string, Call>> = {
  init: [weft.init, { device: "cpu" }],
  ...reductions,
  "Tensor.sort": [(options) => x.sort(0, options), { descending: true }],
  "Tensor.argsort": [(options) => x.argsort(0, options), { descending: true }],
  topK: [(options) => weft.topK(x, 1, options), { axis: 0 }],
  oneHot: [(options) => weft.oneHot(labels, 3, options), { dtype: "bool" }],
  arange: [(options) => weft.arange(3, options), { start: 1, step: 2, ...float64 }],
  eye: [(options) => weft.eye(3, options), float64],
  full: [(options) => weft.full([2], 1, options), float64],
  linspace: [(options) => weft.linspace(0, 1, 3, options), float64],
  ones: [(options) => weft.ones([2], options), float64],
  zeros: [(options) => weft.zeros([2], options), float64],
  tensor: [(options) => weft.tensor([1, 2], options), { shape: [2, 1], ...float64 }],
  normal: [(options) => normal(key(0), [2], options), { mean: 1, standardDeviation: 2, ...float64 }],
  uniform: [(options) => weft.uniform(key(0), [2], options), { low: 1, high: 2, ...float64 }],
  save: [(options) => weft.save(y0, "/nonexistent/file", options), { metadata: { a: "b" } }],
  plot: [(options) => weft.plot(x, nothing, options), { axis: 1, title: "a", names: ["b"] }],
  image: [(options) => weft.image(y0.expandDims(0), options), { min: 0, max: 1 }],
  scan: [
    (options) => weft.scan((a: weft.Tensor, b: weft.Tensor) => [a.add(b), a], tensor(0), y0, options),
    { compile: true, checkpoint: true },
  ],
  whileLoop: [
    (options) =>
      weft.whileLoop((a: weft.Tensor) => a.less(0), (a) => a, tensor(0), options as weft.WhileLoopOptions),
    { maxSteps: 1, compile: true },
  ],
  linearRecurrence: [(options) => weft.linearRecurrence(y0, y0, options), { axis: 0, initial: tensor(1) }],
  checkGradients: [
    (options) => weft.checkGradients((x: weft.Tensor) => x.tanh(), [tensor([1], float64)], options),
    { step: 1e-5, tolerance: 1e-5, elements: 1 },
  ],
  linearCoeffs: [(options) => weft.linearCoeffs(weft.addTime(x), nothing, options), { rectilinear: 0 }],
  LinearInterpolation: [(options) => weft.LinearInterpolation(x, nothing, options), { causal: true }],
  CubicSpline: [
    (options) => weft.CubicSpline(weft.naturalCubicCoeffs(x), nothing, options),
    { causal: true },
  ],
  observationalIntensity: [
    (options) => weft.observationalIntensity(x, options),
    { per: "row", cumulative: false },
  ],
  grad: [
    (options) => weft.grad((x: weft.Tensor) => [x.sum(), x] as const, options as { hasAux: true })(x),
    { hasAux: true },
  ],
  valueAndGrad: [
    (options) => weft.valueAndGrad((x: weft.Tensor) => [x.sum(), x] as const, options as { hasAux: true })(x),
    { hasAux: true },
  ],
  jacobian: [(options) => weft.jacobian((x: weft.Tensor) => x.neg(), options)(x), { mode: "forward" }],
  vmap: [(options) => weft.vmap((x: weft.Tensor) => x.neg(), options)(x), { inAxes: 1, outAxes: 0 }],
  odeint: [(options) => weft.odeint(decay, y0, [0, 1], options), { method: "rk4", stepSize: 0.1 }],
  integralController: [(options) => weft.integralController(options), { dtMax: 0.1, stepTimes: [0.5] }],
  piController: [(options) => weft.piController(options), { pCoeff: 0.4, iCoeff: 0.3 }],
  pidController: [(options) => weft.pidController(options), { dCoeff: 0.1, safety: 0.8 }],
  solve: [(options) => weft.solve(decay, y0, [0, 1], options), { rtol: 1e-3, throw: false }],
  "solve save": [(save) => weft.solve(decay, y0, [0, 1], { save }), { dense: true, start: true }],
  findOdeintSteps: [(options) => weft.findOdeintSteps(decay, y0, [0, 1], options), { rtol: 1e-3 }],
  odeintEvent: [
    (options) => weft.odeintEvent((_t, y) => y.zerosLike().sub(1), y0, 0, (_t, y) => y.select(0, 0), options),
    { rtol: 1e-3, reverseTime: false },
  ],
  sdeint: [
    (options) => weft.sdeint(decay, decay, y0, [0, 1], weft.key(0), options),
    { method: "heun", noise: "scalar" },
  ],
  brownianIncrements: [
    (options) => weft.brownianIncrements(weft.key(0), [0, 1], [2], options),
    { refine: 1 },
  ],
  cdeint: [(options) => weft.cdeint(spline, field, z0, [0, 1], options), { method: "rk4", stepsPerPiece: 1 }],
  findCdeintSteps: [(options) => weft.findCdeintSteps(spline, field, z0, [0, 1], options), { rtol: 1e-3 }],
  MLP: [weft.MLP, { inputs: 2, outputs: 3, ...layers, ...random, activation: "tanh", bias: false }],
  Linear: [weft.Linear, { inputs: 2, outputs: 3, ...random, initialization: "heNormal" }],
  LayerNorm: [weft.LayerNorm, { features: 2, eps: 1e-4, affine: false }],
  RMSNorm: [weft.RMSNorm, { features: 2, eps: 1e-4 }],
  Dropout: [weft.Dropout, { rate: 0.1 }],
  Embedding: [weft.Embedding, { count: 2, features: 3, ...random }],
  CausalAttention: [weft.CausalAttention, { features: 4, heads: 2, ...random }],
  GRUCell: [weft.GRUCell, { inputs: 2, hidden: 3, ...random }],
  GRU: [weft.GRU, { inputs: 2, hidden: 3, ...random }],
  LSTMCell: [weft.LSTMCell, { inputs: 2, hidden: 3, ...random }],
  LSTM: [weft.LSTM, { inputs: 2, hidden: 3, ...random }],
  crossEntropy: [
    (options) => weft.crossEntropy(normal(key(0), [2, 2]), labels, options),
    { weights: tensor([1, 2]) },
  ],
  binaryCrossEntropy: [(options) => weft.binaryCrossEntropy(y0, y0, options), { positiveWeight: 2 }],
  l2Penalty: [(options) => weft.l2Penalty([y0], options), { norms: true }],
  Optimizer: [(options) => weft.Optimizer(rule, [weight], options), { learningRate: 0.1 }],
  Adam: [(options) => weft.Adam([weight], options), { learningRate: 0.1, betas: [0.9, 0.99], eps: 1e-6 }],
  AdamW: [(options) => weft.AdamW([weight], options), { learningRate: 0.1, weightDecay: 0.1 }],
  AdaBelief: [(options) => weft.AdaBelief([weight], options), { learningRate: 0.1 }],
  SGD: [(options) => weft.SGD([weight], options), { learningRate: 0.1, momentum: 0.5, nesterov: true }],
  warmup: [weft.warmup, { steps: 3, from: 0.1 }],
  cosineDecay: [weft.cosineDecay, { steps: 3, start: 1, minimum: 0.1 }],
  reduceOnPlateau: [weft.reduceOnPlateau, { factor: 0.5, mode: "max" }],
  "new ModelStream": [
    (options) => new weft.ModelStream({ name: "model", inputChannels: 3 } as never, options),
    { timeChannel: 1 },
  ],
  deltaRule: [weft.deltaRule, { postTanh: true }],
  gatedDeltaRule: [weft.gatedDeltaRule, { time: "discrete" }],
  gatedOjaRule: [weft.gatedOjaRule, { gateBias: -2 }],
  hebbRule: [weft.hebbRule, { boundRate: false }],
  ojaRule: [weft.ojaRule, { normalizeAfter: true }],
  ...modelOf("NeuralCDE", weft.NeuralCDE, { ...path, ...layers, stepSize: 0.5 }, alongSpline, all),
  "NeuralCDE().stream": [
    (options) => weft.NeuralCDE({ ...path, ...layers }).stream(options),
    { path: "rectilinear" },
  ],
  "GRUODE().stream": [(options) => weft.GRUODE(path).stream(options), { path: "rectilinear" }],
  "DirectNeuralODE().stream": [
    (options) => weft.DirectNeuralODE({ ...path, ...layers }).stream(options),
    { path: "rectilinear" },
  ],
  "NeuralCDE staticFeatures": [
    (staticFeatures) => weft.NeuralCDE({ ...path, ...layers, staticFeatures }),
    { channels: 2 },
  ],
  "GRUODE staticFeatures": [(staticFeatures) => weft.GRUODE({ ...path, staticFeatures }), { channels: 2 }],
  ...modelOf("NeuralRDE", weft.NeuralRDE, { ...path, ...layers, signatureDepth: 2 }, alongWindows, all),
  ...modelOf("LogNCDE", weft.LogNCDE, { ...path, ...layers, signatureDepth: 2 }, alongWindows, all),
  ...modelOf("GRUODE", weft.GRUODE, path, alongSpline, all),
  ...modelOf(
    "DirectNeuralODE",
    weft.DirectNeuralODE,
    { ...path, ...layers, initial: false },
    alongSpline,
    all,
  ),
  ...modelOf("NeuralODE", weft.NeuralODE, { features: 2, ...layers, ...random, method: "midpoint" }),
  ...modelOf(
    "LatentODE",
    weft.LatentODE,
    { ...channels, ...random, ...layers, latentChannels: 2, noise: 0.2 },
    (model, options) => model(spline, [0, 1], options),
    random,
  ),
  "LatentODE().loss": [(options) => latent.loss(spline, normal(key(0), [2, 2, 2]), [0, 1], options), random],
  ...modelOf("FastWeight", weft.FastWeight, { ...fast, keysFrom: "derivative" }, alongSpline, all),
  "FastWeight().stream": [(options) => weft.FastWeight(fast).stream(options), { path: "hermite" }],
  ...modelOf("FastWeightODE", weft.FastWeightODE, { ...fast, dropout: 0.1 }, alongSpline, random),
  "FastWeightODE().stream": [(options) => weft.FastWeightODE(fast).stream(options), {}],
  ...modelOf("FastWeightCDE", weft.FastWeightCDE, { ...fast, keys: "value" }, alongSpline, all),
  "FastWeightCDE().stream": [(options) => weft.FastWeightCDE(fast).stream(options), {}],
  ...modelOf("FastWeightRDE", weft.FastWeightRDE, { ...fast, depth: 2 }, alongWindows, all),
  ...modelOf(
    "FastWeightDirectMap",
    weft.FastWeightDirectMap,
    { ...channels, ...random, ...layers, modelDim: 4 },
    alongSpline,
    all,
  ),
  "FastWeightDirectMap().stream": [
    (options) => weft.FastWeightDirectMap({ ...channels, ...random, ...layers, modelDim: 4 }).stream(options),
    {},
  ],
  ...modelOf("DeltaNet", weft.DeltaNet, { ...fast, layers: 2 }, alongRows, random),
  ...modelOf("LinearTransformer", weft.LinearTransformer, fast, alongRows, all),
  ...modelOf("RecurrentFWP", weft.RecurrentFWP, fast, alongRows, all),
  ...modelOf("ODERFWP", weft.ODERFWP, { ...fast, ...layers, stepsPerGap: 2 }, alongRows, { gaps }),
  ...modelOf("LatentODERFWP", weft.LatentODERFWP, { ...irregular, ...heads }, alongRows, { gaps }),
  ODERecurrentCell: [weft.ODERecurrentCell, { ...irregular, ...heads }],
  BetweenObservations: [weft.BetweenObservations, { features: 4, ...layers, ...random }],
  "LatentODERFWP().loss": [(options) => latentRFWP.loss(x, options), { gaps, ...random }],
  ...modelOf("LatentODERNN", weft.LatentODERNN, { ...irregular, hiddenChannels: 4 }, alongRows, { gaps }),
  "LatentODERNN().loss": [(options) => latentRNN.loss(x, options), { gaps, ...random }],
  ...modelOf("IrregularGRU", weft.IrregularGRU, { ...path, between: "decay" }, alongRows, { gaps }),
  "IrregularGRU between": [(between) => weft.IrregularGRU({ ...path, between }), {
    ...layers,
    method: "rk4",
  }],
  ...modelOf("Recurrent", weft.Recurrent, { ...path, cell: "gru" }, alongRows, all),
  ...modelOf(
    "RecurrentForecaster",
    weft.RecurrentForecaster,
    { ...forecaster, cell: "gru", hiddenChannels: 4 },
    alongRows,
    { context: 2 },
  ),
  ...modelOf("Transformer", weft.Transformer, { ...fast, dropout: 0.1 }, alongRows, random),
  ...modelOf("TransformerForecaster", weft.TransformerForecaster, { ...forecaster, ...heads }, alongRows, {
    context: 2,
  }),
  ...modelOf(
    "StateSpaceForecaster",
    weft.StateSpaceForecaster,
    { ...forecaster, cell: "lru", modelDim: 4 },
    alongRows,
    { context: 2 },
  ),
  ...modelOf("S4D", weft.S4D, { ...stateSpace, initialization: "linear" }, alongRows, all),
  ...modelOf("LRU", weft.LRU, { ...stateSpace, maxPhase: 1 }, alongRows, all),
  ...modelOf("S5", weft.S5, { ...stateSpace, blocks: 2 }, alongRows, all),
  ...modelOf("S6", weft.S6, { ...stateSpace, stepRank: 2 }, alongRows, all),
  ...modelOf("Mamba", weft.Mamba, { ...stateSpace, expand: 1 }, alongRows, all),
  ...modelOf(
    "StructuredCDE",
    weft.StructuredCDE,
    { ...channels, ...random, modelDim: 4, layers: 2, stateSize: 4, form: "euler" },
    alongRows,
    all,
  ),
  "StructuredCDE structure": [
    (structure) => weft.StructuredCDE({ ...channels, ...random, modelDim: 4, structure }),
    { blockSize: 2 },
  ],
  ...modelOf("WARP", weft.WARP, { ...warp, mode: "recurrent" }, alongRows, all),
  "WARP root": [(root) => weft.WARP({ ...warp, root }), { ...layers, frequencies: 2 }],
  "WARP root.positions": [
    (positions) => weft.WARP({ ...warp, trainingLength: 6, root: { ...layers, positions } }),
    { channels: 2, base: 10 },
  ],
  "WARP transition": [(transition) => weft.WARP({ ...warp, transition }), { rank: 2 }],
  "WARP bound": [(bound) => weft.WARP({ ...warp, bound }), { low: -1, high: 1 }],
  "WARP().weights": [(options) => model.weights(x, options), {}],
  "WARP().decode": [(seen) => model.decode(model.weights(x), 0.5, seen), {}],
  principalComponents: [(options) => weft.principalComponents(x.select(0, 0), options), { count: 1 }],
  gradientDescentPath: [
    (options) => weft.gradientDescentPath(weft.WARP({ ...warp, outputChannels: 3 }), x.select(0, 0), options),
    { steps: 1, learningRate: 0.1 },
  ],
  parseCsv: [(options) => data.parseCsv("time,a\n0,1\n1,2\n", "a.csv", options), { targets: "none" }],
  readTable: [
    (options) => data.readTable({ name: "a", rows: [{ time: 0, a: 1 }, { time: 1, a: 2 }] }, options),
    { targets: "none" },
  ],
  mfcc: [(options) => data.mfcc(normal(key(0), [400]), options), { coefficients: 4, mels: 8 }],
  stratifiedSplit: [(shares) => data.stratifiedSplit(items, key(0), shares), { train: 0.5, validation: 0.2 }],
  spirals: [(options) => data.spirals(2, key(0), options), { length: 8, noise: 0 }],
  "spirals decay": [(decay) => data.spirals(2, key(0), { decay }), { rate: 1 }],
  startServer: [(address) => serve.startServer(nothing, address), { host: "127.0.0.1", port: 0 }],
  limitsOf: [(limits) => serve.limitsOf(limits), { streams: 3 }],
  openStreamStore: [(options) => serve.openStreamStore("/nonexistent/folder", "run", options), {
    longJournal: 1,
  }],
  serviceOf: [(options) => serve.serviceOf({} as never, options), { limits: {} }],
  "Predictor.predict": [
    async (options) => await (await learn()).predict({ name: "rows", rows }, options),
    { series: "series" },
  ],
  "Predictor.evaluate": [
    async (options) => await (await learn()).evaluate({ name: "rows", rows }, options),
    { series: "series" },
  ],
  openTrained: [(options) => series.openTrained("/nonexistent", options), { device: "cpu" }],
  classify: [(options) => series.classify("/nonexistent/table.csv", options), { seed: 1 }],
  regress: [(options) => series.regress("/nonexistent/table.csv", options), { seed: 1 }],
  forecast: [(options) => series.forecast("/nonexistent/table.csv", options), { horizon: 3 }],
  "serviceOf limits": [(limits) => serve.serviceOf({ model: {} } as never, { limits }), { streams: 3 }],
  "serviceOf access": [(access) => serve.serviceOf({ model: {} } as never, { access }), { origins: [] }],
  execute: [(options) => train.execute(nothing, options), { isLocked: true }],
  startRun: [
    (config) => train.startRun(ownSeries, config, "/nonexistent"),
    {
      experiment: "own-series",
      device: "cpu",
      seed: 0,
      epochs: 1,
      batchSize: 2,
      learningRate: 0.1,
      hidden: 4,
    },
  ],
  ownSeriesWith: [(options) => series.ownSeriesWith(options), { models: series.seriesModels }],
  readSeries: [
    (options) => series.readSeries("/nonexistent/table.csv", options),
    { targets: "classes", time: "t" },
  ],
  modelRules: [(rules) => series.modelRules(ownSeries, rules), { check: () => {} }],
  numberOption: [(text) => train.numberOption(text), { help: "a number", default: 1 }],
  sizeOption: [(text) => train.sizeOption(text), { help: "a size" }],
  textOption: [(text) => train.textOption(text), { help: "a text" }],
  choiceOption: [(text) => train.choiceOption(text, ["a", "b"]), { help: "a choice", default: "a" }],
  switchOption: [(text) => train.switchOption(text), { help: "a switch" }],
  listOption: [(text) => train.listOption(text), { help: "a list" }],
  trainingOptions: [
    (defaults) => train.trainingOptions(defaults),
    { epochs: 1, batchSize: 1, learningRate: 0.1 },
  ],
  runCommands: [(options) => commands.runCommands([ownSeries], ["--help"], options), { name: "weft" }],
  measureNew: [(table) => series.measureNew(nothing, "/nonexistent", table), { time: "t" }],
  train: [
    (options) => train.train(nothing, options),
    { epochs: 1, batchSize: 1, folder: {}, ...random },
  ],
  profileStep: [(options) => train.profileStep(nothing, options), { batchSize: 1, ...random }],
};
