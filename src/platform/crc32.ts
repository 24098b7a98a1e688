/**
 * Makes a function for the checksums CRC-32 of bytes. Its table is made at the first call.
 *
 * @param polynomial The polynomial with its bits in reverse, without the highest: 0xedb88320 for zip archives.
 */
export function crc32By(polynomial: number): (bytes: Uint8Array) => number {
  /** Checksums of single bytes. */
  let remainders: Uint32Array | undefined;
  return (bytes) => {
    remainders ??= Uint32Array.from({ length: 256 }, (_, byte) => {
      let rest = byte;
      for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? rest >>> 1 ^ polynomial : rest >>> 1;
      return rest;
    });
    let rest = 0xffffffff;
    for (const byte of bytes) rest = rest >>> 8 ^ remainders[(rest ^ byte) & 0xff];
    return ~rest >>> 0;
  };
}
