/**
 * The normal part of the HiPPO-LegS matrix (Gu et al., "On the Parameterization and Initialization of Diagonal State Space
 * Models", 2022): -1/2 on the diagonal, and beside it sqrt(n + 1/2) sqrt(k + 1/2), negative below. It is -1/2 plus a
 * skew-symmetric matrix S, so that its eigenvalues are -1/2 + i w.
 *
 * With c_n = n + 1/2, s_n = sqrt(c_n) v_n and R_n = s_n + s_(n+1) + ... - (s_0 + ... + s_(n-1)), a row of S v = i w v is
 * s_n = c_n R_n / (c_n + i w), hence R_(n+1) = R_n - 2 s_n = -R_n (c_n - i w) / (c_n + i w). From R_0 all sums to R_N the same with
 * the other sign, the factors' product is -1: each turns by twice atan(w / c_n), and of an even size
 *
 *     atan(w / c_0) + ... + atan(w / c_(N-1)) = (k + 1/2) pi,  k = 0 ... N / 2 - 1, for the positive w.
 */

/** Positive imaginary parts w of the eigenvalues, in ascending order: `size / 2` of them. */
export function legSFrequencies(size: number): Float64Array {
  return Float64Array.from({ length: size / 2 }, (_, k) => {
    const phase = (w: number) => {
      let sum = 0;
      for (let n = 0; n < size; n++) sum += Math.atan(w / (n + 0.5));
      return sum;
    };
    // The largest w is about size^2 / pi.
    let [low, high] = [0, size * size + 1];
    for (let middle = high / 2; low < middle && middle < high; middle = (low + high) / 2) {
      if (phase(middle) < (k + 0.5) * Math.PI) low = middle;
      else high = middle;
    }
    return low;
  });
}

/** Eigenvectors of norm one: of each w the real and the imaginary parts of its `size` elements. */
export function legSEigenvectors(size: number): { real: Float64Array; imaginary: Float64Array }[] {
  return Array.from(legSFrequencies(size), (w) => {
    const [real, imaginary] = [new Float64Array(size), new Float64Array(size)];
    let [re, im] = [1, 0];
    let norm = 0;
    for (let n = 0; n < size; n++) {
      const c = n + 0.5;
      const square = c * c + w * w;
      // 1 / (c + i w) times R_n.
      const [x, y] = [(re * c + im * w) / square, (im * c - re * w) / square];
      real[n] = Math.sqrt(c) * x;
      imaginary[n] = Math.sqrt(c) * y;
      norm += c * (x * x + y * y);
      // R_(n+1) = R_n - 2 s_n.
      re -= 2 * c * x;
      im -= 2 * c * y;
    }
    const scale = 1 / Math.sqrt(norm);
    return { real: real.map((x) => x * scale), imaginary: imaginary.map((x) => x * scale) };
  });
}
