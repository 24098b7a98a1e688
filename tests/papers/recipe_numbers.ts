/**
 * Every value of the recipes, written down from the papers and from the authors' code, independently of
 * tasks/papers/recipes: by paper, title of the recipe, and name of the value.
 */

/** Values by name. */
export type Numbers = Readonly<Record<string, string | number | boolean>>;

/** Kidger et al.: experiments/common.py. */
const common = {
  ...{ l2Penalty: 0.03, plateauFactor: 0.1, lossThreshold: 1e-4, accuracyThreshold: 1e-3 },
  method: "rk4",
};

/** Kidger et al., appendices D.3 and D.4. */
const untilLossAndAccuracyStagnate = {
  plateauOf: "training",
  plateauPatience: 10,
  stopAfter: 100,
  stopBy: "validation accuracy",
};

const kidger: Readonly<Record<string, Numbers>> = {
  // Appendix D.2; experiments/uea.py.
  "CharacterTrajectories": {
    ...common,
    ...{ epochs: 1000, batchSize: 32, learningRate: 0.001 },
    ...{ hidden: 32, recurrentHidden: 47, width: 32, depth: 3, readoutRate: 1 },
    ...{ plateauOf: "validation loss", plateauPatience: 10, stopAfter: 50, stopBy: "training accuracy" },
  },
  // Appendix D.3; experiments/sepsis.py: lr = 0.0001 * 1024 / 32.
  "Sepsis": {
    ...common,
    ...untilLossAndAccuracyStagnate,
    ...{ epochs: 200, batchSize: 1024, learningRate: 0.0032, readoutRate: 1 },
    ...{ hidden: 49, width: 49, depth: 4, odeRnnHidden: 128, odeRnnWidth: 128, recurrentHidden: 187 },
    ...{ missingValues: "spline", positiveWeight: 10, staticWidth: 256 },
  },
  // Appendix D.4; experiments/speech_commands.py: lr = 0.00005 * 1024 / 32.
  "Speech Commands": {
    ...common,
    ...untilLossAndAccuracyStagnate,
    ...{ epochs: 200, batchSize: 1024, learningRate: 0.0016, readoutRate: 1 },
    ...{ hidden: 90, width: 40, depth: 4, odeRnnHidden: 128, odeRnnWidth: 64, recurrentHidden: 160 },
    ...{ missingValues: "spline", mels: 128 },
  },
};

/**
 * Irie et al., table 3, as printed: Hebb, Oja and Delta on Speech Commands, on sepsis with and without
 * intensity, and on EigenWorms.
 */
const table3 = {
  ode: {
    hidden: [128, 128, 160, 160, 160, 128, 32, 160, 80, 160, 160, 128],
    heads: [32, 32, 16, 32, 32, 16, 8, 32, 16, 16, 16, 16],
    feedForward: [512, 512, 80, 64, 64, 64, 64, 64, 64, 128, 128, 64],
    rate: [5, 5, 1, 6, 6, 2, 10, 4, 4, 30, 30, 10],
  },
  cde: {
    hidden: [128, 128, 80, 32, 80, 80, 160, 160, 160, 160, 128, 128],
    heads: [32, 32, 4, 8, 16, 16, 32, 32, 32, 16, 16, 16],
    feedForward: [512, 512, 320, 256, 64, 64, 64, 64, 64, 128, 64, 64],
    rate: [5, 5, 5, 6, 2, 3, 4, 6, 4, 30, 30, 10],
  },
};

/** A column of {@linkcode table3}, with the base learning rate. */
export interface RuleNumbers {
  readonly hidden: number;
  readonly heads: number;
  readonly feedForward: number;
  readonly baseRate: number;
}

