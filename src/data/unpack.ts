/** Limits of the size that a compressed file unpacks to. Small files can claim to unpack to any size. */
import { DataError, WeftError } from "../device/errors.ts";
import { zlib } from "./zlib.ts";

/** Bytes of a mebibyte, the unit of the option `maxUnpacked`. */
const mebibyte = 2 ** 20;

/** Default limits: an unpacked size in bytes that any file may have, a ratio of sizes, and a total in bytes. */
const defaults = { small: 128 * mebibyte, ratio: 100, total: 2048 * mebibyte };

/** Counts the unpacked bytes of a file. */
export interface UnpackBudget {
  /** Adds to the number of compressed bytes. */
  addPacked(bytes: number): void;
  /**
   * Adds to the number of unpacked bytes. Called before the bytes are allocated, if their number is known.
   *
   * @throws {DataError} With the code `"too-large"`, if the file would exceed its limit.
   */
  take(bytes: number): void;
  /** As {@linkcode take}, for bytes that are released soon: they are not added. */
  requireRoom(bytes: number): void;
}

/**
 * Makes the budget of a compressed file. By default a file may unpack to 100 times its size, at least 128 MiB
 * and at most 2 GiB.
 *
 * @param file Name of the file, for messages.
 * @param packed Number of compressed bytes, as far as they are known.
 * @param maxUnpacked Limit in MiB, which replaces the default limits.
 */
export function unpackBudget(file: string, packed: number, maxUnpacked?: number): UnpackBudget {
  let unpacked = 0;
  const limitOf = () =>
    maxUnpacked === undefined
      ? Math.min(defaults.total, Math.max(defaults.small, defaults.ratio * packed))
      : maxUnpacked * mebibyte;
  const requireRoom = (bytes: number) => {
    const limit = limitOf();
    if (unpacked + bytes <= limit) return;
    const inMebibytes = Math.floor(limit / mebibyte);
    throw new DataError(
      "too-large",
      `${file}: ${packed} compressed bytes unpack to more than ${inMebibytes} MiB`,
      {
        option: "maxUnpacked",
        expected: `at most ${inMebibytes} MiB`,
        fixes: [
          (write) => `if you trust the file, set ${write("maxUnpacked")} to its unpacked size in MiB`,
        ],
      },
    );
  };
  return {
    addPacked: (bytes) => void (packed += bytes),
    requireRoom,
    take(bytes) {
      requireRoom(bytes);
      unpacked += bytes;
    },
  };
}

/**
 * Decompresses gzip in parts. Files of several gzip members, such as concatenated files, are read completely.
 *
 * @param file Name of the file, for messages.
 * @param budget Counts the bytes. Its `take` may throw, which ends the decompression.
 * @throws {DataError} With the code `"damaged-file"`, if the bytes are not gzip or are truncated.
 */
export async function* gunzipped(
  chunks: AsyncIterable<Uint8Array>,
  file: string,
  budget: UnpackBudget,
): AsyncGenerator<Uint8Array> {
  const counted = async function* () {
    for await (const chunk of chunks) {
      budget.addPacked(chunk.length);
      yield chunk;
    }
  };
  try {
    for await (const part of zlib.gunzip(counted())) {
      budget.take(part.length);
      yield part;
    }
  } catch (error) {
    // Errors of zlib have a code, and those of browsers are TypeErrors.
    if (
      error instanceof WeftError || !(error instanceof TypeError || error instanceof Error && "code" in error)
    ) {
      throw error;
    }
    throw new DataError(
      "damaged-file",
      `${file}: incomplete: the gzip file is truncated or damaged (${error.message})`,
      { fixes: ["fetch it again"] },
    );
  }
}
