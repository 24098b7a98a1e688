import type { Task } from "./host_functions.ts";

/** Main function of a worker. Its source is sent as text, so it must not refer to outer names. */
export function workerMain(
  { memory, control, wordBytes, messageBytes, word, spins, maxModules }: {
    memory: WebAssembly.Memory;
    control: number;
    wordBytes: number;
    messageBytes: number;
    word: Record<string, number>;
    spins: number;
    maxModules: number;
  },
  functions: Record<string, unknown>,
): void {
  const words = new Int32Array(memory.buffer, control, 16);
  const env = { memory, ...functions };
  const modules = new Map<number, Task[]>();
  const { generation, open, inside, next, tasks, failed, quit, shared, messageLength } = word;
  const load = (index: number) => Atomics.load(words, index);

  const work = () => {
    const number = load(word.moduleNumber);
    let exported = modules.get(number);
    if (!exported) {
      if (modules.size >= maxModules) modules.clear();
      const address = 4 * (load(word.module) >>> 0);
      const bytes = new Uint8Array(memory.buffer, address, load(word.moduleLength)).slice();
      const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), {
        env: env as WebAssembly.ModuleImports,
      });
      modules.set(number, exported = Object.values(exports) as Task[]);
    }
    const run = exported[load(word.exportIndex)];
    const [count, descriptor] = [load(tasks), load(word.descriptor)];
    for (let task = Atomics.add(words, next, 1); task < count; task = Atomics.add(words, next, 1)) {
      run(task, descriptor);
      Atomics.add(words, shared, 1);
    }
  };

  while (!load(quit)) {
    const seen = load(generation);
    Atomics.add(words, inside, 1);
    try {
      if (load(open)) work();
    } catch (error) {
      // Only the first error is reported.
      if (Atomics.compareExchange(words, failed, 0, 1) === 0) {
        const message = new TextEncoder().encode(String(error)).subarray(0, messageBytes);
        new Uint8Array(memory.buffer, control + wordBytes, messageBytes).set(message);
        Atomics.store(words, messageLength, message.length);
      }
    } finally {
      if (Atomics.sub(words, inside, 1) === 1) Atomics.notify(words, inside);
    }
    let spin = spins;
    while (load(generation) === seen && spin > 0) spin--;
    if (spin === 0) Atomics.wait(words, generation, seen);
  }
}