/** The numbers of a form and a rule, in the order of the problems in {@linkcode table3}. */
export function ruleNumbers(form: "ode" | "cde", rule: "hebb" | "oja" | "delta"): RuleNumbers[] {
  const { hidden, heads, feedForward, rate } = table3[form];
  return [0, 1, 2, 3].map((problem) => {
    const i = 3 * problem + ["hebb", "oja", "delta"].indexOf(rule);
    return { hidden: hidden[i], heads: heads[i], feedForward: feedForward[i], baseRate: rate[i] / 1e5 };
  });
}

/** Recipes of the columns of {@linkcode table3}. On EigenWorms the direct form is along windows, of depth 2. */
function ofTable3(): Record<string, Numbers> {
  const recipes: Record<string, Numbers> = {};
  for (const rule of ["hebb", "oja", "delta"] as const) {
    for (const form of ["ode", "cde"] as const) {
      const [speech, withIntensity, without, worms] = ruleNumbers(form, rule);
      recipes[`${rule}-${form} on Speech Commands`] = { ...speech };
      recipes[`${rule}-${form} on sepsis with intensity`] = { ...withIntensity };
      recipes[`${rule}-${form} on sepsis without intensity`] = { ...without };
      const { hidden, feedForward, baseRate: learningRate } = worms;
      recipes[`${rule} on EigenWorms, depth ${form === "ode" ? 2 : 1}`] = {
        hidden,
        feedForward,
        learningRate,
      };
    }
  }
  return recipes;
}

/** Appendix B; README.md, common.py, speech_commands.py and sepsis.py of speech_and_physionet. */
const speechAndSepsis = {
  ...untilLossAndAccuracyStagnate,
  ...{ batchSize: 1024, method: "rk4", l2Penalty: 0.03, rateFactor: 1024 / 32, readoutRate: 1 },
};

const irie: Readonly<Record<string, Numbers>> = {
  "Speech Commands": { ...speechAndSepsis, epochs: 500 },
  "Sepsis": { ...speechAndSepsis, epochs: 200, positiveWeight: 10, staticWidth: 256 },
  // The commands of README.md. Without --trafo_ff_dim, metamodel.py has 4 * 160.
  "Delta, CDE, on sepsis with observational intensity": {
    ...{ model: "delta-cde-post-tanh", hidden: 80, heads: 16, feedForward: 64, baseRate: 3e-5 },
  },
  "Delta, CDE, on sepsis without observational intensity": {
    ...{ model: "delta-cde-value-norm", hidden: 160, heads: 32, feedForward: 640, baseRate: 4e-5 },
  },
  // README.md, main_train.py and trainer.py of eigenworms.
  "EigenWorms": {
    ...{ epochs: 1000, batchSize: 181, window: 4, heads: 16, method: "rk4", l2Penalty: 0, readoutRate: 10 },
    ...{ plateauOf: "validation loss", plateauFactor: 0.1, plateauPatience: 15, plateauThreshold: 1e-6 },
    ...{ stopAfter: 60, stopBy: "validation accuracy alone" },
  },
  "NRDE and NCDE on EigenWorms": { learningRate: 0.01 * 32 / 1024, hidden: 32, width: 32 * 2, depth: 3 },
  // Appendices B and C.3; README.md, run.py, mbrl.py, model.py, policy.py and envs/ of appendix_mujoco.
  "Swimmer and Hopper": {
    ...{
      epochs: 1 + 80,
      decisions: 5000,
      randomIterations: 15_000 / 5000,
      episodeLimit: 1000,
      testEpisodes: 5,
    },
    ...{ hidden: 128, heads: 16, feedForward: 512, rule: "hebb", decodes: "observation", fieldDepth: 2 },
    ...{
      method: "dopri5",
      relativeTolerance: 1e-5,
      absoluteTolerance: 1e-6,
      distributionWidth: 20,
      timerWidth: 20,
    },
    ...{ batchSize: 128, learningRate: 1e-3, weightDecay: 1e-3, gapWeight: 0.01, divergenceWeight: 1 },
    ...{
      planLength: 10,
      candidates: 1000,
      eliteShare: 50 / 1000,
      actionNoise: 0.1,
      leastGap: 1,
      largestGap: 7,
    },
    ...{ discount: 0.99, actorRate: 1e-4, criticRate: 1e-3, agentBatchSize: 128, agentWidth: 64 },
    ...{ targetFraction: 1e-3, policyReads: "observation" },
  },
  ...ofTable3(),
};

