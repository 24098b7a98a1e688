import { LruCache } from "../../device/lru_cache.ts";
import { textOf } from "../../device/scalar/structure_text.ts";
import type { Program } from "./program.ts";

/** Maximum number of cached programs. */
const maxPrograms = 512;

const identities = new LruCache<string, number>(maxPrograms);
const identityOfProgram = new WeakMap<Program, number>();
let identified = 0;

/** A number that is equal for equal programs only. */
export function identityOf(program: Program): number {
  let identity = identityOfProgram.get(program);
  if (identity === undefined) {
    identityOfProgram.set(program, identity = identities.getOrMake(textOf(program), () => identified++));
  }
  return identity;
}

const objectNumbers = new WeakMap<object, number>();
let numbered = 0;

/** A unique number of an object or a function. */
export function idOf(object: object): number {
  let number = objectNumbers.get(object);
  if (number === undefined) objectNumbers.set(object, number = numbered++);
  return number;
}
