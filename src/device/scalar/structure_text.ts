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
  const texts: string[] = [];
  /** Stacks of the values to write, and of their names. */
  const values = [value];
  const namesOfValues = [""];
  const push = (name: string, value: unknown) => {
    namesOfValues.push(name);
    values.push(value);
  };
  while (values.length > 0) {
    const value = values.pop();
    texts.push(namesOfValues.pop()!, ":");
    if (typeof value === "number") texts.push(numberText(value));
    else if (typeof value !== "object" || value === null) texts.push(String(value));
    else if (numbers.has(value)) texts.push(`#${numbers.get(value)}`);
    else {
      numbers.set(value, numbers.size);
      if (Array.isArray(value) && value.every((element) => typeof element === "number")) {
        texts.push("[", value.map(numberText).join(), "]");
      } else if (Array.isArray(value)) {
        texts.push("[");
        push("]", "");
        for (let i = value.length - 1; i >= 0; i--) push("", value[i]);
      } else {
        texts.push("{");
        push("}", "");
        const members = value as Record<string, unknown>;
        const names = Object.keys(members);
        for (let i = names.length - 1; i >= 0; i--) push(names[i], members[names[i]]);
      }
    }
  }
  return texts.join("");
}
