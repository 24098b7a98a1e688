/**
 * Distinct shifts of the cyclic diagonals of a sparse matrix, in increasing order: 1 and random others. They
 * depend on the size and the density alone, so a trained model finds its pattern again.
 *
 * @param size Rows of the matrix, at least 1.
 * @param density Share of elements that are not zero, above 0, at most 1. At least one diagonal is chosen.
 */
export function sparseShifts(size: number, density: number): number[] {
  const count = Math.max(1, Math.round(density * size));
  const first = 1 % size;
  const others = Array.from({ length: size }, (_, shift) => shift).filter((shift) => shift !== first);
  // Fisher and Yates' shuffle of the other shifts, with the 32-bit hash of Steele et al., "Fast splittable
  // pseudorandom number generators", 2014, in the constants of MurmurHash3.
  let state = size;
  const draw = (below: number) => {
    state = (state + 0x9e3779b9) | 0;
    let z = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
    z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35);
    return ((z ^ (z >>> 16)) >>> 0) % below;
  };
  for (let i = others.length - 1; i > 0; i--) {
    const j = draw(i + 1);
    [others[i], others[j]] = [others[j], others[i]];
  }
  return [first, ...others.slice(0, count - 1)].sort((a, b) => a - b);
}
