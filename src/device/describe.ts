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
