import { platform } from "../../../platform/current.ts";
import type { MemoryKind } from "../../../platform/platform.ts";

/** Whether the engine has memories with 64-bit addresses: up to 16 GiB instead of 4 GiB. */
const hasMemory64: boolean = (() => {
  try {
    return newMemory(1, { is64: true, isShared: true }).buffer.byteLength > 0;
  } catch {
    return false; // An engine without them takes no sizes that are BigInts.
  }
})();

/** Number of 128-bit vectors per register, of a memory or of a module that works on it. */
export interface Registers {
  readonly vectorsPerRegister: 1 | 2;
}

/** A growable memory of one page. */
export function newMemory(maximumPages: number, { is64, isShared: shared }: MemoryKind): WebAssembly.Memory {
  if (!is64) return new WebAssembly.Memory({ initial: 1, maximum: maximumPages, shared });
  const descriptor = { initial: 1n, maximum: BigInt(maximumPages), shared, address: "i64" };
  return new WebAssembly.Memory(descriptor as unknown as WebAssembly.MemoryDescriptor);
}

/** Grows a memory. */
export function growMemory(memory: WebAssembly.Memory, pages: number, is64: boolean): void {
  memory.grow((is64 ? BigInt(pages) : pages) as number);
}

/** Maximum number of pages of a memory with 64-bit or 32-bit addresses. */
export function maximumPagesOf(is64: boolean): number {
  return is64 ? 2 ** 18 : 2 ** 16;
}

/**
 * Whether a memory has 64-bit addresses, if the engine has such memories: where they are as fast, and where more than 4 GiB are
 * asked for.
 *
 * @param bytes Maximum size. Default: chosen by Weft.
 */
export function needsMemory64(bytes?: number): boolean {
  return hasMemory64 && (bytes === undefined ? platform.prefersMemory64 : bytes > 2 ** 32);
}
