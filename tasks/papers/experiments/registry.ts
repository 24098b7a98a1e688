import type { ModelExperiment } from "@weft/weft/series";
import { experimentNamed as findExperiment } from "@weft/weft/train";
import { cartPoleControl, pendulumControl } from "./control.ts";
import { ettExperiments } from "./ett.ts";
import { exponentialSpirals } from "./exponential_spirals.ts";
import { lotkaVolterra } from "./lotka_volterra.ts";
import { massSpringDamper, massSpringDamperZero } from "./mass_spring_damper.ts";
import { sequentialFashionMnist, sequentialMnist } from "./image_classes.ts";
import { celebaCompletion } from "./celeba_completion.ts";
import { fashionMnistCompletion, mnistCompletion } from "./digit_completion.ts";
import { imageTransitions } from "./image_transitions.ts";
import { hopperControl, swimmerControl } from "./mujoco.ts";
import { sepsis } from "./sepsis.ts";
import { sine } from "./sine.ts";
import { speechCommands } from "./speech_commands.ts";
import { spirals } from "./spirals.ts";
import { ueaProblems } from "./uea_problems.ts";

/** The experiments of the papers. The first is the default of `deno task train`. */
export const paperExperiments: readonly ModelExperiment[] = [
  spirals,
  ...ueaProblems,
  speechCommands,
  sepsis,
  sine,
  massSpringDamper,
  massSpringDamperZero,
  lotkaVolterra,
  exponentialSpirals,
  mnistCompletion,
  fashionMnistCompletion,
  celebaCompletion,
  sequentialMnist,
  sequentialFashionMnist,
  imageTransitions,
  ...ettExperiments,
  pendulumControl,
  cartPoleControl,
  swimmerControl,
  hopperControl,
];

/**
 * Returns an experiment by name.
 *
 * @throws {OptionError} If the name is unknown, with the known names.
 */
export function experimentNamed(name: string): ModelExperiment {
  return findExperiment(paperExperiments, name) as ModelExperiment;
}
