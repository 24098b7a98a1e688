/** Values as text. In browsers these functions replace those for notebooks, see `replacedInBrowsers` in `tasks/pack.ts`. */
import type { MimeBundle } from "../charts/display_symbol.ts";

const textBundle = (value: unknown): MimeBundle => ({ "text/plain": `${value}` });

export const displayPath: typeof textBundle = textBundle;
export const displayParameters: (parameters: unknown, text: string) => MimeBundle = (_, text) =>
  textBundle(text);
