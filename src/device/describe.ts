/** A short description of a value for error messages. */
export function describe(value: unknown): string {
  if (value === null || value === undefined || typeof value === "number" || typeof value === "boolean") {
    return `${value}`;
  }
  if (typeof value === "string") return JSON.stringify(value);
  if (typeof value !== "object") return `a ${typeof value}`;
  if (Array.isArray(value)) return "an array";
  const { name } = Object.getPrototypeOf(value)?.constructor ?? Object;
  return name === "Object" ? "an object" : `a ${name}`;
}

/** Why tensors of devices of two kinds, or of two devices of one kind, cannot be used together, and the remedy. */
export function describeTwoDevices(kind: string, other: string): string {
  const problem = kind === other
    ? `the tensors are on two devices of the kind ${kind}, because init was called with other options between them; make all ` +
      "tensors after the same init, or move"
    : `one tensor is on ${kind}, another on ${other}; move`;
  return `${problem} one with await x.to(device)`;
}
