/** Settings of runs as texts. */

/** Settings of a configuration that have a value, those in nested objects included. */
export function settingsOf(config: Readonly<Record<string, unknown>>): [name: string, value: unknown][] {
  return Object.entries(config).flatMap(([name, value]) =>
    isPlainObject(value) ? Object.entries(value) : [[name, value] as [string, unknown]]
  ).filter(([, value]) => value !== undefined);
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Words of a name in camel case: `learning rate` for `learningRate`. */
export function wordsOf(name: string): string {
  return name.replaceAll(/(?<=[a-z])[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** Formats a setting. */
export function settingText(value: unknown): string {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (Array.isArray(value)) return value.map(settingText).join(", ");
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}
