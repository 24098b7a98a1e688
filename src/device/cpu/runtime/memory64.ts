/** Whether the engine has memories with 64-bit addresses; they reach 16 GiB, those with 32-bit addresses 4 GiB. */
export const hasMemory64: boolean = (() => {
  try {
    return newMemory(1, true).buffer.byteLength > 0;
  } catch {
    return false; // An engine without them takes no sizes that are BigInts.
  }
})();

/** A shared memory of one page, which may grow. */
export function newMemory(maximumPages: number, is64 = hasMemory64): WebAssembly.Memory {
  const shared = true;
  if (!is64) return new WebAssembly.Memory({ initial: 1, maximum: maximumPages, shared });
  const descriptor = { initial: 1n, maximum: BigInt(maximumPages), shared, address: "i64" };
  return new WebAssembly.Memory(descriptor as unknown as WebAssembly.MemoryDescriptor);
}

/** Lets a memory grow. */
export function growMemory(memory: WebAssembly.Memory, pages: number): void {
  memory.grow((hasMemory64 ? BigInt(pages) : pages) as number);
}

/** The most pages that a memory may have. */
export const maximumPages: number = hasMemory64 ? 2 ** 18 : 2 ** 16;
