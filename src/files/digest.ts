/** SHA-256 of some bytes in hexadecimal. @throws {Error} In a page of an insecure origin, which has no SHA-256. */
export async function sha256(bytes: BufferSource): Promise<string> {
  if (!crypto.subtle) throw new Error("sha256: the page has none; serve the page by HTTPS or from localhost");
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
  // Node 22 lacks Uint8Array.toHex.
  return Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

const hexDigits = 16;

/**
 * Short digest of a text and numbers, for example of a series in a record of training data. In practice, different inputs
 * have different digests.
 *
 * @param name Text, such as the name of the class; may be empty.
 * @param arrays Numbers, such as the times and the values. All NaN are equal.
 * @returns 16 hexadecimal digits.
 */
export async function digestOf(name: string, ...arrays: readonly Float64Array[]): Promise<string> {
  const text = new TextEncoder().encode(JSON.stringify([name, ...arrays.map(({ length }) => length)]));
  const bytes = new Uint8Array(text.length + arrays.reduce((sum, { byteLength }) => sum + byteLength, 0));
  bytes.set(text);
  let at = text.length;
  for (const values of arrays) {
    // NaN has many bit patterns. Replace them all by one, so that equal data has equal digests.
    const { buffer } = values.map((value) => Number.isNaN(value) ? NaN : value);
    bytes.set(new Uint8Array(buffer), at);
    at += buffer.byteLength;
  }
  return (await sha256(bytes)).slice(0, hexDigits);
}
