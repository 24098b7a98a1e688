/** The recipes of all papers. */
import { fastWeightsRecipes } from "./fast_weights.ts";
import { neuralCdeRecipes } from "./neural_cde.ts";
import type { PaperRecipes } from "./recipe.ts";
import { warpRecipes } from "./warp_ett.ts";

export const papers: readonly PaperRecipes[] = [neuralCdeRecipes, fastWeightsRecipes, warpRecipes];
