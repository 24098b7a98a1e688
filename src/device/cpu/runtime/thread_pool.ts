/**
 * Threads that share the tasks of a job. A job is an exported function of a WebAssembly module, called as
 * `task(0, word)` to `task(n - 1, word)` in any order by the next free thread: the main thread or a worker.
 * Workers sleep between jobs. All communication uses words of the shared memory, including the bytes of
 * modules, so a job starts within microseconds and does not wait for an event loop. The main thread does all
 * remaining tasks, so jobs also finish while workers start, and without workers. An error of a worker is
 * thrown by the current job, or by the next one.
 */
import { platform } from "../../../platform/current.ts";
import type { Memory } from "./memory.ts";
import type { Executable } from "./executable.ts";
import { hostFunctions, type Task } from "./host_functions.ts";
import { workerMain } from "./worker_main.ts";

/** Words of the control block. */
const word = {
  /** Counts jobs; workers wait for it to change. */
  generation: 0,
  /**
   * Whether workers may join the job. The words below change only while this is zero and no worker is inside.
   */
  open: 1,
  /** Number of workers that read the job or work on it. */
  inside: 2,
  /** The next task. */
  next: 3,
  tasks: 4,
  /** Address of the descriptor. All addresses here count 32-bit words. */
  descriptor: 5,
  /** Address and length of the module's bytes, the unique number of the module, and the index of the function's export. */
  module: 6,
  moduleLength: 7,
  moduleNumber: 8,
  exportIndex: 9,
  /** Set if a task has thrown. */
  failed: 10,
  /** Set when workers must stop. */
  quit: 11,
  /** Counts the tasks done by workers. */
  shared: 12,
  /** Bytes of the error message of the failed task, in UTF-8, stored after these words. */
  messageLength: 13,
} as const;

/** Bytes of the control block: its words, and the error message of a failed task. */
const [wordBytes, messageBytes] = [64, 512];

/**
 * Number of polls before a thread sleeps: about a hundred microseconds, the time to wake a thread on a
 * virtual machine.
 */
const spins = 20_000;

/**
 * Maximum modules that a worker caches. It then clears its cache and recompiles modules that are still in
 * use.
 */
const maxModules = 1024;

/** The threads of one device. */
export class ThreadPool {
  /** Number of threads of a job, including the main thread. */
  readonly threads: number;
  readonly #memory: Memory;
  readonly #control: number;
  readonly #words: Int32Array<SharedArrayBuffer>;
  readonly #main: typeof workerMain;
  readonly #url: string | undefined;
  #started = false;
  /** An error of a worker outside of a job. The next job throws it. */
  #failure: unknown;
  /** Commands of the current capture. */
  captured: (() => void)[] | undefined;

  /**
   * @param url Address of the file of a worker. Default: a worker is started from a text.
   * @param main Main function of a worker from a text, which must not refer to outer names. Tests pass others.
   */
  constructor(memory: Memory, threads: number, url?: string, main: typeof workerMain = workerMain) {
    this.threads = threads;
    this.#url = url;
    this.#memory = memory;
    this.#main = main;
    this.#control = memory.allocate(wordBytes + messageBytes).address;
    // Shared memory grows in place, so this view stays valid. One thread does not use it.
    this.#words = new Int32Array(memory.i32.buffer, this.#control, 16);
    this.#words.fill(0);
  }

  /** Number of tasks that workers have done, for tests and diagnosis. */
  get tasksOfWorkers(): number {
    return this.threads === 1 ? 0 : Atomics.load(this.#words, word.shared);
  }

  /**
   * Runs the tasks of a job with a descriptor, and returns when all are done.
   *
   * @throws {Error} If a worker failed, with its message.
   */
  run(executable: Executable, name: string, tasks: number, descriptor: number): void {
    if (tasks <= 1 || this.threads <= 1) return this.runHere(executable.exports[name], tasks, descriptor);
    this.captured?.push(() => this.run(executable, name, tasks, descriptor));
    const run = executable.exports[name];
    if (!this.#started) this.#start();
    if (this.#failure !== undefined) {
      const cause = this.#failure;
      this.#failure = undefined;
      throw new Error(
        `a worker thread of the CPU device has ended: ${cause}; init({ device: "cpu", threads: 1 }) uses no worker threads`,
        { cause },
      );
    }
    const words = this.#words;
    words[word.module] = executable.address / 4;
    words[word.moduleLength] = executable.byteLength;
    words[word.moduleNumber] = executable.number;
    words[word.exportIndex] = executable.names.indexOf(name);
    words[word.descriptor] = descriptor / 4;
    words[word.tasks] = tasks;
    words[word.next] = 0;
    words[word.failed] = 0;
    Atomics.store(words, word.open, 1);
    Atomics.add(words, word.generation, 1);
    Atomics.notify(words, word.generation, tasks - 1);
    try {
      for (;;) {
        const task = Atomics.add(words, word.next, 1);
        if (task >= tasks) break;
        run(task, descriptor / 4);
      }
    } finally {
      Atomics.store(words, word.open, 0);
      this.#awaitWorkers();
    }
    if (Atomics.load(words, word.failed)) {
      throw new Error(`a worker thread failed in kernel ${name}: ${this.#message()}`);
    }
  }

  /** The error message of the failed task. */
  #message(): string {
    const length = Atomics.load(this.#words, word.messageLength);
    const bytes = new Uint8Array(this.#words.buffer, this.#control + wordBytes, length);
    return new TextDecoder().decode(bytes.slice());
  }

  /** Runs the tasks of a job on the main thread. */
  runHere(run: Task, tasks: number, descriptor: number): void {
    this.captured?.push(
      tasks === 1 ? () => run(0, descriptor / 4) : () => this.runHere(run, tasks, descriptor),
    );
    for (let task = 0; task < tasks; task++) run(task, descriptor / 4);
  }

  /**
   * Address of a descriptor: the shared one, or, during a capture, a separate one that is read again in
   * replays.
   */
  describe(shared: number, byteLength: number): number {
    return this.captured ? this.#memory.allocateUnused(byteLength).address : shared;
  }

  #awaitWorkers(): void {
    const words = this.#words;
    let spin = spins;
    for (;;) {
      const inside = Atomics.load(words, word.inside);
      if (inside === 0) return;
      if (spin > 0) spin--;
      else if (platform.canSleep) Atomics.wait(words, word.inside, inside);
    }
  }

  #start(): void {
    this.#started = true;
    if (this.#words[word.quit]) return;
    const data = {
      memory: this.#memory.wasm,
      control: this.#control,
      wordBytes,
      messageBytes,
      word,
      spins,
      maxModules,
    };
    try {
      for (let i = 1; i < this.threads; i++) {
        platform.startThread?.({
          url: this.#url,
          main: `${this.#main}`,
          functions: `${hostFunctions}`,
          data,
          onError: (error) => this.#failure ??= error,
        });
      }
    } catch (error) {
      console.warn(`weft: cannot start a worker thread, so kernels run on fewer threads: ${error}`);
    }
  }

  /** Stops the workers. Later jobs run on the main thread. */
  destroy(): void {
    if (this.threads === 1) return;
    Atomics.store(this.#words, word.quit, 1);
    Atomics.add(this.#words, word.generation, 1);
    Atomics.notify(this.#words, word.generation);
  }
}
