/** Common parts of the papers' tables on Speech Commands and on sepsis. */
import { accuracy, type Chosen, type TableColumn } from "./table.ts";

/** Settings of Kidger et al., 2020, appendix D.4. */
const speechPaper: Chosen = {
  ...{ recipe: "paper", epochs: 200, batchSize: 1024, learningRate: 0.0016, dataSeed: 0, method: "rk4" },
};

/** Settings for runs of minutes. */
const speechSmall: Chosen = {
  ...{ epochs: 10, samples: 2000, batchSize: 32, learningRate: 0.002, hidden: 32, dataSeed: 0 },
  method: "midpoint",
};

/** Accuracy on the test recordings in percent. */
export const speechAccuracy: TableColumn = {
  title: "Speech Commands, %",
  experiment: "speech-commands",
  ...accuracy,
  at: { paper: speechPaper, small: speechSmall },
};

/** Settings for sepsis of Kidger et al., 2020, appendix D.3. */
const sepsisPaper: Chosen = { ...speechPaper, learningRate: 0.0032 };
const sepsisSmall: Chosen = { ...speechSmall, samples: 4000, epochs: 5 };

/** Area under the curve on the test patients, with or without observational intensity (OI). */
export function sepsisAuc(hasIntensity: boolean, unit: Pick<TableColumn, "factor" | "digits">): TableColumn {
  return {
    ...{ title: hasIntensity ? "sepsis OI, AUC" : "sepsis no OI, AUC", experiment: "sepsis", measure: "auc" },
    ...{ ...unit, better: "large" },
    settings: hasIntensity ? { intensity: true } : {},
    at: { paper: sepsisPaper, small: sepsisSmall },
  };
}
