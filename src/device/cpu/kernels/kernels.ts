/** Kernels that read what they have to do from a description in memory. */
import { Executable } from "../runtime/executable.ts";
import type { Memory } from "../runtime/memory.ts";
import type { ThreadPool } from "../runtime/thread_pool.ts";
import type { ModuleBuilder } from "../assembler/wasm.ts";

/** Largest number of bytes of a description. */
const descriptionLength = 2048;

/** Largest number of tasks of a kernel. */
export const maxTasks = 64;

/** Number of tasks for so much work. */
export function tasksFor(work: number, workPerTask: number): number {
  return Math.max(1, Math.min(maxTasks, Math.floor(work / workPerTask)));
}

/** The words of a description: each value at the position of its name. */
export function descriptionWords<Name extends string>(
  positions: Readonly<Record<Name, number>>,
  values: Readonly<Record<Name, number>>,
): number[] {
  const words: number[] = [];
  for (const name in positions) words[positions[name]] = values[name];
  return words;
}

/** Compiles kernels, once each, and runs them. */
export class Kernels {
  readonly #executables = new Map<string, Executable>();
  readonly #descriptor: number;

  constructor(readonly memory: Memory, readonly pool: ThreadPool) {
    this.#descriptor = memory.allocate(descriptionLength).address;
  }

  /**
   * Runs the tasks of a job.
   *
   * @param key Determines the module.
   * @param name The module's function.
   * @param description Words that the function reads, from its second argument on.
   */
  run(
    key: string,
    emit: () => ModuleBuilder,
    name: string,
    tasks: number,
    description: readonly number[],
  ): void {
    let executable = this.#executables.get(key);
    if (!executable) this.#executables.set(key, executable = new Executable(this.memory, emit()));
    const descriptor = this.pool.describe(this.#descriptor, 4 * description.length);
    this.memory.i32.set(description, descriptor / 4);
    this.pool.run(executable, name, tasks, descriptor);
  }
}
