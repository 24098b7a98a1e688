/**
 * The memory of the CPU device: one WebAssembly memory that all kernels and threads share, and an allocator of blocks in
 * it. The allocator is "two-level segregated fit" (Masmano et al., 2004): free blocks are kept in lists by size, eight
 * lists to a power of two; a bitmap finds the first list with a block that is large enough; what is left of a block is
 * split off, and neighbours that are free are joined at once. Both calls take constant time, and memory that was split
 * for small tensors comes back for large ones.
 */
import type { DType, TypedArray } from "../../dtype.ts";
import type { Reserve } from "../../reserve.ts";
import { growMemory, maximumPages, newMemory } from "./memory64.ts";

/** Number of bytes that blocks are multiples of, and aligned to: a cache line. */
const granule = 64;
const page = 65536;

/** A piece of the memory. */
export class Block {
  /** Free blocks of about the same size. */
  next: Block | undefined = undefined;
  previous: Block | undefined = undefined;
  /** Neighbours in memory. */
  before: Block | undefined = undefined;
  after: Block | undefined = undefined;
  free = false;

  constructor(
    /** Its start, in bytes. */
    readonly address: number,
    /** Its length in granules. */
    public granules: number,
  ) {}
}

/** Lists 0 to 15 hold blocks of exactly as many granules; from there on eight lists share a power of two. */
function listOf(granules: number): number {
  if (granules < 16) return granules;
  const exponent = 31 - Math.clz32(granules);
  return 16 + (exponent - 4) * 8 + (granules >>> exponent - 3 & 7);
}

/** The first list of which every block has at least so many granules. */
function sufficientList(granules: number): number {
  if (granules < 16) return granules;
  const exponent = 31 - Math.clz32(granules);
  return listOf(granules + (1 << exponent - 3) - 1);
}

const lists = listOf(maximumPages * page / granule) + 1;

/** Bytes in words that people read. */
function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  const exponent = Math.min(3, Math.floor(Math.log2(bytes) / 10));
  return `${(bytes / 1024 ** exponent).toFixed(1)} ${["", "KiB", "MiB", "GiB"][exponent]}`;
}

/** Bytes of memory that the machine has, or infinity where this process may not know. */
function machineMemory(): number {
  const { state } = Deno.permissions.querySync({ name: "sys", kind: "systemMemoryInfo" });
  return state === "granted" ? Deno.systemMemoryInfo().total : Infinity;
}

/** One shared, growing memory and its allocator. */
export class Memory {
  readonly wasm: WebAssembly.Memory;
  /** Views of the entire memory. They are replaced when it grows: do not keep them across an allocation. */
  u8!: Uint8Array<SharedArrayBuffer>;
  i32!: Int32Array<SharedArrayBuffer>;
  u32!: Uint32Array<SharedArrayBuffer>;
  f32!: Float32Array<SharedArrayBuffer>;
  f64!: Float64Array<SharedArrayBuffer>;

  readonly #maximumPages: number;
  /** Reason why it grows no further, for an error. */
  readonly #limit: string;
  readonly #free: (Block | undefined)[] = new Array(lists).fill(undefined);
  readonly #bitmap = new Uint32Array(Math.ceil(lists / 32));
  /** The block with the highest address. */
  #last: Block;
  #used = 0;
  /** Source of blocks while commands are captured, to which they go back. */
  reserve: Reserve<Block> | undefined;

  /** @param maximumBytes The most that it may grow to, by default what WebAssembly addresses or the machine has. */
  constructor(maximumBytes: number = Math.min(maximumPages * page, machineMemory())) {
    this.#maximumPages = Math.min(maximumPages, Math.ceil(maximumBytes / page));
    this.#limit = this.#maximumPages === maximumPages
      ? "the most that WebAssembly addresses, whatever the machine has"
      : "all that the machine has";
    for (;;) {
      try {
        this.wasm = newMemory(this.#maximumPages);
        break;
      } catch (error) {
        // Address space is reserved up to the maximum, and may be limited.
        if (this.#maximumPages <= 256) throw error;
        this.#maximumPages >>= 1;
        this.#limit = "the most that the machine lets WebAssembly reserve";
      }
    }
    // Address zero is never given out, and neither is the last granule: a vector may be read past a block's end.
    this.#last = new Block(granule, page / granule - 2);
    this.#insert(this.#last);
    this.#renewViews();
  }

  /** Bytes in blocks that are allocated. */
  get usedBytes(): number {
    return this.#used * granule;
  }

  /** Bytes that the memory has grown to. */
  get totalBytes(): number {
    return this.u8.length;
  }

  /** Bytes that it may grow to. */
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
   * Takes at least `byteLength` bytes of undefined content, aligned to 64.
   *
   * @throws {Error} If there are not so many left.
   */
  allocate(byteLength: number): Block {
    const granules = Math.max(1, Math.ceil(byteLength / granule));
    return this.reserve?.take(granules) ?? this.#allocate(granules, byteLength);
  }

  /** The same, but not what captured commands have used before. */
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

  /** Gives a block back. */
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

  /** Makes a block longer by its neighbour. */
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

  /** Looks among blocks of about the right size for one that happens to be large enough: better than growing. */
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
    // Pages that nobody touches cost address space alone, so growing generously is cheap and keeps views alive longer.
    const wanted = Math.max(needed, 16, Math.min(pages, 4096));
    const available = this.#maximumPages - pages;
    let added = Math.min(wanted, available);
    if (needed > available || !this.#tryGrow(added) && !(added = needed, this.#tryGrow(added))) {
      const limit = needed <= available ? "and the machine has no more" : this.#limit;
      throw new Error(
        `out of memory: ${formatBytes(byteLength)} were asked for, ${
          formatBytes(this.usedBytes)
        } are in use of ` +
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
      growMemory(this.wasm, pages);
    } catch {
      return false;
    }
    this.#renewViews();
    return true;
  }
}
