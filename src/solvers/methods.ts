/** Every method by its name. */
import { euler } from "./euler.ts";
import { heun2 } from "./heun2.ts";
import { heun3 } from "./heun3.ts";
import { midpoint } from "./midpoint.ts";
import { ralston } from "./ralston.ts";
import { rk4 } from "./rk4.ts";
import { rk4Classic } from "./rk4_classic.ts";
import type { ButcherTableau } from "./tableau.ts";

const tableaus = [euler, midpoint, heun2, heun3, ralston, rk4, rk4Classic];

/** The methods' names. */
export const methodNames: readonly string[] = tableaus.map(({ name }) => name);

/** The tableau of a method. @throws {RangeError} If there is none: the message lists those there are. */
export function methodNamed(name: string): ButcherTableau {
  const found = tableaus.find((tableau) => tableau.name === name);
  if (!found) {
    throw new RangeError(`method "${name}" is unknown; use one of ${methodNames.join(", ")}`);
  }
  return found;
}
