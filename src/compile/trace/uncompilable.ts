/** Thrown if a body cannot be compiled, with the reason. The loop then runs step by step, with the same result. */
export class Uncompilable extends Error {
  override name = "Uncompilable";
}

const warned = new Set<string>();

/** Logs why a loop runs step by step, once per reason. */
export function warnOnce({ message }: Uncompilable): void {
  if (warned.has(message)) return;
  warned.add(message);
  console.warn(`weft: a loop runs step by step, which is slower: ${message}`);
}
