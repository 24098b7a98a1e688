/** Values that are wrong for most arguments: values of other types, or undefined. */
import * as weft from "../../mod.ts";

const { tensor } = weft;

/** Wrong arguments, with their names in messages of tests. */
export const wrongValues: readonly (readonly [name: string, value: unknown])[] = [
  ["undefined", undefined],
  ["null", null],
  ["true", true],
  ["4", 4],
  ["-9", -9],
  ["1.5", 1.5],
  ["NaN", NaN],
  ["10n", 10n],
  ['"x"', "x"],
  ["{}", {}],
  ["{ axis: 0 }", { axis: 0 }],
  ["{ 0: 1, length: 1 }", { 0: 1, length: 1 }],
  ["[]", []],
  ["[0]", [0]],
  ["[1, 2]", [1, 2]],
  ['["a"]', ["a"]],
  ["[[0, 1]]", [[0, 1]]],
  ["[null]", [null]],
  ["() => 3", () => 3],
  ["a symbol", Symbol("s")],
  ["a float32 tensor", tensor([[1, 2, 3], [4, 5, 6]])],
  ["an int32 tensor", tensor([0, 1], { dtype: "int32" })],
  ["a bool tensor", tensor([true, false])],
  ["a typed array", new Float32Array(2)],
];

/** Messages of JavaScript itself, which describe the library's code instead of the call. */
const rawMessages = [
  /is not a function/,
  /is not iterable/,
  /is not a constructor/,
  /Cannot /,
  /can't /,
  /undefined \(/,
  /null \(/,
  /of undefined/,
  /of null/,
  /Invalid array length/,
  /Maximum call stack/,
  /object Object/,
  /\bposition undefined\b/,
  /Symbol value/,
  /BigInt/,
  /Assignment to/,
  /not an object/,
  /must be an? /,
];
const ownMessages = [/ must be a tensor/];

/**
 * Describes the fault of an error of a call, if any: a message of JavaScript, or a message that does not
 * begin with a name.
 *
 * @param operation The name at the start of the message. If undefined, any name of the library is accepted.
 */
export function faultOf(error: unknown, operation?: string): string | undefined {
  if (!(error instanceof Error)) return `threw ${String(error)}`;
  const { message } = error;
  const isOwn = ownMessages.some((pattern) => pattern.test(message));
  if (!isOwn && rawMessages.some((pattern) => pattern.test(message))) return `a raw message: ${message}`;
  const start = operation === undefined ? /^[A-Za-z]\w*(\.\w+)*: / : new RegExp(`^${operation}: `);
  if (!start.test(message)) return `without the name of the operation: ${message}`;
}
