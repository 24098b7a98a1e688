/** A clock for tests of code that measures time. */

/** Runs `body` with a clock that only `advance` moves, by milliseconds. */
export async function withClock<T>(
  body: (advance: (milliseconds: number) => void) => Promise<T>,
): Promise<T> {
  const { now } = performance;
  let time = Math.ceil(now.call(performance));
  performance.now = () => time;
  try {
    return await body((milliseconds) => void (time += milliseconds));
  } finally {
    performance.now = now;
  }
}
