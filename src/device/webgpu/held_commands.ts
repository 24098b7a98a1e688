/** Commands that wait for kernels. */
import type { Kernel } from "./kernel.ts";

/**
 * Maximum number of held commands. In a loop without `await`, kernels that were compiled in the background never
 * arrive, so they are compiled at once.
 */
const maxHeld = 1024;

/**
 * Holds commands, in order, while kernels are compiled in the background, so that the host can go on and several
 * kernels are compiled at the same time.
 */
export class HeldCommands {
  /** Kernels that compile in the background. Commands are held until all of them are compiled. */
  readonly #kernels = new Set<Kernel>();
  #commands: (() => void)[] = [];
  readonly #run: (commands: readonly (() => void)[]) => void;

  /** @param run Runs commands, and handles their errors. */
  constructor(run: (commands: readonly (() => void)[]) => void) {
    this.#run = run;
  }

  /** Whether a command must be held: the kernel is being compiled, or earlier commands are held. */
  mustHold(kernel?: Kernel): boolean {
    if (kernel?.compiling && !this.#kernels.has(kernel)) {
      this.#kernels.add(kernel);
      kernel.compiling.then(() => {
        this.#kernels.delete(kernel);
        if (this.#kernels.size === 0) this.#release();
      });
    }
    return this.#kernels.size > 0;
  }

  /** Holds a command. */
  add(command: () => void): void {
    if (this.#commands.push(command) < maxHeld) return;
    for (const kernel of this.#kernels) kernel.compileNow();
    this.#kernels.clear();
    this.#release();
  }

  /** Holds a command. Resolves with its result. */
  after<T>(command: () => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) =>
      this.add(() => {
        try {
          resolve(command());
        } catch (error) {
          reject(error);
        }
      })
    );
  }

  #release(): void {
    const commands = this.#commands;
    this.#commands = [];
    this.#run(commands);
  }
}
