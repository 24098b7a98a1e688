import type { DeviceCapture } from "./capture.ts";

/** Memory that captured commands have taken: it serves them alone until they are given up. */
export class Reserve<Memory> {
  readonly #taken = new Set<Memory>();
  /** Released memory, by size. */
  readonly #idle = new Map<number, Memory[]>();

  /** Memory of a size that was released before, if there is any. */
  take(size: number): Memory | undefined {
    return this.#idle.get(size)?.pop();
  }

  /** Takes up new memory. */
  add(memory: Memory): void {
    this.#taken.add(memory);
  }

  /** Takes back memory that is released; `false` for that of others. */
  put(memory: Memory, size: number): boolean {
    if (!this.#taken.has(memory)) return false;
    const idle = this.#idle.get(size);
    if (idle) idle.push(memory);
    else this.#idle.set(size, [memory]);
    return true;
  }

  /** Whether it has taken up some memory. */
  has(memory: Memory): boolean {
    return this.#taken.has(memory);
  }

  /** All memory but what is `kept`, which belongs to others from now on. */
  allBut(kept: readonly Memory[]): Memory[] {
    for (const memory of kept) this.#taken.delete(memory);
    return [...this.#taken];
  }
}

/** Parts of a capture in which devices differ. */
interface Capturing<Memory> {
  /** Has the device give commands and memory to the capture, or, where it is paused or ended, no longer. */
  divert(isOn: boolean): void;
  /** Memory that the commands take. */
  readonly reserve: Reserve<Memory>;
  /** Commands that were captured. */
  list(): readonly (() => void)[];
  /** Gives memory back to the device. */
  release(memory: Memory): void;
}

/** Begins a capture. */
export function beginCapture<Memory>({ divert, reserve, list, release }: Capturing<Memory>): DeviceCapture {
  divert(true);
  return {
    pause: () => divert(false),
    resume: () => divert(true),
    end(kept) {
      divert(false);
      const commands = list();
      const memories = reserve.allBut(kept as Memory[]);
      return {
        play: () => commands.forEach((command) => command()),
        free: () => memories.splice(0).forEach(release),
      };
    },
  };
}
