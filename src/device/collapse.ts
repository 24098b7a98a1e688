/** A walk over the elements of several views of one shape, in row-major order, with as few axes as it takes. */
export interface Walk {
  /** Lengths of the axes, at least one of them, outermost first. */
  readonly shape: readonly number[];
  /** Strides of each view along those axes. */
  readonly strides: readonly (readonly number[])[];
}

/**
 * Drops axes of length one and joins neighbouring axes that every view crosses without a jump. Views that all lie
 * without gaps end up with a single axis, whatever their shape.
 */
export function collapse(shape: readonly number[], strides: readonly (readonly number[])[]): Walk {
  const lengths: number[] = [];
  const walked: number[][] = strides.map(() => []);
  for (let axis = 0; axis < shape.length; axis++) {
    if (shape[axis] === 1) continue;
    const last = lengths.length - 1;
    const joins = last >= 0 &&
      strides.every((own, view) => walked[view][last] === own[axis] * shape[axis]);
    if (joins) {
      lengths[last] *= shape[axis];
      strides.forEach((own, view) => walked[view][last] = own[axis]);
    } else {
      lengths.push(shape[axis]);
      strides.forEach((own, view) => walked[view].push(own[axis]));
    }
  }
  if (lengths.length === 0) return { shape: [1], strides: strides.map(() => [0]) };
  return { shape: lengths, strides: walked };
}

/** Calls `body` for each position of a walk, in row-major order, with the offset in each view. */
export function forEachPosition({ shape, strides }: Walk, body: (offsets: number[]) => void): void {
  const visit = (axis: number, offsets: number[]) => {
    if (axis === shape.length) return body(offsets);
    for (let i = 0; i < shape[axis]; i++) {
      visit(axis + 1, offsets.map((offset, view) => offset + i * strides[view][axis]));
    }
  };
  visit(0, strides.map(() => 0));
}
