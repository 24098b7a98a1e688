/**
 * Readers of data files, synthetic data sets, splits and batches.
 *
 * Readers need permission to read their files. `readTable` loads `npm:hyparquet` for a Parquet file.
 *
 * @example
 * ```ts
 * import { key } from "@weft/weft";
 * import { spirals, stratifiedSplit } from "@weft/weft/data";
 *
 * const { series } = spirals(100, key(0));
 * const { train, validation, test } = stratifiedSplit(series, key(1));
 * console.log(train.length, validation.length, test.length);
 * ```
 *
 * @module
 */
export * from "./batches.ts";
export * from "../device/errors.ts";
export { DataFormatError, type FormatErrorDetails, type TimeKind, type TimeUnit } from "./format.ts";
export { unitPair } from "./host_random.ts";
export { randpermArray } from "../tensor/random.ts";
export * from "./mfcc.ts";
export {
  type HostTensor,
  readSafetensors,
  type SafetensorsFile,
  writeSafetensors,
} from "../files/safetensors.ts";
export * from "./scaling.ts";
export * from "./series.ts";
export * from "./spirals.ts";
export type { ReadOptions, TableOptions } from "./table/options.ts";
export * from "./table/describe.ts";
export type { TableContent, TableInMemory } from "./table/bytes.ts";
export { parseCsv, readTable } from "./table/read_table.ts";
export type { TableColumns, TableRows, TableSource, TableText } from "./table/source.ts";
export * from "./ts_format.ts";
export * from "./uea.ts";
export * from "./wav.ts";
export { zipEntries, type ZipEntry } from "./zip.ts";