/** Nzoyem et al., appendix C; the optimizer of each file in cfgs/wsm/. */
const warp = {
  ...{ optimizer: "AdaBelief", clipValue: 1e-7 },
  ...{ plateauFactor: 0.5, plateauPatience: 20, plateauMinimum: 0.01, plateauThreshold: 1e-4 },
  plateauAverage: 50,
};

/** Appendix C.1, tables 4 and 7; cfgs/wsm/mnist/mnist.yaml and fashion_mnist.yaml. */
const digits = {
  ...warp,
  ...{ samples: 60_000 - 500, length: 784, epochs: 200, batchSize: 640, learningRate: 1e-4 },
  ...{ hidden: 24, depth: 3, activation: "relu", rootInputs: "tau alone", stateSize: 1298 },
  ...{ clipWeights: 0.5, initial: "learned", bound: "dynamicTanh" },
  ...{ forcing: 0.15, leastDeviation: 0.5, lossSteps: "all" },
};

/** Appendix C.3, tables 4, 7 and 8; cfgs/wsm/electricity/h1.yaml to m2.yaml. */
const electricity = {
  ...warp,
  ...{ plateauAverage: 10, batchSize: 3600, hidden: 148, depth: 1, activation: "relu" },
  ...{ rootInputs: "tau alone", time: true, initial: "network", bound: "none", leastDeviation: 1e-4 },
  ...{ forcing: 0.25, scaling: "range", windowsEvery: 1, units: 920 },
};

/** Appendix C.4, table 7; cfgs/wsm/msd, lotka and sine. */
const dynamics = {
  ...warp,
  ...{ hidden: 48, depth: 3, activation: "silu", clipWeights: 0, learningRate: 1e-5 },
};

/** Appendix C.5; cfgs/wsm/uea. */
const uea = {
  ...warp,
  ...{ activation: "relu", initial: "network", clipWeights: 0, logits: "one per class", learningRate: 1e-5 },
};

