/**
 * The numbers of the papers' runs, written down from the papers and from the authors' code, independently of
 * tasks/papers/recipes: settings of each row and column of a table at the scale of the paper.
 */

/** Settings of a run. */
type Numbers = Readonly<Record<string, unknown>>;

/** Settings of the runs of a table: by the model's row, then by the titles of columns. */
export const runNumbers: Readonly<
  Record<string, Readonly<Record<string, Readonly<Record<string, Numbers>>>>>
> = {
  // Kidger et al., appendix D.2; experiments/uea.py.
  "ncde-table-1": {
    "gru-ode": {
      "30 % dropped": { drop: 0.3, hidden: 47, epochs: 1000, batchSize: 32, learningRate: 0.001 },
    },
    "gru-dt": { "50 % dropped": { drop: 0.5, hidden: 47, epochs: 1000, batchSize: 32, learningRate: 0.001 } },
    "gru-d": { "70 % dropped": { drop: 0.7, hidden: 47, epochs: 1000, batchSize: 32, learningRate: 0.001 } },
    "ode-rnn": { "30 % dropped": { hidden: 32, epochs: 1000, batchSize: 32, learningRate: 0.001 } },
    "neural-cde": { "30 % dropped": { hidden: 32, epochs: 1000, batchSize: 32, method: "rk4" } },
  },
  // Appendix D.3; experiments/sepsis.py: lr = 0.0001 * 1024 / 32.
  "ncde-table-2": {
    "gru-ode": { "sepsis OI, AUC": { hidden: 187, epochs: 200, batchSize: 1024, learningRate: 0.0032 } },
    "gru-dt": { "sepsis no OI, AUC": { hidden: 187, epochs: 200, batchSize: 1024, learningRate: 0.0032 } },
    "gru-d": { "sepsis OI, AUC": { hidden: 187, epochs: 200, batchSize: 1024, positiveWeight: 10 } },
    "ode-rnn": { "sepsis OI, AUC": { hidden: 128, width: 128, depth: 4, learningRate: 0.0032 } },
    "neural-cde": {
      "sepsis OI, AUC": { hidden: 49, width: 49, depth: 4, intensity: true, learningRate: 0.0032 },
      "sepsis no OI, AUC": { hidden: 49, width: 49, depth: 4, intensity: undefined, learningRate: 0.0032 },
    },
  },
  // Appendix D.4; experiments/speech_commands.py: lr = 0.00005 * 1024 / 32.
  "ncde-table-3": {
    "gru-ode": { "Speech Commands, %": { hidden: 160, epochs: 200, batchSize: 1024, learningRate: 0.0016 } },
    "gru-dt": { "Speech Commands, %": { hidden: 160, epochs: 200, batchSize: 1024, learningRate: 0.0016 } },
    "gru-d": { "Speech Commands, %": { hidden: 160, epochs: 200, batchSize: 1024, learningRate: 0.0016 } },
    "ode-rnn": { "Speech Commands, %": { hidden: 128, width: 64, depth: 4, learningRate: 0.0016 } },
    "neural-cde": { "Speech Commands, %": { hidden: 90, width: 40, depth: 4, learningRate: 0.0016 } },
  },
  // Irie et al., table 3, with rates times 1024 / 32; README.md of speech_and_physionet.
  "fast-weights-table-1": {
    "gru-ode": {
      "Speech Commands, %": { hidden: 160, epochs: 200, learningRate: 0.0016 },
      "sepsis no OI, AUC": { hidden: 187, epochs: 200, learningRate: 0.0032 },
    },
    "neural-cde": {
      "Speech Commands, %": { hidden: 90, width: 40, depth: 4, epochs: 200, learningRate: 0.0016 },
      "sepsis OI, AUC": { hidden: 49, width: 49, depth: 4, epochs: 200, learningRate: 0.0032 },
    },
    "hebb-ode": {
      "Speech Commands, %": { hidden: 128, heads: 32, feedForward: 512, epochs: 500, learningRate: 0.0016 },
      "sepsis OI, AUC": { hidden: 160, heads: 32, feedForward: 64, epochs: 200, learningRate: 0.00192 },
      "sepsis no OI, AUC": { hidden: 32, heads: 8, feedForward: 64, epochs: 200, learningRate: 0.0032 },
    },
    "oja-ode": {
      "Speech Commands, %": { hidden: 128, heads: 32, feedForward: 512, epochs: 500, learningRate: 0.0016 },
      "sepsis OI, AUC": { hidden: 160, heads: 32, feedForward: 64, learningRate: 0.00192 },
      "sepsis no OI, AUC": { hidden: 160, heads: 32, feedForward: 64, learningRate: 0.00128 },
    },
    "delta-ode": {
      "Speech Commands, %": { hidden: 160, heads: 16, feedForward: 80, epochs: 500, learningRate: 0.00032 },
      "sepsis OI, AUC": { hidden: 128, heads: 16, feedForward: 64, learningRate: 0.00064 },
      "sepsis no OI, AUC": { hidden: 80, heads: 16, feedForward: 64, learningRate: 0.00128 },
    },
    "hebb-cde": {
      "Speech Commands, %": { hidden: 128, heads: 32, feedForward: 512, epochs: 500, learningRate: 0.0016 },
      "sepsis OI, AUC": { hidden: 32, heads: 8, feedForward: 256, learningRate: 0.00192 },
      "sepsis no OI, AUC": { hidden: 160, heads: 32, feedForward: 64, learningRate: 0.00128 },
    },
    "oja-cde": {
      "Speech Commands, %": { hidden: 128, heads: 32, feedForward: 512, epochs: 500, learningRate: 0.0016 },
      "sepsis OI, AUC": { hidden: 80, heads: 16, feedForward: 64, learningRate: 0.00064 },
      "sepsis no OI, AUC": { hidden: 160, heads: 32, feedForward: 64, learningRate: 0.00192 },
    },
    "delta-cde": {
      "Speech Commands, %": {
        ...{ hidden: 80, heads: 4, feedForward: 320, epochs: 500, batchSize: 1024, learningRate: 0.0016 },
        model: "delta-cde",
      },
      "sepsis OI, AUC": {
        ...{ hidden: 80, heads: 16, feedForward: 64, epochs: 200, batchSize: 1024, learningRate: 0.00096 },
        ...{ model: "delta-cde-post-tanh", intensity: true },
      },
      "sepsis no OI, AUC": {
        ...{ hidden: 160, heads: 32, feedForward: 640, epochs: 200, batchSize: 1024, learningRate: 0.00128 },
        ...{ model: "delta-cde-value-norm", intensity: undefined },
      },
    },
  },
  // The sizes of table 1 on Speech Commands.
  "fast-weights-ablation": {
    "hebb-cde": {
      "Speech Commands, %": { hidden: 128, heads: 32, feedForward: 512, learningRate: 0.0016, epochs: 500 },
    },
    "hebb-cde-exchanged": {
      "Speech Commands, %": { hidden: 128, heads: 32, feedForward: 512, learningRate: 0.0016, epochs: 500 },
    },
    "delta-cde-derivative": {
      "Speech Commands, %": { hidden: 80, heads: 4, feedForward: 320, learningRate: 0.0016, epochs: 500 },
    },
  },
  // Table 3; README.md and main_train.py of eigenworms: --lr is not multiplied.
  "fast-weights-table-2": {
    "hebb-rde": {
      "accuracy, %": { hidden: 160, heads: 16, feedForward: 128, learningRate: 3e-4, window: 4 },
    },
    "delta-rde": {
      "accuracy, %": {
        ...{ hidden: 128, heads: 16, feedForward: 64, learningRate: 1e-4, window: 4, epochs: 1000 },
        batchSize: 181,
      },
    },
    "neural-rde": { "accuracy, %": { hidden: 32, width: 64, depth: 3, learningRate: 0.0003125 } },
  },
  // Nzoyem et al., appendix C.1, tables 7 and 8; cfgs/wsm/mnist/mnist.yaml.
  "warp-table-1": {
    gru: {
      "28 × 28, 100: MSE": { units: 750, epochs: 200, batchSize: 640, learningRate: 1e-4 },
      "CelebA, 600: MSE": { units: 825, epochs: 250, batchSize: 1256, learningRate: 1e-5 },
    },
    lstm: {
      "28 × 28, 100: MSE": { units: 650, epochs: 200, batchSize: 640, learningRate: 1e-4 },
      "CelebA, 600: MSE": { units: 700 },
    },
    s4d: { "28 × 28, 100: MSE": { units: 512, layers: 6, batchSize: 50, learningRate: 0.001 } },
    warp: {
      "28 × 28, 100: MSE": {
        ...{ hidden: 24, depth: 3, epochs: 200, batchSize: 640, learningRate: 1e-4, clipWeights: 0.5 },
        ...{ length: 784, samples: 59_500 },
      },
      // Appendix C.1, tables 4 and 7; cfgs/wsm/celeba/celeba.yaml.
      "CelebA, 300: BPD": {
        ...{ hidden: 24, depth: 3, epochs: 250, batchSize: 1256, learningRate: 1e-5, clipWeights: 0 },
        ...{ length: 1024, samples: 162_770 },
      },
    },
    // Section 3.1: about 2 M parameters.
    "conv-cnp": { "CelebA, 100: MSE": { units: 128, layers: 5, epochs: 250, learningRate: 1e-5 } },
  },
  "warp-table-9": {
    warp: { MSE: { hidden: 24, depth: 3, epochs: 200, batchSize: 640, learningRate: 1e-4, length: 784 } },
  },
  // Appendix C.4, tables 4, 7 and 8; cfgs/wsm/msd, lotka, sine.
  "warp-table-2": {
    gru: {
      "MSD, MSE (10⁻²)": { units: 2850, epochs: 1000, batchSize: 1024, learningRate: 1e-5 },
      "LV, MSE (10⁻²)": { units: 2850, epochs: 1500 },
      "SINE*, MSE (10⁻⁴)": { units: 2280 },
    },
    lstm: {
      "MSD-Zero, MSE (10⁻²)": { units: 2450 },
      "LV, MSE (10⁻²)": { units: 2450 },
      "SINE*, MSE (10⁻⁴)": { units: 2280 },
    },
    transformer: { "MSD, MSE (10⁻²)": { learningRate: 6e-4 } },
    warp: {
      "MSD, MSE (10⁻²)": {
        ...{ hidden: 48, depth: 3, epochs: 1000, batchSize: 1024, learningRate: 1e-5 },
        ...{ samples: 20_480, length: 256, context: 100 },
      },
      "LV, MSE (10⁻²)": {
        ...{ hidden: 48, depth: 3, epochs: 1500, batchSize: 1024, learningRate: 1e-5 },
        ...{ samples: 15_000, length: 256 },
      },
      // 20 epochs of 50 visits are 1,000 steps of all ten waves.
      "SINE*, MSE (10⁻⁴)": { hidden: 48, depth: 3, epochs: 20, batchSize: 10, learningRate: 1e-5 },
    },
    "warp-phys": {
      "MSD, MSE (10⁻²)": { epochs: 2500 },
      "MSD-Zero, MSE (10⁻²)": { epochs: 5000 },
      "SINE*, MSE (10⁻⁴)": { epochs: 20 },
    },
  },
  // Appendix C.5, table 7; cfgs/wsm/uea.
  "warp-table-3": {
    warp: {
      Worms: { hidden: 128, depth: 1, epochs: 800, batchSize: 40, learningRate: 1e-6 },
      SCP1: { hidden: 48, depth: 2, epochs: 5000, batchSize: 561, learningRate: 1e-5 },
      SCP2: { hidden: 48, depth: 2, epochs: 5000, batchSize: 380, learningRate: 1e-5 },
      Ethanol: { hidden: 32, depth: 2, epochs: 6500, batchSize: 524, learningRate: 1e-5 },
      Heartbeat: { hidden: 72, depth: 2, epochs: 1500, batchSize: 286, learningRate: 1e-5 },
      Motor: { hidden: 32, depth: 2, epochs: 100, batchSize: 128, learningRate: 1e-5 },
    },
  },
  "warp-table-10": {
    warp: {
      "accuracy, %": { hidden: 24, epochs: 4000, batchSize: 10_000, samples: 10_000, learningRate: 1e-5 },
    },
  },
  // cfgs/wsm/mnist/mnist_classif_14.yaml: 3,000 epochs of 20 batches are 60,000 steps.
  "warp-sequential-mnist": {
    warp: {
      "accuracy, %": {
        ...{ hidden: 24, depth: 3, epochs: 3000, batchSize: 3072, learningRate: 1e-4, clipWeights: 0 },
        ...{ samples: 60_000, length: 196 },
      },
    },
  },
  // Appendix C.3, tables 7 and 8; cfgs/wsm/electricity.
  "warp-figure-2": {
    warp: {
      ETTh1: { hidden: 148, depth: 1, epochs: 500, batchSize: 3600, learningRate: 1e-5 },
      ETTm2: { hidden: 148, depth: 1, epochs: 250, batchSize: 3600, learningRate: 1e-4 },
    },
    gru: { ETTh2: { units: 920 } },
    lstm: { ETTm1: { units: 920 } },
    transformer: { ETTh1: { learningRate: 6e-4 } },
  },
  "warp-figure-5": {
    warp: {
      "huge, 10,000": { hidden: 48, depth: 3, batchSize: 10_000, samples: 10_000, learningRate: 1e-5 },
    },
  },
  "warp-figure-5-mape": {
    warp: {
      "small, 10": { hidden: 48, depth: 3, batchSize: 10, samples: 10, epochs: 20, learningRate: 1e-5 },
    },
  },
  "warp-figure-15": {
    warp: {
      "ETTh1, samples fed: MSE": { hidden: 148, depth: 1, epochs: 500, batchSize: 3600, learningRate: 1e-5 },
      "ETTm1, means fed: MSE": { epochs: 250, learningRate: 1e-4, noSampling: true },
    },
  },
  "warp-ablations": {
    "warp-low-rank": { ETTm1: { hidden: 148, depth: 1, epochs: 250, batchSize: 3600, learningRate: 1e-4 } },
    "warp-no-initial": { "MSD-Zero": { hidden: 48, depth: 3, epochs: 1000, batchSize: 1024 } },
    "warp-phys": { "MSD-Zero": { epochs: 5000 } },
  },
};

/** D, the number of weights of WARP's root network, and whether a network phi makes theta_0. */
export const stateSizes: Readonly<Record<string, { D: number; inputs: number; hasPhi: boolean }>> = {
  "mnist-completion": { D: 1298, inputs: 1, hasPhi: false },
  "fashion-mnist-completion": { D: 1298, inputs: 1, hasPhi: false },
  "celeba-completion": { D: 1398, inputs: 1, hasPhi: false },
  "sequential-mnist": { D: 1498, inputs: 1, hasPhi: false },
  "mass-spring-damper": { D: 4898, inputs: 1, hasPhi: true },
  "mass-spring-damper-zero": { D: 4898, inputs: 1, hasPhi: true },
  "lotka-volterra": { D: 4898, inputs: 1, hasPhi: false },
  "sine": { D: 4849, inputs: 1, hasPhi: true },
  // 1 * 148 + 148 + 148 * 14 + 14: means and standard deviations of seven channels.
  "etth1": { D: 2382, inputs: 1, hasPhi: true },
};
