/** Texts that are equal for equal structures. */

/** A number as text. Distinguishes -0 from 0, unlike a template literal. */
export function numberText(value: number): string {
  return Object.is(value, -0) ? "-0" : String(value);
}

/**
 * Writes a structure of objects, arrays, numbers and strings as text: equal structures have equal texts. A
 * repeated object is written once, so the length of the text is proportional to the number of nodes, not to
 * the number of paths.
 */
export function textOf(value: unknown): string {
  const numbers = new Map<object, number>();
  let text = "";
  /** A stack of values to write, each with the text that precedes it. */
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
      const members = Object.entries(value).map(([name, member]) => ({
        before: isArray ? "," : `,${name}:`,
        value: member,
      }));
      text += isArray ? "[" : "{";
      waiting.push({ before: isArray ? "]" : "}", value: "" }, ...members.reverse());
    }
  }
  return text;
}
