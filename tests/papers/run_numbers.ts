/**
 * The settings of every run of the papers' tables at the scale of the paper, written down from the papers and
 * from the authors' code, independently of tasks/papers: by table, then by `row | first column of the run`.
 */
import { type Numbers, type RuleNumbers, ruleNumbers } from "./recipe_numbers.ts";

/** Settings by the title of a row or a column, or by run. */
type Titled = Readonly<Record<string, Numbers>>;

/** Runs of all pairs of a row and a column. Settings of the row override settings of the column. */
function runsOf(rows: Titled, columns: Titled): Titled {
  return Object.fromEntries(
    Object.entries(rows).flatMap(([row, ofRow]) =>
      Object.entries(columns).map(([column, ofColumn]) => [`${row} | ${column}`, { ...ofColumn, ...ofRow }])
    ),
  );
}

const recipe = "paper";
/** All runs of a table on data that are read from files share one split. */
const oneSplit = { recipe, dataSeed: 0 };
const byRk4 = { method: "rk4" };

// Kidger et al., appendix D.2; experiments/uea.py.
const letters = { ...oneSplit, epochs: 1000, batchSize: 32, learningRate: 0.001 };

const ncdeTable1 = runsOf({
  "GRU-ODE": { model: "gru-ode", hidden: 47, ...byRk4 },
  "GRU-Δt": { model: "gru-dt", hidden: 47 },
  "GRU-D": { model: "gru-d", hidden: 47 },
  "ODE-RNN": { model: "ode-rnn", hidden: 32, ...byRk4 },
  "Neural CDE": { model: "neural-cde", hidden: 32, ...byRk4 },
}, {
  "30 % dropped": { ...letters, drop: 0.3 },
  "50 % dropped": { ...letters, drop: 0.5 },
  "70 % dropped": { ...letters, drop: 0.7 },
});

// Appendix D.3; experiments/sepsis.py: lr = 0.0001 * 1024 / 32.
const sepsis = { ...oneSplit, epochs: 200, batchSize: 1024, learningRate: 0.0032, positiveWeight: 10 };
const sepsisColumns = { "sepsis OI, AUC": { ...sepsis, intensity: true }, "sepsis no OI, AUC": sepsis };
const sepsisGruOde = { model: "gru-ode", hidden: 187, ...byRk4 };
const sepsisNcde = { model: "neural-cde", hidden: 49, width: 49, depth: 4, ...byRk4 };

const ncdeTable2 = runsOf({
  "GRU-ODE": sepsisGruOde,
  "GRU-Δt": { model: "gru-dt", hidden: 187 },
  "GRU-D": { model: "gru-d", hidden: 187 },
  "ODE-RNN": { model: "ode-rnn", hidden: 128, width: 128, depth: 4, ...byRk4 },
  "Neural CDE": sepsisNcde,
}, sepsisColumns);

// Appendix D.4; experiments/speech_commands.py: lr = 0.00005 * 1024 / 32.
const speech = {
  "Speech Commands, %": { ...oneSplit, epochs: 200, batchSize: 1024, learningRate: 0.0016 },
};
const speechGruOde = { model: "gru-ode", hidden: 160, ...byRk4 };
const speechNcde = { model: "neural-cde", hidden: 90, width: 40, depth: 4, ...byRk4 };

const ncdeTable3 = runsOf({
  "GRU-ODE": speechGruOde,
  "GRU-Δt": { model: "gru-dt", hidden: 160 },
  "GRU-D": { model: "gru-d", hidden: 160 },
  "ODE-RNN": { model: "ode-rnn", hidden: 128, width: 64, depth: 4, ...byRk4 },
  "Neural CDE": speechNcde,
}, speech);

/** Sizes of a rule. The code multiplies the base learning rates by 1024 / 32. */
function scaled({ baseRate, ...sizes }: RuleNumbers): Numbers {
  return { ...sizes, learningRate: baseRate * 32, ...byRk4 };
}

/** Irie et al., table 3, and the number of epochs of README.md of speech_and_physionet. */
function ofRule(row: string, form: "ode" | "cde", rule: "hebb" | "oja" | "delta"): Titled {
  const model = `${rule}-${form}`;
  const [onSpeech, withIntensity, without] = ruleNumbers(form, rule).map(scaled);
  return {
    ...runsOf({ [row]: { model, ...onSpeech, epochs: 500 } }, speech),
    ...runsOf({ [row]: { model, ...withIntensity } }, { "sepsis OI, AUC": sepsisColumns["sepsis OI, AUC"] }),
    ...runsOf({ [row]: { model, ...without } }, { "sepsis no OI, AUC": sepsis }),
  };
}

