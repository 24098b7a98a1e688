/** Kinds of models that are fitted in closed form, whose code is loaded on demand. */
import { drawsFor, manySeries } from "../fit_limits.ts";
import { rejectsOfFits } from "../model_settings.ts";
import { onDemand } from "../on_demand.ts";
import type { FittedModelKind } from "../series_network.ts";
import type { BlendMembers } from "./blend.ts";

/** Makes a kind of model. @param load Imports the module of the network. @param networkOf Function of the module. */
function fittedKind<Module>(
  rules: Partial<FittedModelKind>,
  load: () => Promise<Module>,
  networkOf: (module: Module) => FittedModelKind["network"],
): FittedModelKind {
  const { make: network, ...loading } = onDemand(
    load,
    (module, ...args: Parameters<FittedModelKind["network"]>) => networkOf(module)(...args),
  );
  return { takes: [], defaults: { epochs: 1 }, rejects: rejectsOfFits, ...rules, ...loading, network };
}

const ofLastValues: Partial<FittedModelKind> = {
  isCandidate: true,
  operations: ({ samples, rows, channels }) => samples * channels * (rows + channels),
};

/** The mean of the targets, or the fractions of the classes. */
export const constant: FittedModelKind = fittedKind(
  { ...ofLastValues, isBaseline: true },
  () => import("./baselines.ts"),
  ({ constantNetwork }) => constantNetwork,
);

/** A ridge regression on the last value of each channel. */
export const lastValueModel: FittedModelKind = fittedKind(
  ofLastValues,
  () => import("./baselines.ts"),
  ({ lastValueNetwork }) => lastValueNetwork,
);

/** Operations of a fit of summaries for a channel of a series. */
const summaryOperations = 1e4;

/** A ridge regression on the summaries of `featuresOfSeries` that correlate with the targets. */
export const summaryModel: FittedModelKind = fittedKind(
  { operations: ({ samples, rows, channels }) => samples * channels * (rows + summaryOperations) },
  () => import("./summary_model.ts"),
  ({ summaryNetwork }) => summaryNetwork,
);

/** Operations of the convolutions of a row: kernels of several dilations on some channels, with several thresholds. */
const convolutionOperations = 1.5e6;

/**
 * MiniRocket's convolutions with MultiRocket's pooling operators and differences, global features, and ridge
 * regression. The penalty has the smallest leave-one-out error.
 */
export const randomConvolutions: FittedModelKind = fittedKind(
  {
    isCandidate: true,
    operations: ({ samples, rows }) =>
      drawsFor(samples) *
      (convolutionOperations * samples * rows + Math.min(samples, manySeries) ** 2 * samples),
  },
  () => import("../ridge_network.ts"),
  ({ ridgeNetwork }) => ridgeNetwork,
);

/** Operations of boosted trees for an output and a channel of a series, in all trees of the cross-validation. */
const treeOperations = 1e6;

/** Gradient boosted trees on summaries of series, for classes and numbers. */
export const boostedTrees: FittedModelKind = fittedKind(
  {
    isCandidate: true,
    operations: ({ samples, channels, outputs }) => treeOperations * samples * channels * outputs,
    rejects: rejectsOfFits.filter((option) => option !== "balance"),
  },
  () => import("../trees/tree_network.ts"),
  ({ treeNetwork }) => treeNetwork,
);

/**
 * A weighted mean of the numbers or the class probabilities of some models.
 *
 * @param kinds The models by name, at least one.
 */
export function blendOf(kinds: BlendMembers): FittedModelKind {
  const all = Object.values(kinds);
  return fittedKind(
    {
      isCandidate: true,
      averages: Object.keys(kinds),
      operations: (size) => all.reduce((sum, { operations }) => sum + operations!(size), 0),
    },
    async () => {
      for (const { load } of all) await load?.();
      return await import("./blend.ts");
    },
    ({ blendNetwork }) => (options, outputs) => blendNetwork(kinds, options, outputs),
  );
}
