import { platform } from "../../../platform/current.ts";

/** Whether memories have 64-bit addresses: up to 16 GiB instead of 4 GiB. */
export const hasMemory64: boolean = platform.prefersMemory64 && (() => {
  try {
    return newMemory(1, true, true).buffer.byteLength > 0;
  } catch {
    return false; // An engine without them takes no sizes that are BigInts.
  }
})();

/** A growable memory of one page. @param shared Whether threads can share it. */
export function newMemory(maximumPages: number, shared = true, is64 = hasMemory64): WebAssembly.Memory {
  if (!is64) return new WebAssembly.Memory({ initial: 1, maximum: maximumPages, shared });
  const descriptor = { initial: 1n, maximum: BigInt(maximumPages), shared, address: "i64" };
  return new WebAssembly.Memory(descriptor as unknown as WebAssembly.MemoryDescriptor);
}

/** Grows a memory. */
export function growMemory(memory: WebAssembly.Memory, pages: number): void {
  memory.grow((hasMemory64 ? BigInt(pages) : pages) as number);
}

/** Maximum number of pages of a memory. */
export const maximumPages: number = hasMemory64 ? 2 ** 18 : 2 ** 16;
