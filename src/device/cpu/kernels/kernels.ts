/** Kernels with a descriptor in memory, which contains their arguments. */
import { Executable, newModule } from "../runtime/executable.ts";
import type { Memory } from "../runtime/memory.ts";
import type { ThreadPool } from "../runtime/thread_pool.ts";
import type { ModuleBuilder } from "../assembler/wasm.ts";

/** Maximum bytes of a descriptor. */
const descriptorLength = 2048;

/** Maximum number of tasks of a kernel. */
export const maxTasks = 64;

/** Number of tasks for an amount of work. */
export function tasksFor(work: number, workPerTask: number): number {
  return Math.max(1, Math.min(maxTasks, Math.floor(work / workPerTask)));
}

/** The words of a descriptor: each value at the position of its name. */
export function descriptorWords<Name extends string>(
  positions: Readonly<Record<Name, number>>,
  values: Readonly<Record<Name, number>>,
): number[] {
  const words: number[] = [];
  for (const name in positions) words[positions[name]] = values[name];
  return words;
}

/** Compiles each kernel once, and runs kernels. */
export class Kernels {
  readonly #executables = new Map<string, Executable>();
  readonly #descriptor: number;

  constructor(readonly memory: Memory, readonly pool: ThreadPool) {
    this.#descriptor = memory.allocate(descriptorLength).address;
  }

  /**
   * Runs the tasks of a job.
   *
   * @param key Identifies the module.
   * @param name The function of the module.
   * @param description Words of the descriptor.
   */
  run(
    key: string,
    emit: (module: ModuleBuilder) => void,
    name: string,
    tasks: number,
    description: readonly number[],
  ): void {
    let executable = this.#executables.get(key);
    if (!executable) {
      const module = newModule(this.memory);
      emit(module);
      this.#executables.set(key, executable = new Executable(this.memory, module));
    }
    const descriptor = this.pool.describe(this.#descriptor, 4 * description.length);
    this.memory.i32.set(description, descriptor / 4);
    this.pool.run(executable, name, tasks, descriptor);
  }
}
