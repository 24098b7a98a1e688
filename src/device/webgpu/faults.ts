/** Errors that a GPU reports after the call that caused them. */

/**
 * Stores an error until a caller waits for the GPU. All callers that were waiting when it was first thrown
 * receive the error; later callers do not, so a program can continue after an out-of-memory error. A lost
 * device stays lost.
 */
export class Faults {
  #error: Error | undefined;
  #lost: Error | undefined;
  #tickets = 0;
  #thrownAt = Infinity;

  /** Returns a ticket for {@linkcode check}. Call this when the wait begins. */
  draw(): number {
    return ++this.#tickets;
  }

  add(error: Error): void {
    if (this.#error && this.#thrownAt === Infinity) return;
    this.#error = error;
    this.#thrownAt = Infinity;
  }

  /** Records that the device is lost. Only the first reason is kept. */
  lose(error: Error): void {
    this.#lost ??= error;
  }

  get isLost(): boolean {
    return this.#lost !== undefined;
  }

  /** @throws {Error} If the device is lost. */
  checkLost(): void {
    if (this.#lost) throw this.#lost;
  }

  /** @throws {Error} If the device is lost, or an error occurred before or during the wait. */
  check(ticket: number): void {
    this.checkLost();
    if (!this.#error) return;
    if (this.#thrownAt === Infinity) this.#thrownAt = this.#tickets;
    if (ticket <= this.#thrownAt) throw this.#error;
  }
}
