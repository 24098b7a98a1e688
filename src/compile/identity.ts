import { RecentMap } from "../device/recent_map.ts";
import type { Program } from "./program.ts";

/** Most programs that are known by their texts. */
const maxPrograms = 512;

const identities = new RecentMap<string, number>(maxPrograms);
const known = new WeakMap<Program, number>();
let identified = 0;

/** A number that two programs have in common only if they are the same, however they came about. */
export function identityOf(program: Program): number {
  let identity = known.get(program);
  if (identity === undefined) {
    known.set(program, identity = identities.getOrMake(textOf(program), () => identified++));
  }
  return identity;
}

/** A number as text, unlike any other's: a template would write -0 as 0. */
export function numberText(value: number): string {
  return Object.is(value, -0) ? "-0" : String(value);
}

/**
 * A structure of objects, arrays, numbers and strings as text. An object that occurs again is written once, so that the text of an
 * expression is as long as it has nodes, not as it has paths.
 */
export function textOf(value: unknown): string {
  const numbers = new Map<object, number>();
  const visit = (value: unknown): string => {
    if (typeof value === "number") return numberText(value);
    if (typeof value !== "object" || value === null) return String(value);
    const seen = numbers.get(value);
    if (seen !== undefined) return `#${seen}`;
    numbers.set(value, numbers.size);
    if (Array.isArray(value)) return `[${value.map(visit)}]`;
    return `{${Object.entries(value).map(([name, own]) => `${name}:${visit(own)}`)}}`;
  };
  return visit(value);
}

const objectNumbers = new WeakMap<object, number>();
let numbered = 0;

/** The number of an object or a function, unlike any other's. */
export function numberOf(object: object): number {
  let number = objectNumbers.get(object);
  if (number === undefined) objectNumbers.set(object, number = numbered++);
  return number;
}
