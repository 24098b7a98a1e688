/** Checks of option objects: an unknown or a missing option is refused by name. */
import { describe } from "./describe.ts";
import { OptionError } from "./errors.ts";

/**
 * The names of the options of `T`, and whether each must be given. A name that is missing here, or one too many, is a type error,
 * so that the list cannot fall behind the interface.
 */
export type OptionNames<T> = {
  readonly [K in keyof T]-?: Record<never, never> extends Pick<T, K> ? "optional" : "required";
};

/**
 * Refuses options that a function does not know.
 *
 * @param operation Name of the function, with which messages begin.
 * @throws {OptionError} If an option is unknown, or a required option is missing.
 * @throws {TypeError} If the options are not an object.
 */
export function checkOptions<T extends object>(
  operation: string,
  options: T,
  names: OptionNames<NoInfer<T>>,
): void {
  const known: Readonly<Record<string, "optional" | "required">> = names;
  if (!isOptionObject(options)) {
    throw new TypeError(`${operation}: the options are ${describe(options)}, expected ${exampleOf(known)}`);
  }
  for (const name in options) {
    if (Object.hasOwn(known, name)) continue;
    const near = nearestName(name, Object.keys(known));
    const expected = listOf(Object.keys(known));
    const hint = near === undefined ? `expected ${expected}` : `did you mean ${near}?`;
    throw new OptionError("unknown-option", `${operation}: unknown option ${name}`, {
      option: name,
      expected,
      fixes: [hint],
    });
  }
  for (const name in known) {
    if (known[name] === "optional" || options[name as keyof T] !== undefined) continue;
    const expected = exampleOf(known);
    throw new OptionError(
      "missing-option",
      `${operation}: the option ${name} is missing; expected ${expected}`,
      {
        option: name,
        expected,
      },
    );
  }
}

/** Whether a value can hold options. Arrays, tensors and paths cannot: their members are no options. */
function isOptionObject(value: unknown): value is object {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null || isOptionObject(prototype);
}

/** An object with the required options, as an example. */
function exampleOf(names: Readonly<Record<string, "optional" | "required">>): string {
  const all = Object.keys(names);
  const required = all.filter((name) => names[name] === "required");
  return required.length > 0
    ? `an object with ${listOf(required, "and")}`
    : `an object with any of ${listOf(all)}`;
}

function listOf(names: readonly string[], word = "or"): string {
  return names.join(", ").replace(/, ([^,]*)$/, ` ${word} $1`);
}

/**
 * The known name that is meant by an unknown one: the same letters in another notation (`step_size`), the initials (`lr`), or at
 * most a third of the letters wrong.
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const plain = (text: string) => text.replaceAll(/[^a-z0-9]/gi, "").toLowerCase();
  const initials = (text: string) => text.replaceAll(/(?<!^)[a-z0-9]/g, "").toLowerCase();
  const wanted = plain(name);
  let best: { name: string; distance: number } | undefined;
  for (const own of known) {
    const isAbbreviation = wanted.length > 1 && initials(own) === wanted;
    const distance = isAbbreviation ? 0 : editDistance(wanted, plain(own));
    if (!best || distance < best.distance) best = { name: own, distance };
  }
  return best && best.distance <= Math.max(1, wanted.length / 3) ? best.name : undefined;
}

/** Levenshtein's distance: insertions, deletions and substitutions from one text to another. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + Number(a[i - 1] !== b[j - 1])));
    }
    row = next;
  }
  return row[b.length];
}
