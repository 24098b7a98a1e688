/** Makes objects of one kind: a function of its arguments. `new` before the call changes nothing. */
export interface Maker<Args extends unknown[], T> {
  /** Makes one. */
  (...args: Args): T;
  /** @deprecated Call it without `new`. */
  new (...args: Args): T;
}

/** A maker of a function, so that all that Weft makes is made by a call. */
export function maker<Args extends unknown[], T extends object>(make: (...args: Args) => T): Maker<Args, T> {
  // Arrow functions cannot be called with `new`.
  return function (...args: Args): T {
    return make(...args);
  } as Maker<Args, T>;
}