const deltaCde = ofRule("Delta, CDE", "cde", "delta");

const fastWeightsTable1 = {
  ...runsOf({ "GRU-ODE": speechGruOde, "NCDE": speechNcde }, speech),
  ...runsOf({ "GRU-ODE": sepsisGruOde, "NCDE": sepsisNcde }, sepsisColumns),
  ...ofRule("Hebb, direct", "ode", "hebb"),
  ...ofRule("Oja, direct", "ode", "oja"),
  ...ofRule("Delta, direct", "ode", "delta"),
  ...ofRule("Hebb, CDE", "cde", "hebb"),
  ...ofRule("Oja, CDE", "cde", "oja"),
  ...deltaCde,
  // README.md: --delta_ode_post_tahn; --cde_use_v_laynorm without --trafo_ff_dim, which is then 4 * 160.
  "Delta, CDE | sepsis OI, AUC": {
    ...deltaCde["Delta, CDE | sepsis OI, AUC"],
    model: "delta-cde-post-tanh",
  },
  "Delta, CDE | sepsis no OI, AUC": {
    ...deltaCde["Delta, CDE | sepsis no OI, AUC"],
    ...{ model: "delta-cde-value-norm", feedForward: 640 },
  },
};

// Appendix C.2, with the sizes of table 3.
const [hebbSpeech, ojaSpeech, deltaSpeech] = (["hebb", "oja", "delta"] as const).map((rule) => ({
  ...scaled(ruleNumbers("cde", rule)[0]),
  epochs: 500,
}));

const fastWeightsAblation = runsOf({
  "Hebb, keys from x, values from x'": { model: "hebb-cde", ...hebbSpeech },
  "Hebb, keys from x', values from x": { model: "hebb-cde-exchanged", ...hebbSpeech },
  "Hebb, keys and values from x'": { model: "hebb-cde-derivative", ...hebbSpeech },
  "Oja, keys and values from x'": { model: "oja-cde-derivative", ...ojaSpeech },
  "Delta, keys and values from x'": { model: "delta-cde-derivative", ...deltaSpeech },
}, speech);

/** A rule on EigenWorms. Its learning rate is not multiplied: --lr of main_train.py. */
function onWorms(form: "ode" | "cde", rule: "hebb" | "oja" | "delta"): Numbers {
  const { baseRate: learningRate, ...sizes } = ruleNumbers(form, rule)[3];
  return { model: `${rule}-rde`, ...sizes, learningRate, signatureDepth: form === "ode" ? 2 : 1 };
}

// main_train.py and trainer.py of eigenworms: defaults of the code.
const wormsNrde = { model: "neural-rde", hidden: 32, width: 64, depth: 3, learningRate: 0.01 * 32 / 1024 };

const fastWeightsTable2 = runsOf({
  "NRDE": { ...wormsNrde, signatureDepth: 2 },
  "Hebb, depth 2": onWorms("ode", "hebb"),
  "Oja, depth 2": onWorms("ode", "oja"),
  "Delta, depth 2": onWorms("ode", "delta"),
  "NCDE": { ...wormsNrde, signatureDepth: 1 },
  "Hebb, depth 1": onWorms("cde", "hebb"),
  "Oja, depth 1": onWorms("cde", "oja"),
  "Delta, depth 1": onWorms("cde", "delta"),
  // Appendix C.1: a second layer.
  "Delta, two layers, depth 1": { ...onWorms("cde", "delta"), depth: 2 },
}, { "accuracy, %": { recipe, drop: 0, epochs: 1000, batchSize: 181, window: 4, ...byRk4 } });

// Nzoyem et al., appendix C.1, tables 4, 7 and 8; cfgs/wsm/mnist/mnist.yaml. 500 images are for validation.
const images = {
  ...{ recipe, samples: 59_500, length: 784, epochs: 200, batchSize: 640, learningRate: 1e-4 },
  ...{ hidden: 24, depth: 3 },
};
const imageColumns = {
  "28 × 28, 100: MSE": images,
  "14 × 14, 100: MSE": { ...images, length: 196 },
};
const imageRows = {
  "GRU": { model: "gru", units: 750 },
  "LSTM": { model: "lstm", units: 650 },
  "WARP": { model: "warp", clipWeights: 0.5 },
};
// Appendix C, "TST and S4 baselines setup".
const s4 = { model: "s4d", layers: 6, units: 512, batchSize: 50, learningRate: 0.001 };
// Appendix C.1, tables 4, 7 and 8; cfgs/wsm/celeba/celeba.yaml.
const faces = {
  ...{ recipe, samples: 162_770, length: 1024, epochs: 250, batchSize: 1256, learningRate: 1e-5 },
  ...{ hidden: 24, depth: 3 },
};

