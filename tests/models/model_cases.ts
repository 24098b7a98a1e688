/** Every model with a loss, for tests of all models. */
import {
  additiveRule,
  addTime,
  bernoulli,
  CubicSpline,
  DeltaNet,
  deltaRule,
  DirectNeuralODE,
  Dropout,
  FastWeight,
  FastWeightCDE,
  FastWeightDirectMap,
  FastWeightODE,
  FastWeightRDE,
  GRU,
  GRUODE,
  hebbRule,
  IrregularGRU,
  type Key,
  key,
  LatentODE,
  LatentODERFWP,
  LatentODERNN,
  LinearInterpolation,
  LinearTransformer,
  LogNCDE,
  logsigWindows,
  LRU,
  LSTM,
  Mamba,
  naturalCubicCoeffs,
  NeuralCDE,
  NeuralODE,
  NeuralRDE,
  ODERFWP,
  ojaRule,
  type ParameterTree,
  Recurrent,
  RecurrentForecaster,
  RecurrentFWP,
  S4D,
  S5,
  S6,
  StateSpaceForecaster,
  StructuredCDE,
  type Tensor,
  tensor,
  Transformer,
  TransformerForecaster,
  WARP,
} from "../../mod.ts";

/** A model's parameters, and its loss on sequences `(4, 6, 2)`. */
export interface ModelCase {
  readonly parameters: ParameterTree;
  readonly loss: (x: Tensor, key: Key) => Tensor;
}

const channels = { inputChannels: 2, outputChannels: 2, key: key(1) };
const fast = { ...channels, modelDim: 4, heads: 2 };
const spline = (x: Tensor) => CubicSpline(naturalCubicCoeffs(x));
const windows = (x: Tensor) => LinearInterpolation(logsigWindows(x, 2, 2));
const gaps = () => tensor([0, 0.4, 1.5, 0.2, 0.7, 1]);
const ofModel = <M extends { parameters: ParameterTree }>(
  model: M,
  output: (model: M, x: Tensor, key: Key) => Tensor,
): ModelCase => ({ parameters: model.parameters, loss: (x, key) => output(model, x, key).square().mean() });

