/** Checks of option objects: unknown and missing options are rejected by name. */
import { describe } from "./describe.ts";
import { OptionError } from "./errors.ts";

/** The names of the options of `T`, and whether each option is required. */
export type OptionNames<T> = {
  readonly [K in keyof T]-?: Record<never, never> extends Pick<T, K> ? "optional" : "required";
};

/** A list of names of any options. */
type AnyNames = Readonly<Record<string, "optional" | "required">>;

/** The names of a list, with `?` behind the optional ones. */
type Marked<Names> = {
  [K in keyof Names & string]: Names[K] extends "optional" ? `${K}?` : K;
}[keyof Names & string];

/** The marked names of a text or a list. */
type NamesIn<Part> = Part extends `${infer First} ${infer Rest}` ? First | NamesIn<Rest>
  : Part extends string ? Part
  : Marked<Part>;

/** `unknown` if two unions of names are equal; otherwise their difference, for the compiler's message. */
type Exactly<Names, Expected> = [Exclude<Names, Expected>, Exclude<Expected, Names>] extends [never, never]
  ? unknown
  : { superfluous: Exclude<Names, Expected>; missing: Exclude<Expected, Names> };

/**
 * Makes the list of the names of the options of `T`, from texts such as `"width depth activation?"` and from
 * other lists. A `?` marks an optional option. A missing or superfluous name, or a wrong `?`, is a type error.
 *
 * The first call fixes `T` and the second infers the parts: TypeScript cannot do both in one call.
 */
export function namesOf<T>(): <const Parts extends readonly (string | AnyNames)[]>(
  ...parts: Parts & Exactly<NamesIn<Parts[number]>, Marked<OptionNames<T>>>
) => OptionNames<T> {
  return (...parts) =>
    Object.assign({}, ...parts.map((part) => typeof part === "string" ? parse(part) : part));
}

function parse(text: string): AnyNames {
  return Object.fromEntries(
    text.split(" ").map((word) => word.endsWith("?") ? [word.slice(0, -1), "optional"] : [word, "required"]),
  );
}

/**
 * Checks the names of options.
 *
 * @param operation Name of the function, for messages.
 * @throws {OptionError} If an option is unknown, or a required option is missing.
 * @throws {TypeError} If the options are not an object.
 */
export function checkOptions<T extends object>(
  operation: string,
  options: T,
  names: OptionNames<NoInfer<T>>,
): void {
  const list: AnyNames = names;
  if (!isOptionObject(options)) {
    throw new TypeError(`${operation}: the options are ${describe(options)}, expected ${exampleOf(list)}`);
  }
  for (const name in options) {
    if (Object.hasOwn(list, name)) continue;
    throw new OptionError("unknown-option", `${operation}: unknown option ${name}`, {
      option: name,
      expected: listOf(Object.keys(list)),
      fixes: [hintFor(name, Object.keys(list))],
    });
  }
  for (const name in list) {
    if (list[name] === "optional" || options[name as keyof T] !== undefined) continue;
    const expected = exampleOf(list);
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

/** The options of `T` that are set, without the other options of an object. */
export function pickOptions<T extends object>(options: T, names: OptionNames<T>): T {
  const set = Object.entries(options).filter(([name, value]) => name in names && value !== undefined);
  return Object.fromEntries(set) as T;
}

/** Whether a value can hold options. Arrays, tensors and paths cannot: their members are not options. */
function isOptionObject(value: unknown): value is object {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null || isOptionObject(prototype);
}

/** A text that names the required options, for messages. */
function exampleOf(names: AnyNames): string {
  const all = Object.keys(names);
  const required = all.filter((name) => names[name] === "required");
  return required.length > 0
    ? `an object with ${listOf(required, "and")}`
    : `an object with any of ${listOf(all)}`;
}

function listOf(names: readonly string[], word = "or"): string {
  return names.join(", ").replace(/, ([^,]*)$/, ` ${word} $1`);
}

/** How to correct an unknown name, for a message: the nearest known name, or the list of the known names. */
export function hintFor(name: string, names: readonly string[]): string {
  const near = nearestName(name, names);
  return near === undefined ? `expected ${listOf(names)}` : `did you mean ${near}?`;
}

/**
 * The known name that an unknown name probably means: the same letters in another notation (`step_size`), the
 * initials (`lr`), or a name with at most a third of the letters different.
 */
export function nearestName(name: string, names: readonly string[]): string | undefined {
  const plain = (text: string) => text.replaceAll(/[^a-z0-9]/gi, "").toLowerCase();
  const initials = (text: string) => text.replaceAll(/(?<!^)[a-z0-9]/g, "").toLowerCase();
  const wanted = plain(name);
  let best: { name: string; distance: number } | undefined;
  for (const candidate of names) {
    const isAbbreviation = wanted.length > 1 && initials(candidate) === wanted;
    const distance = isAbbreviation ? 0 : editDistance(wanted, plain(candidate));
    if (!best || distance < best.distance) best = { name: candidate, distance };
  }
  return best && best.distance <= Math.max(1, wanted.length / 3) ? best.name : undefined;
}

/** Levenshtein distance: the number of insertions, deletions and substitutions between two texts. */
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
