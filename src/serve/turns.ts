/** Turns of clients whose requests are waiting, so that they do not delay the requests of other clients. */
import { setImmediate } from "node:timers";

/** A part of the work of a client. */
export interface Turn {
  /** Whether the client has more work. */
  readonly hasMore: boolean;
  /** Whether the work was large, so that events of other clients come next. */
  readonly isLarge: boolean;
}

/** Milliseconds of small parts before other events are handled. */
const slice = 2;

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
    let start = performance.now();
    for (const next of asked) {
      asked.delete(next);
      const { hasMore, isLarge } = next();
      // Adding it again makes it the last one.
      if (hasMore) asked.add(next);
      if (isLarge || performance.now() - start > slice) {
        await new Promise<void>((resolve) => void setImmediate(resolve));
        start = performance.now();
      }
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
