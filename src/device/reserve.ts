import type { DeviceCapture } from "./device.ts";

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

/** Parts of a capture that differ between devices. */
interface CaptureHooks<Block> {
  /** Makes the device send commands and memory to the capture, or stops this. */
  setActive(isActive: boolean): void;
  readonly reserve: Reserve<Block>;
  /** Captured commands. */
  list(): readonly (() => void)[];
  /** Returns a block to the device. */
  release(block: Block): void;
}

/** Begins a capture. */
export function beginCapture<Block>(
  { setActive, reserve, list, release }: CaptureHooks<Block>,
): DeviceCapture {
  setActive(true);
  return {
    pause: () => setActive(false),
    resume: () => setActive(true),
    end(results) {
      setActive(false);
      const commands = list();
      reserve.remove(results as Block[]);
      const blocks = reserve.blocks();
      return {
        play: () => commands.forEach((command) => command()),
        free: () => blocks.splice(0).forEach(release),
      };
    },
  };
}
