/**
 * Eigenvalues of a real matrix: reduction to Hessenberg form by elimination, then the shifted QR algorithm of
 * Francis (Press et al., "Numerical Recipes", section 11.6).
 *
 * @param matrix `(size, size)`, row-major. It is not changed.
 * @throws {Error} If the iteration does not converge.
 */
export function eigenvalues(matrix: ArrayLike<number>, size: number): { re: number[]; im: number[] } {
  const a = Array.from(
    { length: size },
    (_, i) => Float64Array.from({ length: size }, (_, j) => matrix[i * size + j]),
  );
  reduceToHessenberg(a);
  const [re, im] = [new Array<number>(size).fill(0), new Array<number>(size).fill(0)];
  let norm = 0;
  for (let i = 0; i < size; i++) for (let j = Math.max(i - 1, 0); j < size; j++) norm += Math.abs(a[i][j]);
  /** Sum of the shifts so far. */
  let shifted = 0;
  for (let last = size - 1, iterations = 0; last >= 0;) {
    let low = last;
    for (; low > 0; low--) {
      const scale = Math.abs(a[low - 1][low - 1]) + Math.abs(a[low][low]) || norm;
      if (Math.abs(a[low][low - 1]) + scale === scale) break;
    }
    if (low > 0) a[low][low - 1] = 0;
    const x = a[last][last];
    if (low === last) {
      [re[last], im[last]] = [x + shifted, 0];
      last--;
      iterations = 0;
      continue;
    }
    const [y, w] = [a[last - 1][last - 1], a[last][last - 1] * a[last - 1][last]];
    if (low === last - 1) {
      const p = (y - x) / 2;
      const q = p * p + w;
      const root = Math.sqrt(Math.abs(q));
      if (q >= 0) {
        const z = p + (p < 0 ? -root : root);
        re[last - 1] = re[last] = x + shifted + z;
        if (z !== 0) re[last] = x + shifted - w / z;
      } else {
        re[last - 1] = re[last] = x + shifted + p;
        [im[last - 1], im[last]] = [-root, root];
      }
      last -= 2;
      iterations = 0;
      continue;
    }
    if (++iterations > 60) throw new Error("eigenvalues: the QR iteration does not converge");
    shifted = francisStep(a, low, last, iterations % 10 === 0, shifted);
  }
  return { re, im };
}

/** Reduces a matrix to Hessenberg form in place, by stabilized elementary transformations. */
function reduceToHessenberg(a: Float64Array[]): void {
  const size = a.length;
  for (let m = 1; m < size - 1; m++) {
    let pivot = m;
    for (let i = m; i < size; i++) if (Math.abs(a[i][m - 1]) > Math.abs(a[pivot][m - 1])) pivot = i;
    if (a[pivot][m - 1] === 0) continue;
    [a[pivot], a[m]] = [a[m], a[pivot]];
    for (const row of a) [row[pivot], row[m]] = [row[m], row[pivot]];
    for (let i = m + 1; i < size; i++) {
      const factor = a[i][m - 1] / a[m][m - 1];
      if (factor === 0) continue;
      for (let j = 0; j < size; j++) a[i][j] -= factor * a[m][j];
      for (const row of a) row[m] += factor * row[i];
    }
  }
  for (let i = 2; i < size; i++) a[i].fill(0, 0, i - 1);
}

/** A double QR step on rows `low` to `last`. Returns the sum of the shifts. */
function francisStep(
  a: Float64Array[],
  low: number,
  last: number,
  isExceptional: boolean,
  shifted: number,
): number {
  let [x, y, w] = [a[last][last], a[last - 1][last - 1], a[last][last - 1] * a[last - 1][last]];
  if (isExceptional) {
    shifted += x;
    for (let i = 0; i <= last; i++) a[i][i] -= x;
    const s = Math.abs(a[last][last - 1]) + Math.abs(a[last - 1][last - 2]);
    [x, y, w] = [0.75 * s, 0.75 * s, -0.4375 * s * s];
  }
  let [p, q, r] = [0, 0, 0];
  let m = last - 2;
  for (; m >= low; m--) {
    const z = a[m][m];
    const [dx, dy] = [x - z, y - z];
    p = (dx * dy - w) / a[m + 1][m] + a[m][m + 1];
    q = a[m + 1][m + 1] - z - dx - dy;
    r = a[m + 2][m + 1];
    const s = Math.abs(p) + Math.abs(q) + Math.abs(r);
    [p, q, r] = [p / s, q / s, r / s];
    if (m === low) break;
    const below = Math.abs(a[m][m - 1]) * (Math.abs(q) + Math.abs(r));
    const around = Math.abs(p) * (Math.abs(a[m - 1][m - 1]) + Math.abs(z) + Math.abs(a[m + 1][m + 1]));
    if (below + around === around) break;
  }
  for (let i = m + 2; i <= last; i++) {
    a[i][i - 2] = 0;
    if (i !== m + 2) a[i][i - 3] = 0;
  }
  for (let k = m; k < last; k++) {
    let scale = 0;
    if (k !== m) {
      [p, q, r] = [a[k][k - 1], a[k + 1][k - 1], k === last - 1 ? 0 : a[k + 2][k - 1]];
      scale = Math.abs(p) + Math.abs(q) + Math.abs(r);
      if (scale === 0) continue;
      [p, q, r] = [p / scale, q / scale, r / scale];
    }
    const length = Math.sqrt(p * p + q * q + r * r);
    const s = p < 0 ? -length : length;
    if (s === 0) continue;
    if (k !== m) a[k][k - 1] = -s * scale;
    else if (low !== m) a[k][k - 1] = -a[k][k - 1];
    p += s;
    const [u, v, z] = [p / s, q / s, r / s];
    [q, r] = [q / p, r / p];
    for (let j = k; j <= last; j++) {
      let sum = a[k][j] + q * a[k + 1][j];
      if (k !== last - 1) {
        sum += r * a[k + 2][j];
        a[k + 2][j] -= sum * z;
      }
      a[k + 1][j] -= sum * v;
      a[k][j] -= sum * u;
    }
    for (let i = low; i <= Math.min(last, k + 3); i++) {
      let sum = u * a[i][k] + v * a[i][k + 1];
      if (k !== last - 1) {
        sum += z * a[i][k + 2];
        a[i][k + 2] -= sum * r;
      }
      a[i][k + 1] -= sum * q;
      a[i][k] -= sum;
    }
  }
  return shifted;
}