const warpTable1 = {
  ...runsOf({ ...imageRows, "S4": s4 }, imageColumns),
  ...runsOf({
    "GRU": { model: "gru", units: 825 },
    "LSTM": { model: "lstm", units: 700 },
    // Section 3.1: about 2 M parameters.
    "ConvCNP": { model: "conv-cnp", units: 128, layers: 5 },
    "WARP": { model: "warp", clipWeights: 0 },
  }, { "CelebA, 100: MSE": faces }),
};

// Appendix C.4, tables 4, 7 and 8; cfgs/wsm/msd, lotka, sine.
const root = { recipe, hidden: 48, depth: 3, learningRate: 1e-5 };
const msd = { ...root, samples: 20_480, length: 256, context: 100, epochs: 1000, batchSize: 1024 };
const lv = { ...root, samples: 15_000, length: 256, epochs: 1500, batchSize: 1024 };
// 20 epochs of 50 visits are 1,000 steps of all ten waves.
const sine = { ...root, epochs: 20, batchSize: 10 };
const oscillations = { "MSD, MSE (10⁻²)": msd, "MSD-Zero, MSE (10⁻²)": msd, "LV, MSE (10⁻²)": lv };
const waves = { "SINE*, MSE (10⁻⁴)": sine };
const transformer = { model: "transformer", learningRate: 6e-4 };

const warpTable2 = {
  ...runsOf({
    "GRU": { model: "gru", units: 2850 },
    "LSTM": { model: "lstm", units: 2450 },
  }, oscillations),
  ...runsOf({ "GRU": { model: "gru", units: 2280 }, "LSTM": { model: "lstm", units: 2280 } }, waves),
  ...runsOf({ "Transformer": transformer, "WARP": { model: "warp" } }, { ...oscillations, ...waves }),
  // original_physics.yaml and zero_physics.yaml.
  ...runsOf({ "WARP-Phys": { model: "warp-phys" } }, {
    "MSD, MSE (10⁻²)": { ...msd, epochs: 2500 },
    "MSD-Zero, MSE (10⁻²)": { ...msd, epochs: 5000 },
    ...waves,
  }),
};

// The paper does not state the settings of the other models: they are Weft's.
const unpublished = {
  ...{ recipe: "short", drop: 0, hidden: 64, epochs: 100, batchSize: 32, learningRate: 0.001 },
};
const alongWindows = { depth: 1, method: "midpoint", window: 16 };
const unpublishedColumns = Object.fromEntries(
  ["Worms", "SCP1", "SCP2", "Ethanol", "Heartbeat", "Motor"].map((title) => [title, unpublished]),
);

const warpTable3 = {
  ...runsOf({
    "NRDE": { model: "neural-rde", ...alongWindows },
    "NCDE": { model: "neural-cde", depth: 1, method: "midpoint" },
    "LRU": { model: "lru" },
    "S5": { model: "s5" },
    "S6": { model: "s6" },
    "Mamba": { model: "mamba" },
    "Log-NCDE": { model: "log-ncde", ...alongWindows },
  }, unpublishedColumns),
  // Appendix C.5, table 7; cfgs/wsm/uea.
  ...runsOf({ "WARP": { model: "warp", recipe, drop: 0 } }, {
    Worms: { hidden: 128, depth: 1, epochs: 800, batchSize: 40, learningRate: 1e-6 },
    SCP1: { hidden: 48, depth: 2, epochs: 5000, batchSize: 561, learningRate: 1e-5 },
    SCP2: { hidden: 48, depth: 2, epochs: 5000, batchSize: 380, learningRate: 1e-5 },
    Ethanol: { hidden: 32, depth: 2, epochs: 6500, batchSize: 524, learningRate: 1e-5 },
    Heartbeat: { hidden: 72, depth: 2, epochs: 1500, batchSize: 286, learningRate: 1e-5 },
    Motor: { hidden: 32, depth: 2, epochs: 100, batchSize: 128, learningRate: 1e-5 },
  }),
};

