/** Typed arrays that grow at their end. */

/** Numbers of which more come. */
interface Growing<T extends Float64Array | Int32Array | Uint8Array> {
  /** Adds a number. */
  push(value: number): void;
  /** Adds a number until there are as many as given. */
  fill(value: number, length: number): void;
  /** The numbers so far, without a copy. */
  view(): T;
}

/** An empty list of numbers of a typed array's kind. */
export function growing<T extends Float64Array | Int32Array | Uint8Array>(
  Kind: { new (length: number): T },
): Growing<T> {
  let [data, length] = [new Kind(16), 0];
  const push = (value: number) => {
    if (length === data.length) {
      const larger = new Kind(2 * length);
      larger.set(data);
      data = larger;
    }
    data[length++] = value;
  };
  return {
    push,
    fill(value, until) {
      while (length < until) push(value);
    },
    view: () => data.subarray(0, length) as T,
  };
}
