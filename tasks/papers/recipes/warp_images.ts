/** Recipes of Nzoyem et al., 2025, for image completion: tables 1 and 9. */
import { cited, type Recipe } from "./recipe.ts";
import { optimizer } from "./warp_optimizer.ts";

const ofAll = "the paper states the value for all models and both data sets; each file is of a single run";

const shared = {
  settings: {
    epochs: cited(200, "C.1", "mnist.yaml: 200; fashion_mnist.yaml, lstm/mnist.yaml: 500", ofAll),
    batchSize: cited(640, "C.1", "fashion_mnist.yaml: 640; mnist.yaml: 128", ofAll),
    learningRate: cited(
      1e-4,
      "C: 1e-5 for most problems",
      "mnist.yaml, fashion_mnist.yaml, gru/mnist.yaml, lstm/mnist.yaml: init_lr",
      "the paper states no value for images; all published files have this value",
    ),
    samples: cited(
      59_500,
      "table 4: 60,000",
      undefined,
      "500 images are the validation set; the code validates on the test set",
    ),
    length: cited(784, "table 4", "mnist.yaml: downsample_factor 1"),
    hidden: cited(24, "table 7", "mnist.yaml: root_width_size"),
    depth: cited(3, "table 7", "mnist.yaml: root_depth"),
    clipWeights: cited(0.5, "C.1: weight clipping, without a value", "mnist.yaml: weights_lim"),
  },
  rules: {
    ...optimizer,
    activation: cited("relu", "table 7", "mnist.yaml: root_activation"),
    rootInputs: cited("tau alone", undefined, "mnist.yaml: input_prev_data: False, no encoding"),
    stateSize: cited(1298, "C.1: 1.687 M parameters = D² + 2 D", "models.py: 1, 24, 24, 24, 2"),
    initial: cited("learned", "C: phi is not used", "mnist.yaml: init_state_layers: null"),
    forcing: cited(0.15, "C.1", "mnist.yaml: forcing_prob"),
    leastDeviation: cited(0.5, "C.1", "mnist.yaml: std_lower_bound"),
    bound: cited(
      "dynamicTanh",
      "C.1: a = alpha = 1, b = beta = 0",
      "mnist.yaml: tanh; fashion_mnist.yaml: clipped to 1",
      "the paper states the value for both data sets",
    ),
    lossSteps: cited(
      "all",
      "equation 3",
      "mnist.yaml: 400 random steps of an image",
      "both have the same expected loss",
    ),
  },
} as const satisfies Omit<Recipe, "title">;

/** Table 1. */
export const mnist = { title: "Completion of MNIST", ...shared } as const satisfies Recipe;

/** Table 9. */
export const fashionMnist = { title: "Completion of Fashion-MNIST", ...shared } as const satisfies Recipe;

const ofOneRun = "the paper states the value for its runs; the file is of a single run";

/** Table 1, CelebA. */
export const celeba = {
  title: "Completion of CelebA",
  settings: {
    epochs: cited(250, "C.1", "celeba.yaml: nb_epochs"),
    batchSize: cited(1256, "C.1", "celeba.yaml: batch_size; gru: 400, lstm: 350", ofOneRun),
    learningRate: cited(1e-5, "C: for most problems", "celeba.yaml, gru, lstm: init_lr"),
    samples: cited(162_770, "table 4", "loaders.py: partition 0"),
    length: cited(1024, "table 4", "celeba.yaml: resolution [32, 32]"),
    hidden: cited(24, "table 7", "celeba.yaml: root_width_size 20", ofOneRun),
    depth: cited(3, "table 7", "celeba.yaml: root_depth 4", ofOneRun),
    clipWeights: cited(0, "C.1: no weight clipping", "celeba.yaml: weights_lim: null"),
  },
  rules: {
    ...optimizer,
    activation: cited("relu", "table 7", "celeba.yaml: root_activation"),
    rootInputs: cited("tau alone", undefined, "celeba.yaml: input_prev_data: False, no encoding"),
    stateSize: cited(
      1398,
      "3.1: about 2 M parameters",
      "models.py, with the sizes of table 7: 1, 24, 24, 24, 6",
    ),
    time: cited(true, undefined, "celeba.yaml: time_as_channel; gru, lstm: False"),
    initial: cited("learned", "C: phi is not used", "celeba.yaml: init_state_layers: null"),
    forcing: cited(0.15, "C.1", "celeba.yaml: forcing_prob"),
    leastDeviation: cited(1e-4, "C.1", "celeba.yaml: std_lower_bound"),
    bound: cited(
      "dynamicTanh",
      "C.1: a = alpha = 1, b = beta = 0",
      "celeba.yaml: root_final_activation tanh",
      "the value of the paper",
    ),
    lossSteps: cited("all", "equation 3", "celeba.yaml: nb_recons_loss_steps: null"),
    resizing: cited("Lanczos, without a crop", undefined, "loaders.py: Resize, Image.LANCZOS"),
    validation: cited(
      "partition 1",
      "B.1: validation and testing on the test set",
      "loaders.py: the test set",
      "a choice of the epoch by the test set biases the test error",
    ),
  },
} as const satisfies Recipe;

/** Row of table 1 on CelebA whose code is not published. */
export const convCnp = {
  title: "ConvCNP on CelebA",
  settings: {
    units: cited(
      128,
      undefined,
      undefined,
      "not published; five blocks of 128 features have 2.05 M parameters, near the 2 M of the paper",
    ),
    layers: cited(5, "3.1: about 2 M parameters", undefined, "the number of blocks is not published"),
  },
  rules: {
    shots: cited(100, "B.2"),
    shotsOf: cited(1024, "table 4"),
  },
} as const satisfies Recipe;

/** Sizes of the recurrent networks. */
export const recurrent = {
  title: "Recurrent networks on image completion",
  settings: {},
  rules: {
    gruUnits: cited(750, "table 8", "gru/mnist.yaml: rnn_hidden_size"),
    lstmUnits: cited(
      650,
      "table 8: 750 (MNIST), 650 (Fashion-MNIST); C.1: 1.696 M parameters",
      "lstm/mnist.yaml: rnn_hidden_size",
      "650 units have the 1.696 M parameters of C.1; 750 units have 2.26 M",
    ),
    celebaGruUnits: cited(825, "table 8", "gru/celeba.yaml: rnn_hidden_size"),
    celebaLstmUnits: cited(700, "table 8", "lstm/celeba.yaml: rnn_hidden_size"),
  },
} as const satisfies Recipe;

/** S4's row. */
export const s4 = {
  title: "S4 on image completion",
  settings: {
    layers: cited(6, "C"),
    units: cited(512, "C"),
    learningRate: cited(1e-3, "C"),
    batchSize: cited(50, "C"),
  },
  rules: { optimizer: cited("AdamW", "C: weight decay"), weightDecay: cited(0.05, "C") },
} as const satisfies Recipe;
