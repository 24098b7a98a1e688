import { gunzipSync } from "node:zlib";

/** Maximum number of bytes of an unpacked file. */
const maxBytes = 2 ** 29;

/** An array in the IDX format, which MNIST's files use. */
export interface IdxArray {
  /** Length of each axis. */
  readonly shape: readonly number[];
  /** Elements from 0 to 255, row-major. */
  readonly values: Uint8Array;
}

/**
 * Reads an array of unsigned bytes in the IDX format: two bytes of zero, the type 8, the number of axes, the
 * length of each axis as a big-endian word of 32 bits, then the values.
 *
 * @param bytes Content of the file.
 * @param file Name of the file, for messages.
 * @throws {Error} If the bytes are not in this format, or too few or too many.
 */
export function parseIdx(bytes: Uint8Array, file: string): IdxArray {
  const axes = bytes[3];
  const start = 4 + 4 * axes;
  if (bytes.length < start || bytes[0] !== 0 || bytes[1] !== 0 || bytes[2] !== 8) {
    throw new Error(`${file}: not an IDX file of unsigned bytes: it should begin with the bytes 0, 0, 8`);
  }
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const shape = Array.from({ length: axes }, (_, axis) => view.getUint32(4 + 4 * axis));
  const size = shape.reduce((product, length) => product * length, 1);
  if (bytes.length !== start + size) {
    throw new Error(
      `${file}: an array of ${shape.join(" by ")} takes ${start + size} bytes, the file has ${bytes.length}`,
    );
  }
  return { shape, values: bytes.subarray(start) };
}

/**
 * Content of a gzip file.
 *
 * @param bytes The compressed file.
 * @param file Name of the file, for messages.
 * @throws {Error} If the file is damaged, not a gzip file, or larger than the maximum string length (512
 * MiB).
 */
export function gunzip(bytes: Uint8Array, file: string): Uint8Array {
  try {
    return gunzipSync(bytes, { maxOutputLength: maxBytes });
  } catch (error) {
    throw new Error(
      `${file}: expected a gzip file of at most ${maxBytes} bytes (${
        error instanceof Error ? error.message : error
      })`,
    );
  }
}
