/** Recipes of Irie et al., "Neural Differential Equations for Learning to Program Neural Nets", 2022. */
import { cited, type PaperRecipes, type Recipe } from "./recipe.ts";
import { mujoco } from "./mujoco.ts";
import { sepsis as kidgerSepsis, speechCommands as kidgerSpeech } from "./neural_cde.ts";

const adamCancels = "Adam divides by the size of the gradients, which cancels the factor of --grad_scale 100";

/** Rules of Speech Commands and sepsis: those of Kidger et al., whose code the authors changed. */
const { l2Penalty, plateauOf, plateauPatience, stopAfter, stopBy } = kidgerSpeech.rules;
const shared = {
  ...{ l2Penalty, plateauOf, plateauPatience, stopAfter, stopBy },
  rateFactor: cited(
    32,
    "B: table 3 lists base learning rates",
    "speech_commands.py, sepsis.py: lr = base_lr * (batch_size / 32)",
    "the published runs used 32 times the learning rates of table 3",
  ),
  readoutRate: cited(1, undefined, "speech_commands.py, sepsis.py: gradients times 100", adamCancels),
} as const;

const solver = cited("rk4", "B", "torchdiffeq's rk4");
const batch = cited(1024, "B", "README.md: --batch_size");

/** Table 1, and the ablation of appendix C.2. */
export const speechCommands = {
  title: "Speech Commands",
  settings: {
    epochs: cited(500, undefined, "README.md: --max_epochs"),
    batchSize: batch,
    method: solver,
  },
  rules: shared,
} as const satisfies Recipe;

/** Table 1. */
export const sepsis = {
  title: "Sepsis",
  settings: {
    epochs: cited(200, undefined, "README.md: --max_epochs"),
    batchSize: batch,
    method: solver,
  },
  rules: {
    ...shared,
    positiveWeight: kidgerSepsis.rules.positiveWeight,
    staticWidth: kidgerSepsis.rules.staticWidth,
  },
} as const satisfies Recipe;

/** A rule's sizes: features, heads, features of the feedforward block, and the base rate in units of 1e-5. */
export type RuleSizes = readonly [hidden: number, heads: number, feedForward: number, rate: number];

/** Table 3 of the paper: columns Speech Commands, sepsis with and without intensity. The rates are base rates. */
export const table3: Readonly<Record<string, readonly [RuleSizes, RuleSizes, RuleSizes]>> = {
  "hebb-ode": [[128, 32, 512, 5], [160, 32, 64, 6], [32, 8, 64, 10]],
  "oja-ode": [[128, 32, 512, 5], [160, 32, 64, 6], [160, 32, 64, 4]],
  "delta-ode": [[160, 16, 80, 1], [128, 16, 64, 2], [80, 16, 64, 4]],
  "hebb-cde": [[128, 32, 512, 5], [32, 8, 256, 6], [160, 32, 64, 4]],
  "oja-cde": [[128, 32, 512, 5], [80, 16, 64, 2], [160, 32, 64, 6]],
  "delta-cde": [[80, 4, 320, 5], [80, 16, 64, 3], [160, 32, 64, 4]],
};

const onlyDelta = "the README has commands only for Delta's CDE";

/** Delta's CDE on sepsis with observational intensity. */
export const deltaWithIntensity = {
  title: "Delta, CDE, on sepsis with observational intensity",
  settings: {
    model: cited(
      "delta-cde-post-tanh",
      "A: used for very long sequences",
      "README.md: --delta_ode_post_tahn",
      onlyDelta,
    ),
    hidden: cited(80, "table 3", "README.md: --hidden_channels"),
    heads: cited(16, "table 3", "README.md: --num_heads"),
    feedForward: cited(64, "table 3", "README.md: --trafo_ff_dim"),
  },
  rules: { baseRate: cited(3e-5, "table 3", "README.md: --base_lr") },
} as const satisfies Recipe;

/** Delta's CDE on sepsis without observational intensity. */
export const deltaWithoutIntensity = {
  title: "Delta, CDE, on sepsis without observational intensity",
  settings: {
    model: cited("delta-cde-value-norm", undefined, "README.md: --cde_use_v_laynorm", onlyDelta),
    hidden: cited(160, "table 3", "README.md: --hidden_channels"),
    heads: cited(32, "table 3", "README.md: --num_heads"),
    feedForward: cited(
      640,
      "table 3: 64",
      "README.md has no --trafo_ff_dim; metamodel.py: 4 * hidden_channels",
      "the published results come from this command",
    ),
  },
  rules: { baseRate: cited(4e-5, "table 3", "README.md: --base_lr") },
} as const satisfies Recipe;

