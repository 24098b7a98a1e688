/**
 * Paths through data: splines, interpolation, time and observation channels, signatures.
 *
 * @example
 * ```ts
 * import { CubicSpline, naturalCubicCoeffs } from "@weft/weft/paths";
 * import { tensor } from "@weft/weft";
 *
 * const X = CubicSpline(naturalCubicCoeffs(tensor([[0], [1], [4]])));
 * console.log(`${X.evaluate(1)}`);
 * ```
 *
 * @module
 */
export { isPath, type Path, type PathOptions } from "./path.ts";
export type { Times } from "./times.ts";
export { naturalCubicCoeffs } from "./natural_cubic.ts";
export * from "./hermite_cubic.ts";
export * from "./cubic_spline.ts";
export { linearCoeffs, type LinearCoeffsOptions, LinearInterpolation } from "./linear.ts";
export {
  combineSignatures,
  logsignature,
  logsignatureChannels,
  signature,
  signatureChannels,
} from "./signature.ts";
export * from "./logsig_windows.ts";
export * from "./observations.ts";
