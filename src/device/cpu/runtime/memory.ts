/**
 * The memory of the CPU device: one WebAssembly memory for all kernels and threads, with an allocator. The
 * allocator is "two-level segregated fit" (Masmano et al., 2004): free blocks are in lists by size, eight
 * lists per power of two; a bitmap finds the first list with a sufficiently large block; the unused part of a
 * block is split off, and adjacent free blocks are merged immediately. Allocation and release
 * take constant time.
 */
import { platform } from "../../../platform/current.ts";
import type { MemoryKind } from "../../../platform/platform.ts";
import type { DType, TypedArray } from "../../dtype.ts";
import type { Reserve } from "../../memory/reserve.ts";
import { growMemory, maximumPagesOf, needsMemory64, newMemory, type Registers } from "./wasm_memory.ts";

/** Size and alignment of blocks in bytes: a cache line. */
const granule = 64;
const page = 65536;

/** A block of memory. */
export class Block {
  /** Free blocks of similar size. */
  next: Block | undefined = undefined;
  previous: Block | undefined = undefined;
  /** Neighbours in memory. */
  before: Block | undefined = undefined;
  after: Block | undefined = undefined;
  free = false;

  constructor(
    /** Address in bytes. */
    readonly address: number,
    /** Length in granules. */
    public granules: number,
  ) {}
}

/** Lists 0 to 15 hold blocks of exactly that many granules. Above, eight lists share a power of two. */
function listOf(granules: number): number {
  if (granules < 16) return granules;
  const exponent = 31 - Math.clz32(granules);
  return 16 + (exponent - 4) * 8 + (granules >>> exponent - 3 & 7);
}

/** The first list whose blocks all have at least a number of granules. */
function sufficientList(granules: number): number {
  if (granules < 16) return granules;
  const exponent = 31 - Math.clz32(granules);
  return listOf(granules + (1 << exponent - 3) - 1);
}

const lists = listOf(maximumPagesOf(true) * page / granule) + 1;

/** Formats a number of bytes. */
export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  const exponent = Math.min(3, Math.floor(Math.log2(bytes) / 10));
  return `${(bytes / 1024 ** exponent).toFixed(1)} ${["", "KiB", "MiB", "GiB"][exponent]}`;
}

/** One growing memory and its allocator. */
export class Memory implements MemoryKind, Registers {
  readonly is64: boolean;
  readonly vectorsPerRegister: 1 | 2;
  readonly wasm: WebAssembly.Memory;
  /** Views of the entire memory. They are replaced when it grows: do not store them across an allocation. */
  u8!: Uint8Array<SharedArrayBuffer>;
  i32!: Int32Array<SharedArrayBuffer>;
  u32!: Uint32Array<SharedArrayBuffer>;
  f32!: Float32Array<SharedArrayBuffer>;
  f64!: Float64Array<SharedArrayBuffer>;

  readonly #maximumPages: number;
  /** The reason for the maximum size, for an error message. */
  readonly #limit: string;
  readonly #free: (Block | undefined)[] = new Array(lists).fill(undefined);
  readonly #bitmap = new Uint32Array(Math.ceil(lists / 32));
  /** The block with the highest address. */
  #last: Block;
  #used = 0;
  /** Reserve of the current capture, which provides blocks and receives released blocks. */
  reserve: Reserve<Block> | undefined;

  /**
   * @param wantedBytes Maximum size. Default: the limit of WebAssembly, or the memory of the machine.
   * @param isShared Whether threads can share the memory.
   */
  constructor(wantedBytes?: number, readonly isShared: boolean = true) {
    this.is64 = needsMemory64(wantedBytes);
    this.vectorsPerRegister = platform.vectorsPerRegister?.(this) ?? 1;
    const most = maximumPagesOf(this.is64);
    this.#maximumPages = Math.min(most, Math.ceil((wantedBytes ?? platform.machineMemory()) / page));
    this.#limit = this.#maximumPages < most
      ? wantedBytes === undefined ? "the memory of the machine" : "as asked for"
      : this.is64
      ? "the limit of WebAssembly on any machine"
      : 'the limit of 32-bit addresses; init({ device: "cpu", memory: 2 ** 34 }) asks for 16 GiB';
    for (;;) {
      try {
        this.wasm = newMemory(this.#maximumPages, this);
        break;
      } catch (error) {
        // The maximum reserves address space, which may be limited.
        if (this.#maximumPages <= 256) throw error;
        this.#maximumPages >>= 1;
        this.#limit = "the address space that the machine lets WebAssembly reserve";
      }
    }
    // The first and the last granule are never allocated: address zero is invalid, and vectors may be read
    // past the end of a block.
    this.#last = new Block(granule, page / granule - 2);
    this.#insert(this.#last);
    this.#renewViews();
  }

  /** Bytes of allocated blocks. */
  get usedBytes(): number {
    return this.#used * granule;
  }

  /** Current size in bytes. */
  get totalBytes(): number {
    return this.u8.length;
  }

  /** Maximum size in bytes. */
  get maximumBytes(): number {
    return this.#maximumPages * page;
  }

  /** The entire memory as elements of a type. */
  wordsOf(dtype: DType): TypedArray {
    if (dtype === "float32") return this.f32;
    if (dtype === "float64") return this.f64;
    return dtype === "int32" ? this.i32 : this.u32;
  }

  #renewViews(): void {
    const buffer = this.wasm.buffer as unknown as SharedArrayBuffer;
    this.u8 = new Uint8Array(buffer);
    this.i32 = new Int32Array(buffer);
    this.u32 = new Uint32Array(buffer);
    this.f32 = new Float32Array(buffer);
    this.f64 = new Float64Array(buffer);
  }

  /**
   * Allocates at least `byteLength` bytes of undefined content, aligned to 64.
   *
   * @throws {Error} If not enough memory is left.
   */
  allocate(byteLength: number): Block {
    const granules = Math.max(1, Math.ceil(byteLength / granule));
    return this.reserve?.take(granules) ?? this.#allocate(granules, byteLength);
  }

  /** Allocates a block that captured commands have not used before. */
  allocateUnused(byteLength: number): Block {
    return this.#allocate(Math.max(1, Math.ceil(byteLength / granule)), byteLength);
  }

  #allocate(granules: number, byteLength: number): Block {
    const block = this.#find(granules) ?? this.#findAmongSimilar(granules) ??
      this.#grow(granules, byteLength);
    this.#remove(block);
    if (block.granules > granules) {
      const rest = new Block(block.address + granules * granule, block.granules - granules);
      rest.before = block;
      rest.after = block.after;
      if (block.after) block.after.before = rest;
      else this.#last = rest;
      block.after = rest;
      block.granules = granules;
      this.#insert(rest);
    }
    this.#used += granules;
    this.reserve?.add(block);
    return block;
  }

