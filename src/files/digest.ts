/** The SHA-256 of some bytes in hexadecimal digits. */
export async function sha256(bytes: BufferSource): Promise<string> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes)).toHex();
}
