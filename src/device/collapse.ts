/** A row-major iteration over views of one shape, with the smallest number of axes. */
export interface Walk {
  /** Lengths of the axes, outermost first. At least one axis. */
  readonly shape: readonly number[];
  /** For each view, the strides along those axes. */
  readonly strides: readonly (readonly number[])[];
}

/**
 * Drops axes of length one and merges neighbouring axes that are contiguous in every view. Contiguous views
 * end up with a single axis, for every shape.
 */
export function collapse(shape: readonly number[], strides: readonly (readonly number[])[]): Walk {
  const lengths: number[] = [];
  const walked: number[][] = strides.map(() => []);
  for (let axis = 0; axis < shape.length; axis++) {
    if (shape[axis] === 1) continue;
    const last = lengths.length - 1;
    const joins = last >= 0 &&
      strides.every((list, view) => walked[view][last] === list[axis] * shape[axis]);
    if (joins) {
      lengths[last] *= shape[axis];
      strides.forEach((list, view) => walked[view][last] = list[axis]);
    } else {
      lengths.push(shape[axis]);
      strides.forEach((list, view) => walked[view].push(list[axis]));
    }
  }
  if (lengths.length === 0) return { shape: [1], strides: strides.map(() => [0]) };
  return { shape: lengths, strides: walked };
}

/** Calls `body` for each position, in row-major order, with the offset in each view. */
export function forEachPosition({ shape, strides }: Walk, body: (offsets: number[]) => void): void {
  const visit = (axis: number, offsets: number[]) => {
    if (axis === shape.length) return body(offsets);
    for (let i = 0; i < shape[axis]; i++) {
      visit(axis + 1, offsets.map((offset, view) => offset + i * strides[view][axis]));
    }
  };
  visit(0, strides.map(() => 0));
}