const nzoyem: Readonly<Record<string, Numbers>> = {
  "Completion of MNIST": digits,
  "Completion of Fashion-MNIST": digits,
  // Appendix C.1, tables 4 and 7; cfgs/wsm/celeba/celeba.yaml.
  "Completion of CelebA": {
    ...warp,
    ...{ samples: 162_770, length: 32 * 32, epochs: 250, batchSize: 1256, learningRate: 1e-5 },
    ...{ hidden: 24, depth: 3, activation: "relu", rootInputs: "tau alone", stateSize: 1398, time: true },
    ...{ clipWeights: 0, initial: "learned", bound: "dynamicTanh" },
    ...{ forcing: 0.15, leastDeviation: 1e-4, lossSteps: "all" },
    ...{ resizing: "Lanczos, without a crop", validation: "partition 1" },
  },
  // Table 8 and appendix C.1; cfgs/gru, cfgs/lstm.
  "Recurrent networks on image completion": {
    ...{ gruUnits: 750, lstmUnits: 650, celebaGruUnits: 825, celebaLstmUnits: 700 },
  },
  // Section 3.1: about 2 M parameters; appendix B.2.
  "ConvCNP on CelebA": { units: 128, layers: 5, shots: 100, shotsOf: 1024 },
  // Appendix C, "TST and S4 baselines setup".
  "S4 on image completion": {
    ...{ layers: 6, units: 512, learningRate: 1e-3, batchSize: 50, optimizer: "AdamW", weightDecay: 0.05 },
  },
  // Appendices C.2 and D.1; cfgs/wsm/mnist/mnist_classif_14.yaml.
  "WARP on sequential MNIST": {
    ...warp,
    ...{ length: 14 * 14, samples: 60_000, epochs: 3000, batchSize: 3072, learningRate: 1e-4 },
    ...{ hidden: 24, depth: 3, activation: "relu", clipWeights: 0, initial: "learned", stateSize: 1498 },
  },
  "ETTh1, ETTh2": { ...electricity, epochs: 500, learningRate: 1e-5 },
  "ETTm1, ETTm2": { ...electricity, epochs: 250, learningRate: 1e-4 },
  // Tables 4 and 7; cfgs/wsm/msd/original.yaml, zero.yaml and *_physics.yaml.
  "Mass-spring-damper": {
    ...dynamics,
    ...{ samples: 20_480, length: 256, context: 100, epochs: 1000, batchSize: 1024, forcing: 0.25 },
    ...{ rootInputs: "tau alone; with the previous input in WARP-Phys", stateSize: 4898 },
    ...{ initial: "network", scaling: "range", bound: "dynamicTanh" },
  },
  "WARP-Phys on mass-spring-damper": { epochs: 2500, zeroEpochs: 5000 },
  // cfgs/wsm/lotka/lotka.yaml.
  "Lotka-Volterra": {
    ...dynamics,
    ...{ samples: 15_000, length: 256, epochs: 1500, batchSize: 1024, forcing: 1 },
    ...{ rootInputs: "tau alone", initial: "learned", bound: "dynamicTanh", ranges: "code" },
  },
  // cfgs/wsm/sine/sine_small.yaml: 1,000 epochs of all ten waves.
  "SINE": {
    ...dynamics,
    ...{ epochs: 1000 / 50, visits: 50, batchSize: 10, forcing: 0.25, context: 1 },
    ...{ initial: "network", bound: "none" },
  },
  // Table 8 and appendix C, "TST and S4 baselines setup".
  "Other models on dynamical systems": {
    ...{ gruUnits: 2850, lstmUnits: 2450, sineUnits: 2280, transformerRate: 6e-4 },
    ...{ transformerBeta1: 0.9, transformerBeta2: 0.95, transformerWeightDecay: 0.1 },
  },
  // Appendix C.5 and table 7; the files of cfgs/wsm/uea.
  "WARP on EigenWorms": {
    ...{ ...uea, epochs: 800, batchSize: 40, learningRate: 1e-6, hidden: 128, depth: 1, scaling: "none" },
  },
  "WARP on SelfRegulationSCP1": {
    ...{ ...uea, epochs: 5000, batchSize: 561, hidden: 48, depth: 2, scaling: "range" },
  },
  "WARP on SelfRegulationSCP2": {
    ...{ ...uea, epochs: 5000, batchSize: 380, hidden: 48, depth: 2, scaling: "range" },
  },
  "WARP on EthanolConcentration": {
    ...{ ...uea, epochs: 6500, batchSize: 524, hidden: 32, depth: 2, scaling: "range" },
  },
  "WARP on Heartbeat": {
    ...{ ...uea, epochs: 1500, batchSize: 286, hidden: 72, depth: 2, scaling: "range" },
  },
  "WARP on MotorImagery": {
    ...{ ...uea, epochs: 100, batchSize: 128, hidden: 32, depth: 2, scaling: "none" },
  },
  // Appendix C.5, tables 4 and 7; cfgs/wsm/spirals/spirals.yaml.
  "Spirals": {
    ...warp,
    ...{ samples: 10_000, epochs: 4000, batchSize: 10_000, learningRate: 1e-5 },
    ...{ hidden: 24, depth: 1, activation: "silu", initial: "network" },
  },
};

/** The values of the recipes, by paper and title. */
export const recipeNumbers: Readonly<Record<string, Readonly<Record<string, Numbers>>>> = {
  "Kidger et al., 2020": kidger,
  "Irie et al., 2022": irie,
  "Nzoyem et al., 2025": nzoyem,
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
