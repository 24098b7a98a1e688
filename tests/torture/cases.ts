import { init } from "../../src/compile/init.ts";
import { apiCase, endlessCase } from "./api_cases.ts";
import { type Choices, choicesOf } from "./choices.ts";
import { bombCase } from "./bomb_cases.ts";
import { archiveCase, tableCase } from "./data_cases.ts";
import { folderCase } from "./folder_cases.ts";
import { companyCase, otherCase } from "./guarantee_cases.ts";
import { argumentCase, killCase, twiceCase } from "./process_cases.ts";
import { serverCase } from "./server_cases.ts";
import type { World } from "./world.ts";

/** The result of a case. */
export interface CaseResult {
  readonly family: string;
  /** A description of the case. */
  readonly what: string;
  /** The fault of the outcome, if any. */
  readonly fault?: string;
}

type Family = (world: World, choices: Choices, scratch: string) => Promise<[what: string, fault?: string]>;

/** Kinds of cases, with their frequencies in a thousand. */
const families: readonly [name: string, share: number, Family][] = [
  ["folder", 260, folderCase],
  ["bomb", 40, bombCase],
  ["other", 60, otherCase],
  ["company", 40, companyCase],
  ["archive", 130, archiveCase],
  ["table", 130, tableCase],
  ["call", 220, (_, choices) => apiCase(choices)],
  ["endless", 40, (_, choices) => endlessCase(choices)],
  ["arguments", 56, argumentCase],
  ["server", 4, serverCase],
  ["kill", 16, killCase],
  ["twice", 4, twiceCase],
];

/**
 * Runs the case with a number. It depends only on the number and the seed. @param scratch An empty folder.
 */
export async function runCase(
  world: World,
  seed: number,
  number: number,
  scratch: string,
): Promise<CaseResult> {
  const choices = choicesOf(seed, number);
  let place = choices.below(1000);
  const [family, , run] = families.find(([, share]) => (place -= share) < 0)!;
  try {
    const [what, fault] = await run(world, choices, scratch);
    return { family, what, fault };
  } catch (error) {
    return {
      family,
      what: "",
      fault: `the case itself failed: ${error instanceof Error ? error.stack : error}`,
    };
  } finally {
    await init({ device: "cpu" });
  }
}
