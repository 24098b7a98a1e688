/** A map that keeps the entries that were used last. */
export class LruCache<K, V extends object | number> {
  /** Those that were used last are at the end. */
  readonly #entries = new Map<K, V>();
  readonly #max: number;

  /** @param max Most entries. */
  constructor(max: number) {
    this.#max = max;
  }

  /** The value of a key, made if it is not there. */
  getOrMake(key: K, make: () => V): V {
    const value = this.#entries.get(key) ?? make();
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size > this.#max) this.#entries.delete(this.#entries.keys().next().value!);
    return value;
  }
}
