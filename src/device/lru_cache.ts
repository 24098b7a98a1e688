/** A map with a maximum size, which evicts the least recently used entry. */
export class LruCache<K, V extends object | number> {
  /** Entries from the least to the most recently used. */
  readonly #entries = new Map<K, V>();
  readonly #max: number;

  /** @param max Maximum number of entries. */
  constructor(max: number) {
    this.#max = max;
  }

  /** Returns the value of a key, and creates a missing value. */
  getOrMake(key: K, make: () => V): V {
    const value = this.#entries.get(key) ?? make();
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size > this.#max) this.#entries.delete(this.#entries.keys().next().value!);
    return value;
  }
}
