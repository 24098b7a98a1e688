/** Recipe of appendix C.3 of Irie et al., 2022. The files are those of the folder appendix_mujoco of the code. */
import { cited, type Recipe } from "./recipe.ts";

/** Figure 1: Swimmer and Hopper. */
export const mujoco = {
  title: "Swimmer and Hopper",
  settings: {
    epochs: cited(
      81,
      "C.3: 80 iterations, after random ones",
      "README.md: --mb_epochs 80; run.py: a random rollout",
    ),
    decisions: cited(5000, "C.3", "README.md: --env_steps"),
    batchSize: cited(128, undefined, "README.md: --batch_size"),
    learningRate: cited(0.001, undefined, "README.md: --lr"),
    hidden: cited(128, "C.3", "README.md: --latent_dim, --ode_dim"),
    heads: cited(16, "C.3", "run.py: num_heads"),
    feedForward: cited(512, "C.3", "run.py: ff_dim"),
    rule: cited("hebb", undefined, "run.py: default of --learning_rule", "the README's command has no rule"),
    method: cited("dopri5", "B", "mbrl.py: DiffeqSolver"),
    decodes: cited("observation", undefined, "model.py: decode_latent_traj"),
    planLength: cited(10, "C.3", "README.md: --planning_horizon"),
    candidates: cited(1000, undefined, "mbrl.py: search_population of mpc_planning"),
    policyReads: cited(
      "observation",
      "C.3: the latent state",
      "README.md has no --latent_policy; run.py advises against it",
      "the published results come from this command",
    ),
  },
  rules: {
    relativeTolerance: cited(1e-5, "B", "README.md: --ode_tol"),
    absoluteTolerance: cited(1e-6, "B", "mbrl.py: ode_tol / 10"),
    weightDecay: cited(0.001, undefined, "mbrl.py: weight_decay"),
    gapWeight: cited(0.01, undefined, "model.py: dt_coef of compute_loss"),
    divergenceWeight: cited(1, undefined, "model.py: kl_coef of compute_loss"),
    distributionWidth: cited(20, undefined, "README.md: --enc_hidden_to_latent_dim"),
    timerWidth: cited(20, undefined, "model.py: n_units of MLPTimer"),
    fieldDepth: cited(2, undefined, "mbrl.py: n_layers of create_net"),
    randomIterations: cited(3, "C.3: 15 K steps", "run.py: 3 * env_steps"),
    episodeLimit: cited(1000, undefined, "README.md: --max_steps"),
    discount: cited(0.99, undefined, "README.md: --gamma"),
    actorRate: cited(0.0001, undefined, "policy.py: actor_lr of PolicyDDPG"),
    criticRate: cited(0.001, undefined, "policy.py: critic_lr of PolicyDDPG"),
    agentBatchSize: cited(128, undefined, "policy.py: batch_size of PolicyDDPG"),
    agentWidth: cited(64, undefined, "policy.py: hidden1_dim, hidden2_dim of PolicyDDPG"),
    targetFraction: cited(0.001, undefined, "policy.py: target_update of PolicyDDPG"),
    actionNoise: cited(0.1, undefined, "policy.py: noise"),
    eliteShare: cited(0.05, undefined, "mbrl.py: soft_num 50 of search_population 1000"),
    testEpisodes: cited(5, "figure 1", "mbrl.py: mbmf_rollout"),
    leastGap: cited(1, undefined, "hopper_simulator.py, swimmer_simulator.py: min_t"),
    largestGap: cited(7, undefined, "hopper_simulator.py, swimmer_simulator.py: max_t"),
  },
} as const satisfies Recipe;
