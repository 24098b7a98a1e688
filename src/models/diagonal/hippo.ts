/**
 * The normal part of the HiPPO-LegS matrix (Gu et al., "On the Parameterization and Initialization of
 * Diagonal State Space Models", 2022). The diagonal is -1/2; the other elements are
 * sqrt(n + 1/2) sqrt(k + 1/2), negative below the diagonal. The matrix is -1/2 plus a skew-symmetric matrix
 * S, so its eigenvalues are -1/2 + i w.
 *
 * With c_n = n + 1/2, s_n = sqrt(c_n) v_n and R_n = s_n + s_(n+1) + ... - (s_0 + ... + s_(n-1)), a row of
 * S v = i w v is s_n = c_n R_n / (c_n + i w). Hence R_(n+1) = R_n - 2 s_n = -R_n (c_n - i w) / (c_n + i w).
 * R_0 is the sum of all s_n and R_N = -R_0, so the product of the factors is -1. Each factor rotates by
 * 2 atan(w / c_n). For an even size N:
 *
 *     atan(w / c_0) + ... + atan(w / c_(N-1)) = (k + 1/2) pi,  k = 0 ... N / 2 - 1, for the positive w.
 */

/** The positive imaginary parts w of the eigenvalues, in ascending order: `size / 2` values. */
export function legSFrequencies(size: number): Float64Array {
  return Float64Array.from({ length: size / 2 }, (_, k) => {
    const phase = (w: number) => {
      let sum = 0;
      for (let n = 0; n < size; n++) sum += Math.atan(w / (n + 0.5));
      return sum;
    };
    // Bisection; the largest w is about size^2 / pi.
    let [low, high] = [0, size * size + 1];
    for (let middle = high / 2; low < middle && middle < high; middle = (low + high) / 2) {
      if (phase(middle) < (k + 0.5) * Math.PI) low = middle;
      else high = middle;
    }
    return low;
  });
}

/**
 * Eigenvectors of norm one. Each entry holds the real and the imaginary parts of the `size` elements for one
 * w.
 */
export function legSEigenvectors(size: number): { real: Float64Array; imaginary: Float64Array }[] {
  return Array.from(legSFrequencies(size), (w) => {
    const [real, imaginary] = [new Float64Array(size), new Float64Array(size)];
    let [re, im] = [1, 0];
    let norm = 0;
    for (let n = 0; n < size; n++) {
      const c = n + 0.5;
      const square = c * c + w * w;
      // R_n / (c + i w).
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
