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
  let text = "";
  /** Values to be written, the next one last, each with what is written before it. */
  const waiting: { readonly before: string; readonly value: unknown }[] = [{ before: "", value }];
  while (waiting.length > 0) {
    const { before, value } = waiting.pop()!;
    text += before;
    if (typeof value === "number") text += numberText(value);
    else if (typeof value !== "object" || value === null) text += String(value);
    else if (numbers.has(value)) text += `#${numbers.get(value)}`;
    else {
      numbers.set(value, numbers.size);
      const isArray = Array.isArray(value);
      const members = Object.entries(value).map(([name, own]) => ({
        before: isArray ? "," : `,${name}:`,
        value: own,
      }));
      text += isArray ? "[" : "{";
      waiting.push({ before: isArray ? "]" : "}", value: "" }, ...members.reverse());
    }
  }
  return text;
}

const objectNumbers = new WeakMap<object, number>();
let numbered = 0;

/** The number of an object or a function, unlike any other's. */
export function numberOf(object: object): number {
  let number = objectNumbers.get(object);
  if (number === undefined) objectNumbers.set(object, number = numbered++);
  return number;
}
