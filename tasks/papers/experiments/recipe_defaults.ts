import type { ModelRules } from "@weft/weft/series";
import { sepsis, speechCommands, table3 } from "../recipes/fast_weights.ts";
import { type Cited, type CitedValues, valuesOf } from "../recipes/recipe.ts";

/** Settings by name. */
type Values = Readonly<Record<string, unknown>>;

/**
 * Defaults of an experiment with `--recipe paper`: the settings of the recipe.
 *
 * @param settings Settings of all models.
 * @param models Settings of single models, which may depend on other chosen options.
 * @param model Model of an experiment without the option.
 */
export function recipeDefaults(
  settings: CitedValues,
  models: Readonly<Record<string, Values>> | ((chosen: Values) => Readonly<Record<string, Values>>) = {},
  model?: string,
): { defaultsFor: NonNullable<ModelRules<unknown>["defaultsFor"]> } {
  return {
    defaultsFor: (chosen) =>
      chosen.recipe === "paper"
        ? {
          ...valuesOf(settings),
          ...(typeof models === "function" ? models(chosen) : models)[(chosen.model ?? model) as string],
        }
        : {},
  };
}

/** Sizes of the models of Kidger et al. on sepsis or Speech Commands. */
export function kidgerSizes(
  rules: Readonly<
    Record<"recurrentHidden" | "odeRnnHidden" | "odeRnnWidth" | "hidden" | "width" | "depth", Cited<number>>
  >,
): Readonly<Record<string, Values>> {
  const { recurrentHidden, odeRnnHidden, odeRnnWidth, hidden, width, depth } = valuesOf(rules);
  const recurrent = { hidden: recurrentHidden };
  return {
    "gru-ode": recurrent,
    "gru-dt": recurrent,
    "gru-d": recurrent,
    "ode-rnn": { hidden: odeRnnHidden, width: odeRnnWidth, depth },
    "neural-cde": { hidden, width, depth },
  };
}

/**
 * Settings of the fast weights of Irie et al.'s table 1.
 *
 * @param place Column of the paper's table 3: 0 for Speech Commands, 1 and 2 for sepsis with and without
 * intensity.
 */
export function ruleSettings(place: 0 | 1 | 2): Readonly<Record<string, Values>> {
  const recipe = place === 0 ? speechCommands : sepsis;
  return Object.fromEntries(
    Object.entries(table3).map(([model, columns]) => {
      const [hidden, heads, feedForward, rate] = columns[place];
      const learningRate = rate * 1e-5 * recipe.rules.rateFactor.value;
      return [model, { ...valuesOf(recipe.settings), hidden, heads, feedForward, learningRate }];
    }),
  );
}
