/** WGSL for element positions of strided views. */
import type { Walk } from "../../collapse.ts";

/** A WGSL function and its parameters. */
interface OffsetsFunction {
  /** Fields of `params`. */
  readonly params: readonly string[];
  readonly code: string;
}

/**
 * `fn name(position: u32) -> array<u32, views>`: the memory position of an element in each view, from its
 * row-major position. Lengths and strides are parameters, so the code depends only on the numbers of axes and
 * views.
 */
export function offsetsFunction(name: string, axes: number, views: number): OffsetsFunction {
  const lengths = Array.from({ length: axes - 1 }, (_, i) => `${name}_length${i + 1}`);
  const params = [...lengths];
  const sums: string[] = [];
  for (let view = 0; view < views; view++) {
    const terms = [`params.${name}_offset${view}`];
    params.push(`${name}_offset${view}`);
    for (let axis = 0; axis < axes; axis++) {
      params.push(`${name}_stride${view}_${axis}`);
      terms.push(`at${axis} * params.${name}_stride${view}_${axis}`);
    }
    sums.push(terms.join(" + "));
  }
  const { lines, names } = coordinates(axes, "position", (axis) => `params.${name}_length${axis}`);
  const statements = [...lines, `let at0 = ${names[0]};`, `return array<u32, ${views}>(${sums.join(", ")});`];
  const body = statements.map((line) => `  ${line}`).join("\n");
  return { params, code: `fn ${name}(position: u32) -> array<u32, ${views}> {\n${body}\n}\n` };
}

/**
 * Generates statements for the coordinates of a row-major position, and the names of the coordinates: `at`
 * with the number of the axis. The coordinate of the first axis is the remainder.
 *
 * @param lengthOf Length of an axis. Called from the last axis to the second.
 */
export function coordinates(
  axes: number,
  position: string,
  lengthOf: (axis: number) => string,
): { lines: string[]; names: string[] } {
  const lines: string[] = [];
  const names = new Array<string>(axes);
  let rest = position;
  for (let axis = axes - 1; axis > 0; axis--) {
    const length = lengthOf(axis);
    lines.push(
      `let rest${axis} = ${rest} / ${length};`,
      `let at${axis} = ${rest} - rest${axis} * ${length};`,
    );
    names[axis] = `at${axis}`;
    rest = `rest${axis}`;
  }
  names[0] = rest;
  return { lines, names };
}

/** The values of {@linkcode OffsetsFunction.params}, in their order. */
export function offsetsWords(walk: Walk, offsets: readonly number[]): number[] {
  const words = walk.shape.slice(1);
  for (let view = 0; view < offsets.length; view++) words.push(offsets[view], ...walk.strides[view]);
  return words;
}
