/** Turns of clients whose requests are waiting, so that they do not delay the requests of other clients. */
import { makeSlices } from "./slices.ts";

/** A part of the work of a client. */
export interface Turn {
  /** Whether the client has more work. */
  readonly hasMore: boolean;
  /** Whether the work was large, so that events of other clients come next. */
  readonly isLarge: boolean;
}

/** Turns of functions that each do a part of their work. */
export interface Turns {
  /** Calls a function soon, in turn with others. */
  ask(next: () => Turn): void;
  /** Resolves when no function has work. */
  idle(): Promise<void>;
}

/** Makes turns. */
export function turnsOf(): Turns {
  const asked = new Set<() => Turn>();
  let working: Promise<void> | undefined;
  const work = async () => {
    await Promise.resolve();
    const slices = makeSlices();
    for (const next of asked) {
      if (slices.isOver) await slices.next();
      asked.delete(next);
      const { hasMore, isLarge } = next();
      // Adding it again makes it the last one.
      if (hasMore) asked.add(next);
      if (isLarge) await slices.next();
    }
    working = undefined;
  };
  return {
    ask(next) {
      asked.add(next);
      working ??= work();
    },
    async idle() {
      await working;
    },
  };
}
