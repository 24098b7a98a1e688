/** Typed arrays that grow. */

/** A growing list of numbers. */
export interface Growing<T extends Float64Array | Int32Array | Uint8Array> {
  /** Appends a number. */
  push(value: number): void;
  /** Appends a number until the list has the given length. */
  fill(value: number, length: number): void;
  /** Returns a view of the numbers so far, without a copy. */
  view(): T;
}

/** Makes an empty list of numbers of a typed array's kind. */
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
