/** Errors that a GPU reports later than the call that caused them. */

/**
 * Holds an error until somebody waits. It is thrown to everyone who was waiting by the time it was first thrown, and to
 * nobody after: whoever catches an out-of-memory error can go on with less. A lost device stays lost.
 */
export class Faults {
  #error: Error | undefined;
  #lost: Error | undefined;
  #tickets = 0;
  #thrownAt = Infinity;

  /** A ticket for {@linkcode check}, to be drawn when the wait begins. */
  draw(): number {
    return ++this.#tickets;
  }

  add(error: Error): void {
    if (this.#error && this.#thrownAt === Infinity) return;
    this.#error = error;
    this.#thrownAt = Infinity;
  }

  /** Says that the device is gone, and why; the first reason stays. */
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

  /** @throws {Error} If the device is lost or something failed before or during the wait. */
  check(ticket: number): void {
    this.checkLost();
    if (!this.#error) return;
    if (this.#thrownAt === Infinity) this.#thrownAt = this.#tickets;
    if (ticket <= this.#thrownAt) throw this.#error;
  }
}
