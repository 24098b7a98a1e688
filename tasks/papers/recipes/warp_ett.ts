/** Recipes of Nzoyem et al., 2025, for electricity: figure 2. */
import { cited, type PaperRecipes, type Recipe } from "./recipe.ts";
import * as dynamics from "./warp_dynamics.ts";
import * as images from "./warp_images.ts";
import { optimizer } from "./warp_optimizer.ts";
import * as uea from "./warp_uea.ts";

const shared = {
  batchSize: cited(3600, "C.3", "h1.yaml to m2.yaml: batch_size"),
  hidden: cited(148, "table 7", "root_width_size"),
  depth: cited(1, "table 7", "root_depth"),
} as const;

const rules = {
  ...optimizer,
  plateauAverage: cited(
    10,
    "C: 50",
    "h1.yaml to m2.yaml: accum_size",
    "the value of the published files for this problem",
  ),
  activation: cited("relu", "table 7", "root_activation"),
  rootInputs: cited("tau alone", undefined, "input_prev_data: False"),
  time: cited(true, undefined, "time_as_channel: True"),
  initial: cited("network", "C", "init_state_layers: 2"),
  bound: cited("none", "C.3", "root_final_activation: null"),
  leastDeviation: cited(1e-4, "C.3", "std_lower_bound"),
  forcing: cited(0.25, "C.3", "forcing_prob"),
  scaling: cited("range", "B.1: to [-1, 1]", "electricity/h1/normalize.py: each channel"),
  windowsEvery: cited(1, "table 4: 8,449 and 34,369 windows"),
  units: cited(920, "table 8", "gru and lstm/electricity_h1.yaml: rnn_hidden_size"),
} as const;

export const hourly = {
  title: "ETTh1, ETTh2",
  settings: {
    ...shared,
    epochs: cited(500, "C.3", "h1.yaml, h2.yaml: nb_epochs"),
    learningRate: cited(1e-5, "C.3", "h1.yaml, h2.yaml: init_lr"),
  },
  rules,
} as const satisfies Recipe;

export const quarterly = {
  title: "ETTm1, ETTm2",
  settings: {
    ...shared,
    epochs: cited(250, "C.3", "m1.yaml, m2.yaml: nb_epochs"),
    learningRate: cited(1e-4, "C.3", "m1.yaml, m2.yaml: init_lr"),
  },
  rules,
} as const satisfies Recipe;

export const warpRecipes: PaperRecipes = {
  paper: "Nzoyem et al., 2025",
  code: "github.com/ddrous/warp, commit bde9a5d (names of files: cfgs/wsm/)",
  recipes: [
    ...[
      images.mnist,
      images.fashionMnist,
      images.celeba,
      images.recurrent,
      images.convCnp,
      images.s4,
      uea.sequentialMnist,
    ],
    ...[hourly, quarterly],
    ...[
      dynamics.massSpringDamper,
      dynamics.physics,
      dynamics.lotkaVolterra,
      dynamics.sine,
      dynamics.baselines,
    ],
    ...[uea.eigenworms, uea.scp1, uea.scp2, uea.ethanol, uea.heartbeat, uea.motor, uea.spirals],
  ],
};
