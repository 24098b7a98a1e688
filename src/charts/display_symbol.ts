/** Values that notebooks show. `deno jupyter` shows a value by its method `Symbol.for("Jupyter.display")`. */

/** Contents of an output by MIME type. The notebook shows the richest type that it supports. */
export type MimeBundle = Readonly<Record<string, string>>;

/** Name of the method that `deno jupyter` calls. It may be asynchronous. */
export const displaySymbol: unique symbol = Symbol.for("Jupyter.display");

/** Adds the method for notebooks to a value. Copies and comparisons of the value ignore the method. */
export function displayAs<T extends object>(value: T, bundle: () => MimeBundle | Promise<MimeBundle>): T {
  return Object.defineProperty(value, displaySymbol, { value: bundle, configurable: true });
}

/** Sets the text of a value in template strings and in `console.log`. */
export function printAs<T extends object>(value: T, text: () => string): T {
  const print = { value: text, configurable: true };
  return Object.defineProperties(value, {
    toString: print,
    [Symbol.for("Deno.customInspect")]: print,
    [Symbol.for("nodejs.util.inspect.custom")]: print,
  });
}
