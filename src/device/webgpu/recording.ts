/** Recorded kernels of a loop iteration, which are fast to queue again. */
import { largest } from "../min_max.ts";
import type { Commands } from "./commands.ts";
import type { Launch } from "./launch.ts";

/** The commands of a loop iteration. Parameters change by a constant stride per iteration. */
export class Recording {
  readonly #commands: Commands;
  readonly #entries: readonly (Launch & { readonly changes: Float64Array })[];
  readonly #words: Float64Array;
  readonly #free: () => void;

  /**
   * @param first Kernels of iteration 0.
   * @param second Kernels of iteration 1.
   * @param free Releases the temporary memory of the kernels.
   */
  constructor(commands: Commands, first: readonly Launch[], second: readonly Launch[], free: () => void) {
    const differs = (entry: Launch, other: Launch | undefined) =>
      entry.kernel !== other?.kernel ||
      entry.workgroups !== other.workgroups;
    if (first.length !== second.length || first.some((entry, i) => differs(entry, second[i]))) {
      throw new Error("the iterations of a recorded loop must queue the same kernels");
    }
    this.#commands = commands;
    this.#entries = first.map((entry, i) => ({
      ...entry,
      changes: Float64Array.from(entry.words, (word, position) => second[i].words[position] - word),
    }));
    this.#words = new Float64Array(Math.max(0, largest(first.map(({ words }) => words.length))));
    this.#free = free;
  }

  /** Queues an iteration. */
  play(iteration: number): void {
    const { captured } = this.#commands;
    captured?.add(() => this.play(iteration));
    this.#commands.captured = undefined;
    try {
      this.#queue(iteration);
    } finally {
      this.#commands.captured = captured;
    }
  }

  #queue(iteration: number): void {
    for (const { changes, ...launch } of this.#entries) {
      const { words } = launch;
      const current = this.#words.subarray(0, words.length);
      // Words of 32 bits wrap around, which addresses with negative strides require.
      for (let i = 0; i < words.length; i++) current[i] = words[i] + iteration * changes[i];
      this.#commands.dispatch({ ...launch, words: current });
    }
  }

  /** Releases the memory. */
  free(): void {
    this.#free();
  }
}