/** Table 2 and appendix C.1. */
export const eigenworms = {
  title: "EigenWorms",
  settings: {
    epochs: cited(1000, undefined, "main_train.py: max_epochs"),
    batchSize: cited(181, "B", "README.md: batch of all training series"),
    window: cited(4, "table 2", "README.md: --step"),
    heads: cited(16, "table 3", "README.md: --num_heads"),
    method: cited("rk4", "B", "main_train.py: solver"),
  },
  rules: {
    l2Penalty: cited(0, undefined, "trainer.py has no penalty"),
    readoutRate: cited(10, undefined, "main_train.py: final_layer_scaling"),
    plateauFactor: cited(0.1, undefined, "trainer.py: default of ReduceLROnPlateau"),
    plateauOf: cited("validation loss", undefined, "trainer.py: scheduler.step"),
    plateauPatience: cited(15, undefined, "main_train.py: plateau_patience"),
    plateauThreshold: cited(1e-6, undefined, "trainer.py: threshold"),
    stopAfter: cited(60, undefined, "main_train.py: plateau_terminate"),
    stopBy: cited("validation accuracy alone", undefined, "main_train.py: val_metric_to_monitor"),
  },
} as const satisfies Recipe;

/** NRDE and NCDE of table 2, whose numbers the paper takes from Morrill et al. (2021). */
export const eigenwormsNrde = {
  title: "NRDE and NCDE on EigenWorms",
  settings: {
    learningRate: cited(
      0.01 * 32 / 1024,
      undefined,
      "trainer.py: set_lr, with the default batch_size of main_train.py",
      "the results are those of Morrill et al.; the sources have no settings except the defaults of the code",
    ),
    hidden: cited(32, undefined, "main_train.py: hidden_dim"),
    width: cited(64, undefined, "main_train.py: hidden_hidden_multiplier 2"),
    depth: cited(3, undefined, "main_train.py: num_layers"),
  },
  rules: {},
} as const satisfies Recipe;

/** Features, features of the feedforward block, and the rate of a rule on EigenWorms. */
type WormSizes = readonly [hidden: number, feedForward: number, learningRate: number];

/** Table 3 of the paper, columns EigenWorms: depth 2, which the paper calls RDE, and depth 1, which is a CDE. */
export const wormSizes: Readonly<Record<1 | 2, Readonly<Record<"hebb" | "oja" | "delta", WormSizes>>>> = {
  2: { hebb: [160, 128, 3e-4], oja: [160, 128, 3e-4], delta: [128, 64, 1e-4] },
  1: { hebb: [160, 128, 3e-4], oja: [128, 64, 3e-4], delta: [128, 64, 1e-4] },
};

/** A recipe with the sizes of a column of table 3. */
function ofTable3(title: string, sizes: Readonly<Record<string, number>>): Recipe {
  const settings = Object.entries(sizes).map(([name, value]) => [name, cited(value, "table 3")]);
  return { title, settings: Object.fromEntries(settings), rules: {} };
}

const columns = ["Speech Commands", "sepsis with intensity", "sepsis without intensity"];

const sizesOfRules: readonly Recipe[] = [
  ...Object.entries(table3).flatMap(([model, sizes]) =>
    sizes.map(([hidden, heads, feedForward, rate], i) =>
      ofTable3(`${model} on ${columns[i]}`, { hidden, heads, feedForward, baseRate: rate / 1e5 })
    )
  ),
  ...([2, 1] as const).flatMap((depth) =>
    Object.entries(wormSizes[depth]).map(([rule, [hidden, feedForward, learningRate]]) =>
      ofTable3(`${rule} on EigenWorms, depth ${depth}`, { hidden, feedForward, learningRate })
    )
  ),
];

export const fastWeightsRecipes: PaperRecipes = {
  paper: "Irie et al., 2022",
  code: "github.com/IDSIA/neuraldiffeq-fwp, commit d7c678c",
  recipes: [
    ...[
      speechCommands,
      sepsis,
      deltaWithIntensity,
      deltaWithoutIntensity,
      eigenworms,
      eigenwormsNrde,
      mujoco,
    ],
    ...sizesOfRules,
  ],
};