  /** Releases a block. */
  release(block: Block): void {
    if (this.reserve?.put(block, block.granules)) return;
    if (block.free) throw new Error(`memory at ${block.address} was released twice`);
    this.#used -= block.granules;
    const { before, after } = block;
    if (after?.free) {
      this.#remove(after);
      this.#join(block, after);
    }
    if (before?.free) {
      this.#remove(before);
      this.#join(before, block);
      block.free = true; // So that a second release is noticed.
    }
    this.#insert(before && block.free ? before : block);
  }

  /** Merges a block with its successor. */
  #join(block: Block, after: Block): void {
    block.granules += after.granules;
    block.after = after.after;
    if (after.after) after.after.before = block;
    else this.#last = block;
    after.before = after.after = undefined;
  }

  #insert(block: Block): void {
    const list = listOf(block.granules);
    const head = this.#free[list];
    block.free = true;
    block.previous = undefined;
    block.next = head;
    if (head) head.previous = block;
    else this.#bitmap[list >>> 5] |= 1 << list;
    this.#free[list] = block;
  }

  #remove(block: Block): void {
    const { next, previous } = block;
    if (next) next.previous = previous;
    if (previous) previous.next = next;
    else {
      const list = listOf(block.granules);
      this.#free[list] = next;
      if (!next) this.#bitmap[list >>> 5] &= ~(1 << list);
    }
    block.next = block.previous = undefined;
    block.free = false;
  }

  #find(granules: number): Block | undefined {
    const list = sufficientList(granules);
    let word = list >>> 5;
    let bits = this.#bitmap[word] & -1 << list;
    while (bits === 0) {
      if (++word >= this.#bitmap.length) return undefined;
      bits = this.#bitmap[word];
    }
    return this.#free[32 * word + 31 - Math.clz32(bits & -bits)];
  }

  /**
   * Searches the list of similar sizes for a sufficiently large block, which is better than growing the
   * memory.
   */
  #findAmongSimilar(granules: number): Block | undefined {
    let block = this.#free[listOf(granules)];
    while (block && block.granules < granules) block = block.next;
    return block;
  }

  #grow(granules: number, byteLength: number): Block {
    const last = this.#last;
    const missing = last.free ? granules - last.granules : granules;
    const needed = Math.ceil(missing * granule / page);
    const pages = this.totalBytes / page;
    // Untouched pages only cost address space, so growing generously is cheap and keeps views valid longer.
    const wanted = Math.max(needed, 16, Math.min(pages, 4096));
    const available = this.#maximumPages - pages;
    let added = Math.min(wanted, available);
    if (needed > available || !this.#tryGrow(added) && !(added = needed, this.#tryGrow(added))) {
      const limit = needed <= available ? "but the machine has no free memory" : this.#limit;
      throw new Error(
        `out of memory: ${formatBytes(byteLength)} requested, ${
          formatBytes(this.usedBytes)
        } in use; the maximum is ` +
          `${
            formatBytes(this.maximumBytes)
          }, ${limit}: make the batch smaller, solve with adjoint: "checkpoint", ` +
          "or free tensors earlier with tidy(...)",
      );
    }
    const block = new Block((pages * page) - granule, added * page / granule);
    block.before = last;
    last.after = block;
    this.#last = block;
    this.#used += block.granules;
    this.release(block);
    return this.#last;
  }

  #tryGrow(pages: number): boolean {
    try {
      growMemory(this.wasm, pages, this.is64);
    } catch {
      return false;
    }
    this.#renewViews();
    return true;
  }
}
