/** Kinds of models, by the names that `deno task train --model` takes. */
import type { Settings } from "./experiment.ts";

/** The settings that a model may read. */
export type ModelSetting =
  | "hidden"
  | "width"
  | "depth"
  | "heads"
  | "feedForward"
  | "method"
  | "stepSize"
  | "window"
  | "signatureDepth"
  | "clipWeights"
  | "online";

/** A kind of model. */
export interface ModelKind {
  /** The settings that it reads; those of others are refused. */
  readonly takes: readonly ModelSetting[];
  /** Settings that suit it where those of the experiment do not. */
  readonly defaults?: Readonly<Partial<Pick<Settings, "learningRate" | "hidden">>>;
}

/**
 * A kind of model by its name.
 *
 * @throws {RangeError} If there is none, with the names that there are.
 */
export function kindNamed<Kind>(kinds: Readonly<Record<string, Kind>>, name: string): Kind {
  if (Object.hasOwn(kinds, name)) return kinds[name];
  throw new RangeError(`unknown model "${name}"; there are ${Object.keys(kinds).join(", ")}`);
}