// Appendix C.5; cfgs/wsm/spirals/spirals.yaml.
const warpTable10 = runsOf({ "Neural CDE": { model: "neural-cde" }, "WARP": { model: "warp" } }, {
  "accuracy, %": {
    ...{ recipe, samples: 10_000, hidden: 24, epochs: 4000, batchSize: 10_000, learningRate: 1e-5 },
  },
});

// cfgs/wsm/mnist/mnist_classif_14.yaml. The other models have Weft's settings.
const pixels = { samples: 60_000, length: 196 };
const warpSequentialMnist = {
  ...runsOf({ "GRU": { model: "gru" }, "LSTM": { model: "lstm" }, "S4D": { model: "s4d" } }, {
    "accuracy, %": { ...pixels, hidden: 64, epochs: 20, batchSize: 50, learningRate: 0.003 },
  }),
  "WARP | accuracy, %": {
    ...{ ...pixels, recipe, model: "warp", hidden: 24, depth: 3, clipWeights: 0 },
    ...{ epochs: 3000, batchSize: 3072, learningRate: 1e-4 },
  },
};

// Appendix C.3, tables 7 and 8; cfgs/wsm/electricity.
const electricity = { recipe, hidden: 148, depth: 1, batchSize: 3600 };
const hourly = { ...electricity, epochs: 500, learningRate: 1e-5 };
const quarterly = { ...electricity, epochs: 250, learningRate: 1e-4 };

const warpFigure2 = runsOf({
  "GRU": { model: "gru", units: 920 },
  "LSTM": { model: "lstm", units: 920 },
  "Transformer": transformer,
  "WARP": { model: "warp" },
}, { ETTh1: hourly, ETTh2: hourly, ETTm1: quarterly, ETTm2: quarterly });

const warpFigure15 = runsOf({ "WARP": { model: "warp" } }, {
  "ETTh1, samples fed: MSE": hourly,
  "ETTh1, means fed: MSE": { ...hourly, noSampling: true },
  "ETTm1, samples fed: MSE": quarterly,
  "ETTm1, means fed: MSE": { ...quarterly, noSampling: true },
});

// Appendices B.1 and C.4: 1,000 steps of all waves of each data set. The neural ODE has no depth.
const numbersOfWaves = {
  ...{ "tiny, 1": 1, "small, 10": 10, "medium, 100": 100, "large, 1,000": 1000, "huge, 10,000": 10_000 },
};
const warpFigure5 = runsOf(
  { "Neural ODE": { model: "neural-ode" }, "WARP": { model: "warp", depth: 3 } },
  Object.fromEntries(
    Object.entries(numbersOfWaves).map(([title, samples]) => [
      title,
      { recipe, hidden: 48, learningRate: 1e-5, epochs: 20, samples, batchSize: samples },
    ]),
  ),
);

// Section 3.4, with the settings of the other tables.
const warpAblations = {
  ...runsOf({
    "WARP": { model: "warp" },
    "without phi: theta_0 is learned": { model: "warp-no-initial" },
    "root at a fixed tau": { model: "warp-fixed-tau" },
    "diagonal A": { model: "warp-diagonal" },
    "A of rank 16": { model: "warp-low-rank" },
  }, { "MSD-Zero": msd, "SINE*": sine, "ETTm1": quarterly }),
  "WARP-Phys | MSD-Zero": { ...msd, model: "warp-phys", epochs: 5000 },
  "WARP-Phys | SINE*": { ...sine, model: "warp-phys" },
  // A model without a root network keeps the default number of features of the experiment.
  "WARP-Phys without a root | SINE*": {
    ...{ recipe, model: "warp-phys-no-root", hidden: 16, epochs: 20, batchSize: 10, learningRate: 1e-5 },
  },
};

/** The settings of all runs, by table and run. */
export const runNumbers: Readonly<Record<string, Titled>> = {
  "ncde-table-1": ncdeTable1,
  "ncde-table-2": ncdeTable2,
  "ncde-table-3": ncdeTable3,
  "fast-weights-table-1": fastWeightsTable1,
  "fast-weights-table-2": fastWeightsTable2,
  "fast-weights-ablation": fastWeightsAblation,
  "warp-table-1": warpTable1,
  "warp-table-2": warpTable2,
  "warp-table-3": warpTable3,
  "warp-table-9": runsOf(imageRows, { "MSE": images }),
  "warp-table-10": warpTable10,
  "warp-sequential-mnist": warpSequentialMnist,
  "warp-figure-2": warpFigure2,
  "warp-figure-15": warpFigure15,
  "warp-figure-5": warpFigure5,
  "warp-figure-5-mape": warpFigure5,
  "warp-ablations": warpAblations,
};
