/** Common parts of the papers' tables on Speech Commands and on sepsis. */
import { sepsis, speechCommands } from "../recipes/neural_cde.ts";
import { valuesOf } from "../recipes/recipe.ts";
import { accuracy, type Chosen, type TableColumn } from "./table.ts";

/** Settings for runs of minutes. */
const speechSmall: Chosen = {
  ...{ epochs: 10, samples: 2000, batchSize: 32, learningRate: 0.002, hidden: 32, dataSeed: 0 },
  method: "midpoint",
};

const sepsisSmall: Chosen = { ...speechSmall, samples: 4000, epochs: 5 };

/** Settings of a recipe in the papers' tables: all runs of a table share one split. */
function atPaper(settings: Chosen): Chosen {
  return { recipe: "paper", dataSeed: 0, ...settings };
}

/** Accuracy on the test recordings in percent. @param paper Settings at the scale of the paper. */
export function speechAccuracy(paper: Chosen = valuesOf(speechCommands.settings)): TableColumn {
  return {
    title: "Speech Commands, %",
    experiment: "speech-commands",
    ...accuracy,
    at: { paper: atPaper(paper), small: speechSmall },
  };
}

/**
 * Area under the curve on the test patients, with or without observational intensity (OI).
 *
 * @param paper Settings at the scale of the paper.
 */
export function sepsisAuc(
  hasIntensity: boolean,
  unit: Pick<TableColumn, "factor" | "digits">,
  paper: Chosen = valuesOf(sepsis.settings),
): TableColumn {
  return {
    ...{ title: hasIntensity ? "sepsis OI, AUC" : "sepsis no OI, AUC", experiment: "sepsis", measure: "auc" },
    ...{ ...unit, better: "large" },
    settings: hasIntensity ? { intensity: true } : {},
    at: { paper: atPaper(paper), small: sepsisSmall },
  };
}
