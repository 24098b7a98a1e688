/** The reason that a body cannot be compiled: it then runs step by step, with the same result. */
export class Uncompilable extends Error {
  override name = "Uncompilable";
}

const warned = new Set<string>();

/** Says once why a loop runs step by step. */
export function warnOnce({ message }: Uncompilable): void {
  if (warned.has(message)) return;
  warned.add(message);
  console.warn(`weft: a loop runs step by step, which is slower: ${message}`);
}
