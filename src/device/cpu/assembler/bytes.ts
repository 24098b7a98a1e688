/** A growing byte sequence with the encodings of the WebAssembly binary format. */
export class Bytes {
  #bytes = new Uint8Array(256);
  length = 0;

  #reserve(count: number): void {
    if (this.length + count <= this.#bytes.length) return;
    const grown = new Uint8Array(Math.max(this.#bytes.length * 2, this.length + count));
    grown.set(this.#bytes);
    this.#bytes = grown;
  }

  byte(value: number): void {
    if (this.length === this.#bytes.length) this.#reserve(1);
    this.#bytes[this.length++] = value;
  }

  append(values: ArrayLike<number>): void {
    this.#reserve(values.length);
    this.#bytes.set(values, this.length);
    this.length += values.length;
  }

  unsigned(value: number): void {
    for (; value >= 0x80; value = Math.floor(value / 0x80)) this.byte(value % 0x80 | 0x80);
    this.byte(value);
  }

  /** A signed LEB128 number. Unsigned numbers of 32 bits wrap to signed ones. */
  signed(value: number, is64 = false): void {
    for (; is64 && value !== (value | 0); value = Math.floor(value / 0x80)) {
      this.byte((value - Math.floor(value / 0x80) * 0x80) | 0x80);
    }
    value |= 0;
    for (; value < -0x40 || value >= 0x40; value >>= 7) this.byte(value & 0x7f | 0x80);
    this.byte(value & 0x7f);
  }

  /** An unsigned number in five bytes, so that it can be replaced later. */
  padded(value: number, position = this.length): void {
    if (position === this.length) {
      this.#reserve(5);
      this.length += 5;
    }
    for (let i = 0; i < 4; i++, value >>>= 7) this.#bytes[position + i] = value & 0x7f | 0x80;
    this.#bytes[position + 4] = value;
  }

  name(text: string): void {
    const utf8 = new TextEncoder().encode(text);
    this.unsigned(utf8.length);
    this.append(utf8);
  }

  view(): Uint8Array {
    return this.#bytes.subarray(0, this.length);
  }
}
