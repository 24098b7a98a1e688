/** Mel-frequency cepstral coefficients: what a sound is like, in few numbers for each moment. */
import { checkOptions } from "../device/options.ts";
import { mfccOptionNames } from "./option_names.ts";
import { checkCounts } from "../nn/layer.ts";
import { tensor } from "../tensor/creation.ts";
import { scope } from "../tensor/scope.ts";
import type { Tensor } from "../tensor/tensor.ts";

/** Options of {@linkcode mfcc}. The defaults are those of Kidger et al., 2020, appendix D.4. */
export interface MfccOptions {
  /** Number of samples a second, a whole number; 16000 by default. */
  sampleRate?: number;
  /** Number of coefficients of a window, at most `mels`; 20 by default. */
  coefficients?: number;
  /** Number of samples of a window, even; 200 by default. */
  windowLength?: number;
  /** Number of samples from one window to the next; half a window by default. */
  hopLength?: number;
  /** Number of triangular filters, at equal distances on the mel scale from 0 to half the sample rate; 128 by default. */
  mels?: number;
}

/**
 * Mel-frequency cepstral coefficients as `torchaudio.transforms.MFCC` with `log_mels`: windows, whose centres are 0, `hopLength`,
 * ... samples from the start and which see the sound mirrored at its ends, are weighted by a periodic Hann window; the power of
 * their Fourier transform is summed by mel filters; the logarithms of these sums, plus 1e-6, go through an orthonormal cosine
 * transform of type 2.
 *
 * @example
 * ```ts
 * import { zeros } from "@weft/weft";
 * import { mfcc } from "@weft/weft/data";
 *
 * console.log(mfcc(zeros([16000])).shape); // [20, 161]
 * ```
 *
 * @param waveform `(..., samples)`.
 * @returns `(..., coefficients, windows)`.
 * @throws {RangeError} If the waveform is not longer than half a window, or a number is outside its range.
 */
export function mfcc(waveform: Tensor, options: MfccOptions = {}): Tensor {
  checkOptions("mfcc", options, mfccOptionNames);
  const { sampleRate = 16000, coefficients = 20, windowLength = 200, mels = 128 } = options;
  const { hopLength = windowLength / 2 } = options;
  const samples = waveform.shape.at(-1) ?? 0;
  checkCounts("mfcc", { sampleRate, coefficients, windowLength, hopLength, mels });
  if (windowLength % 2 === 1) {
    throw new RangeError(`mfcc: windowLength ${windowLength}, expected an even one`);
  }
  if (coefficients > mels) {
    throw new RangeError(`mfcc: ${coefficients} coefficients of ${mels} mels, expected at most as many`);
  }
  if (samples <= windowLength / 2) {
    throw new RangeError(`mfcc: ${samples} samples, expected more than ${windowLength / 2}, half a window`);
  }
  const { dtype } = waveform;
  const matrix = (rows: number, columns: number, of: (row: number, column: number) => number) =>
    tensor(
      Float64Array.from({ length: rows * columns }, (_, i) => of(Math.floor(i / columns), i % columns)),
      { shape: [rows, columns], dtype },
    );
  const frequencies = windowLength / 2 + 1;
  const hann = (n: number) => 0.5 - 0.5 * Math.cos(2 * Math.PI * n / windowLength);
  // Whole turns are left out, so that angles are small and exact.
  const angle = (n: number, k: number) => 2 * Math.PI * (n * k % windowLength) / windowLength;
  const filters = melFilters(sampleRate, frequencies, mels);
  return scope(() => {
    const frames = framesOf(waveform, windowLength, hopLength);
    const real = frames.matmul(matrix(windowLength, frequencies, (n, k) => hann(n) * Math.cos(angle(n, k))));
    const imaginary = frames.matmul(
      matrix(windowLength, frequencies, (n, k) => hann(n) * Math.sin(angle(n, k))),
    );
    const power = real.mul(real).add(imaginary.mul(imaginary));
    const logarithms = power.matmul(matrix(frequencies, mels, filters)).add(1e-6).log();
    const cosines = matrix(
      mels,
      coefficients,
      (n, k) => Math.sqrt((k === 0 ? 1 : 2) / mels) * Math.cos(Math.PI * (n + 0.5) * k / mels),
    );
    return logarithms.matmul(cosines).transpose(-2, -1);
  });
}

/** Windows of a sound that is mirrored at its ends: `(..., windows, windowLength)`. */
function framesOf(waveform: Tensor, windowLength: number, hopLength: number): Tensor {
  const samples = waveform.shape.at(-1)!;
  const windows = Math.floor(samples / hopLength) + 1;
  const places = Int32Array.from({ length: windows * windowLength }, (_, i) => {
    const place = Math.abs(Math.floor(i / windowLength) * hopLength + i % windowLength - windowLength / 2);
    return place < samples ? place : 2 * (samples - 1) - place;
  });
  const indices = tensor(places, { dtype: "int32", shape: [windows, windowLength] });
  return waveform.gather(indices, -1);
}

/** Weight of a frequency in a mel filter: a triangle from the centre of the filter before to that of the next. */
function melFilters(sampleRate: number, frequencies: number, mels: number) {
  const mel = (hertz: number) => 2595 * Math.log10(1 + hertz / 700);
  const hertz = (mel: number) => 700 * (10 ** (mel / 2595) - 1);
  const highest = Math.floor(sampleRate / 2);
  const centre = (filter: number) => hertz(mel(highest) * (filter + 1) / (mels + 1));
  return (bin: number, filter: number) => {
    const frequency = highest * bin / (frequencies - 1);
    const [left, middle, right] = [centre(filter - 1), centre(filter), centre(filter + 1)];
    return Math.max(
      0,
      Math.min((frequency - left) / (middle - left), (right - frequency) / (right - middle)),
    );
  };
}
