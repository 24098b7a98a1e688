/** Recipes of the papers as data: each number with its place in the paper and in the authors' code. */

/** A value with its sources. */
export interface Cited<Value> {
  readonly value: Value;
  /** Section of the paper and, if the paper has another value, that value. Undefined if the paper has none. */
  readonly paper?: string;
  /** File of the authors' code and, if the code has another value, that value. Undefined if the code has none. */
  readonly code?: string;
  /** Reason for the value if the sources contradict each other, or if neither has a value. */
  readonly reason?: string;
}

/** Values by name. */
export type CitedValues = Readonly<Record<string, Cited<string | number | boolean>>>;

/** Settings and rules of the runs of a paper on one problem. */
export interface Recipe {
  /** Problem and, if a recipe is not for all models, the models. */
  readonly title: string;
  /** Settings of runs, by their names in a run's configuration. */
  readonly settings: CitedValues;
  /** Numbers that are not settings: of the optimiser, the stopping rule, the data. */
  readonly rules: CitedValues;
}

/** The recipes of a paper. */
export interface PaperRecipes {
  /** Authors and year. */
  readonly paper: string;
  /** Repository of the authors' code and the commit that the recipes cite. */
  readonly code: string;
  readonly recipes: readonly Recipe[];
}

/** A cited value. See {@linkcode Cited}. */
export function cited<const Value extends string | number | boolean>(
  value: Value,
  paper?: string,
  code?: string,
  reason?: string,
): Cited<Value> {
  return { value, paper, code, reason };
}

/** The values without their sources. */
export function valuesOf<Values extends CitedValues>(
  values: Values,
): { readonly [Name in keyof Values]: Values[Name]["value"] } {
  return Object.fromEntries(
    Object.entries(values).map(([name, { value }]) => [name, value]),
  ) as { readonly [Name in keyof Values]: Values[Name]["value"] };
}