/** A small case of every exported model. */
export const modelCases: Readonly<Record<string, () => ModelCase>> = {
  NeuralCDE: () =>
    ofModel(
      NeuralCDE({ ...channels, hiddenChannels: 3, width: 4, depth: 1 }),
      (model, x) => model(spline(x)),
    ),
  "NeuralCDE with missing values, lengths and the continuous adjoint": () =>
    ofModel(
      NeuralCDE({ ...channels, hiddenChannels: 3, width: 4, depth: 1, adjoint: "continuous" }),
      (model, x, key) =>
        model(spline(bernoulli(key, 0.7, x.shape).where(x, NaN)), {
          lengths: tensor([6, 5, 3, 6], { dtype: "int32" }),
        }),
    ),
  "NeuralCDE by a reversible method": () =>
    ofModel(
      NeuralCDE({ ...channels, hiddenChannels: 3, width: 4, depth: 1, method: "reversible_heun" }),
      (model, x) => model(spline(x)),
    ),
  NeuralODE: () =>
    ofModel(
      NeuralODE({ features: 2, width: 4, depth: 1, stepSize: 0.5, key: key(1) }),
      (model, x) => model(x.select(1, 0), [0, 1, 2]),
    ),
  LatentODE: () => {
    const sizes = { latentChannels: 3, width: 4, depth: 1, stepSize: 1, key: key(1) };
    const model = LatentODE({ ...sizes, inputChannels: 3, outputChannels: 2 });
    return {
      parameters: model.parameters,
      loss(x, key) {
        const X = spline(addTime(x));
        return model.loss(X, x, X.times, { key });
      },
    };
  },
  NeuralRDE: () =>
    ofModel(
      NeuralRDE({ ...channels, hiddenChannels: 3, width: 4, depth: 1, signatureDepth: 2 }),
      (model, x) => model(windows(x)),
    ),
  DirectNeuralODE: () =>
    ofModel(
      DirectNeuralODE({ ...channels, hiddenChannels: 3, width: 4, depth: 1 }),
      (model, x) => model(spline(x)),
    ),
  Transformer: () =>
    ofModel(
      Transformer({ ...channels, modelDim: 4, heads: 2, dropout: 0.1 }),
      (model, x, key) => model(x, { key }),
    ),
  TransformerForecaster: () =>
    ofModel(
      TransformerForecaster({ channels: 2, modelDim: 4, heads: 2, key: key(1) }),
      (model, x, key) => model(x, { context: 3, forcing: 0.5, key }),
    ),
  LogNCDE: () =>
    ofModel(
      LogNCDE({ ...channels, hiddenChannels: 3, width: 4, depth: 1, signatureDepth: 2 }),
      (model, x) => model(windows(x)),
    ),
  GRUODE: () => ofModel(GRUODE({ ...channels, hiddenChannels: 3 }), (model, x) => model(spline(x))),
  "FastWeight of two layers": () =>
    ofModel(FastWeight({ ...fast, layers: 2, rule: additiveRule() }), (model, x) => model(spline(x))),
  "FastWeightODE, Hebb": () =>
    ofModel(FastWeightODE({ ...fast, rule: hebbRule() }), (model, x) => model(spline(x))),
  "FastWeightODE, delta": () =>
    ofModel(FastWeightODE({ ...fast, rule: deltaRule() }), (model, x) => model(spline(x))),
  "FastWeightCDE, Oja": () =>
    ofModel(FastWeightCDE({ ...fast, rule: ojaRule(), keys: "value" }), (model, x) => model(spline(x))),
  "FastWeightCDE, delta": () =>
    ofModel(
      FastWeightCDE({ ...fast, rule: deltaRule(), keys: "derivative" }),
      (model, x) => model(spline(x)),
    ),
  FastWeightRDE: () =>
    ofModel(
      FastWeightRDE({ ...fast, depth: 2, rule: deltaRule() }),
      (model, x) => model(windows(x)),
    ),
  FastWeightDirectMap: () =>
    ofModel(
      FastWeightDirectMap({ ...channels, modelDim: 4, width: 3, depth: 1 }),
      (model, x) => model(spline(x)),
    ),
  DeltaNet: () => ofModel(DeltaNet(fast), (model, x) => model(x)),
  LinearTransformer: () => ofModel(LinearTransformer(fast), (model, x) => model(x)),
  RecurrentFWP: () => ofModel(RecurrentFWP(fast), (model, x) => model(x)),
  ODERFWP: () => ofModel(ODERFWP({ ...fast, width: 3, depth: 1 }), (model, x) => model(x, { gaps: gaps() })),
  LatentODERFWP: () => {
    const model = LatentODERFWP({ inputChannels: 2, modelDim: 4, heads: 2, width: 3, depth: 1, key: key(1) });
    return { parameters: model.parameters, loss: (x, key) => model.loss(x, { gaps: gaps(), key }) };
  },
  LatentODERNN: () => {
    const model = LatentODERNN({ inputChannels: 2, hiddenChannels: 3, width: 3, depth: 1, key: key(1) });
    return { parameters: model.parameters, loss: (x, key) => model.loss(x, { gaps: gaps(), key }) };
  },
  IrregularGRU: () =>
    ofModel(
      IrregularGRU({ ...channels, hiddenChannels: 3, between: { width: 3, depth: 1 } }),
      (model, x) => model(x, { gaps: gaps() }),
    ),
  ...Object.fromEntries(
    Object.entries({ S4D, LRU, S5, S6, Mamba }).map(([name, make]) => [
      name,
      () => ofModel(make({ ...channels, modelDim: 4, stateSize: 4, layers: 2 }), (model, x) => model(x)),
    ]),
  ),
  StructuredCDE: () =>
    ofModel(
      StructuredCDE({ ...channels, modelDim: 4, stateSize: 4, layers: 2, form: "euler" }),
      (model, x) => model(x),
    ),
  "StructuredCDE along log-signatures": () =>
    ofModel(
      StructuredCDE({ ...channels, modelDim: 4, stateSize: 4, signatureDepth: 2 }),
      (model, x) => model(logsigWindows(x, 2, 2)),
    ),
  Recurrent: () =>
    ofModel(Recurrent({ ...channels, cell: "lstm", hiddenChannels: 3 }), (model, x) => model(x)),
  StateSpaceForecaster: () =>
    ofModel(
      StateSpaceForecaster({ cell: "mamba", channels: 2, modelDim: 4, stateSize: 3, key: key(1) }),
      (model, x, key) => model(x, { context: 3, forcing: 0.5, key }),
    ),
  RecurrentForecaster: () =>
    ofModel(
      RecurrentForecaster({ cell: "gru", channels: 2, hiddenChannels: 3, key: key(1) }),
      (model, x, key) => model(x, { context: 3, forcing: 0.5, key }),
    ),
  "GRU and LSTM": () => {
    const [gru, lstm] = [
      GRU({ inputs: 2, hidden: 3, key: key(1) }),
      LSTM({ inputs: 3, hidden: 2, key: key(2) }),
    ];
    const parameters = { gru: gru.parameters, lstm: lstm.parameters };
    return { parameters, loss: (x) => lstm(gru(x)).square().mean() };
  },
  Dropout: () => {
    const [model, dropout] = [LSTM({ inputs: 2, hidden: 3, key: key(1) }), Dropout({ rate: 0.5 })];
    return ofModel(model, (model, x, key) => dropout(model(x), key));
  },
  ...Object.fromEntries((["recurrent", "convolutional", "chunked"] as const).map((mode) => [
    `WARP, ${mode}`,
    () => ofModel(WARP({ ...channels, root: { width: 3, depth: 1 }, mode }), (model, x) => model(x)),
  ])),
  "WARP, autoregressive": () =>
    ofModel(
      WARP({ ...channels, root: { width: 3, depth: 1 } }),
      (model, x, key) => model(x, { context: 3, pForcing: 0.5, key }),
    ),
};
