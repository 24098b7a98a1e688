/** Memory blocks of captured commands. They are not returned to the device until the commands are freed. */
export class Reserve<Block> {
  readonly #blocks = new Set<Block>();
  /** Released blocks by size. */
  readonly #idle = new Map<number, Block[]>();

  /** Returns a released block of a size, or undefined if none is idle. */
  take(size: number): Block | undefined {
    return this.#idle.get(size)?.pop();
  }

  /** Adds a newly allocated block. */
  add(block: Block): void {
    this.#blocks.add(block);
  }

  /** Keeps a released block for reuse. Returns false if the block is not in the reserve. */
  put(block: Block, size: number): boolean {
    if (!this.#blocks.has(block)) return false;
    const idle = this.#idle.get(size);
    if (idle) idle.push(block);
    else this.#idle.set(size, [block]);
    return true;
  }

  /** Whether a block is in the reserve. */
  has(block: Block): boolean {
    return this.#blocks.has(block);
  }

  /** Removes blocks, for example those of results of the captured function. */
  remove(blocks: readonly Block[]): void {
    for (const block of blocks) this.#blocks.delete(block);
  }

  /** All blocks, in use or idle. */
  blocks(): Block[] {
    return [...this.#blocks];
  }
}
