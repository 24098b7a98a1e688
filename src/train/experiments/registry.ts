import { ettExperiments } from "./ett.ts";
import type { Experiment } from "./experiment.ts";
import { exponentialSpirals } from "./exponential_spirals.ts";
import { lotkaVolterra } from "./lotka_volterra.ts";
import { massSpringDamper, massSpringDamperZero } from "./mass_spring_damper.ts";
import { sequentialFashionMnist, sequentialMnist } from "./image_classes.ts";
import { fashionMnistCompletion, mnistCompletion } from "./image_completion.ts";
import { ownSeries } from "./own_series.ts";
import { sepsis } from "./sepsis.ts";
import { sine } from "./sine.ts";
import { speechCommands } from "./speech_commands.ts";
import { spirals } from "./spirals.ts";
import { ueaProblems } from "./uea_problems.ts";

/** Every experiment of `deno task train`; the first one runs when none is named. */
export const experiments: readonly Experiment[] = [
  spirals,
  ...ueaProblems,
  speechCommands,
  sepsis,
  ownSeries,
  sine,
  massSpringDamper,
  massSpringDamperZero,
  lotkaVolterra,
  exponentialSpirals,
  mnistCompletion,
  fashionMnistCompletion,
  sequentialMnist,
  sequentialFashionMnist,
  ...ettExperiments,
];

/**
 * An experiment by its name.
 *
 * @throws {Error} With the names that there are.
 */
export function experimentNamed(name: string): Experiment {
  const found = experiments.find((experiment) => experiment.name === name);
  if (found) return found;
  throw new Error(
    `unknown experiment "${name}"; there are ${experiments.map((experiment) => experiment.name).join(", ")}`,
  );
}
