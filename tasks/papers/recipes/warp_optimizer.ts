/** The optimiser of all recipes of Nzoyem et al., 2025. */
import { cited, type CitedValues } from "./recipe.ts";

export const optimizer = {
  optimizer: cited("AdaBelief", "C", "main.py: optax.adabelief"),
  clipValue: cited(
    1e-7,
    "A.3, C: clips the norm",
    "gradients_lim; main.py: optax.clip clips each element, before the optimiser",
    "the published runs come from the code",
  ),
  plateauFactor: cited(0.5, "C", "on_plateau.factor"),
  plateauPatience: cited(20, "C", "on_plateau.patience"),
  plateauMinimum: cited(0.01, undefined, "on_plateau.min_scale"),
  plateauThreshold: cited(1e-4, undefined, "on_plateau.rtol"),
  plateauAverage: cited(50, "C", "on_plateau.accum_size"),
} as const satisfies CitedValues;
