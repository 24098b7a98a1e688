/** The SHA-256 of some bytes in hexadecimal digits. */
export async function sha256(bytes: BufferSource): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}

const hexDigits = 16;

/** A short text that is the same for the same name and numbers alone. */
export async function digestOf(name: string, ...arrays: readonly Float64Array[]): Promise<string> {
  // A missing value has many bit patterns.
  const parts = arrays.map((values) => values.map((value) => Number.isNaN(value) ? NaN : value));
  const text = JSON.stringify([name, ...arrays.map(({ length }) => length)]);
  const bytes = await new Blob([text, ...parts]).arrayBuffer();
  return (await sha256(bytes)).slice(0, hexDigits);
}
