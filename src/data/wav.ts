/** WAV files: chunks of a name, a length and data, in a RIFF container (Microsoft and IBM, 1991). */

/** A recording of one channel. */
export interface Recording {
  /** Number of samples per second. */
  readonly sampleRate: number;
  /** Samples from -1 to 1. */
  readonly samples: Float32Array;
}

/**
 * Reads a mono WAV file of 16-bit samples (PCM).
 *
 * @param bytes Content of the file.
 * @param file Name of the file, for messages.
 * @returns Samples divided by 2^15.
 * @throws {Error} If the file has another format, or is truncated.
 */
export function parseWav(bytes: Uint8Array, file: string): Recording {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const textAt = (at: number) => new TextDecoder("latin1").decode(bytes.subarray(at, at + 4));
  if (bytes.length < 12 || textAt(0) !== "RIFF" || textAt(8) !== "WAVE") {
    throw new Error(`${file}: not a WAV file: it should begin with RIFF and WAVE`);
  }
  let sampleRate: number | undefined;
  for (let at = 12; at + 8 <= bytes.length;) {
    const [name, size, start] = [textAt(at), view.getUint32(at + 4, true), at + 8];
    if (start + size > bytes.length) {
      throw new Error(`${file}: cut short: ${bytes.length} bytes, expected ${start + size} at least`);
    }
    if (name === "fmt " && size >= 16) {
      const [format, channels] = [view.getUint16(start, true), view.getUint16(start + 2, true)];
      const bits = view.getUint16(start + 14, true);
      if (format !== 1 || channels !== 1 || bits !== 16) {
        throw new Error(
          `${file}: format ${format}, ${channels} channels of ${bits} bits, expected 1 (PCM), 1 of 16`,
        );
      }
      sampleRate = view.getUint32(start + 4, true);
    } else if (name === "data" && sampleRate !== undefined) {
      const samples = Float32Array.from(
        { length: size >> 1 },
        (_, i) => view.getInt16(start + 2 * i, true) / 2 ** 15,
      );
      return { sampleRate, samples };
    }
    // Chunks begin at even offsets.
    at = start + size + (size & 1);
  }
  throw new Error(`${file}: no samples: expected a chunk "fmt " and then a chunk "data"`);
}
