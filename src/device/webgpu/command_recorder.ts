/** Records the commands that are queued during a capture. */
import { Reserve } from "../memory/reserve.ts";
import type { GpuMemory } from "./buffer_pool.ts";
import type { CommandQueue, Launch, Region } from "./launch.ts";

/** An upload. It is repeated in replays only if its memory is overwritten. */
interface Upload {
  isNeeded: boolean;
}

/**
 * Memory of captured commands. The memory of an upload keeps its content, so that replays need not write it
 * again.
 */
class UploadReserve extends Reserve<GpuMemory> {
  readonly uploads = new Map<GpuMemory, Upload>();
  /** Memory that was allocated again after its release, or that a kernel writes: uploads to it must be repeated. */
  readonly used = new Set<GpuMemory>();

  override take(size: number): GpuMemory | undefined {
    const memory = super.take(size);
    if (memory) this.used.add(memory);
    return memory;
  }

  override put(memory: GpuMemory, size: number): boolean {
    const upload = this.uploads.get(memory);
    if (!upload || upload.isNeeded) return super.put(memory, size);
    return this.has(memory);
  }
}

/** Records commands in order. */
export class CommandRecorder {
  readonly reserve = new UploadReserve();
  readonly #queue: CommandQueue;
  readonly #list: { readonly queue: () => void; readonly upload?: Upload }[] = [];

  constructor(queue: CommandQueue) {
    this.#queue = queue;
  }

  /** Records a function that queues commands. */
  add(queue: () => void): void {
    this.#list.push({ queue });
  }

  dispatch(launch: Launch): void {
    const { kernel, buffers, words } = launch;
    buffers.forEach((memory, i) => kernel.access[i] === "w" && this.#overwrite(memory));
    const copied = { ...launch, words: Float64Array.from(words) };
    this.add(() => this.#queue.dispatch(copied));
  }

  copy(region: Region, target: GpuMemory, offset: number): void {
    this.#overwrite(target);
    this.add(() => this.#queue.copy(region, target, offset));
  }

  write(memory: GpuMemory, bytes: Uint8Array<ArrayBuffer>): void {
    const { uploads, used } = this.reserve;
    const upload = { isNeeded: used.has(memory) || uploads.has(memory) || !this.reserve.has(memory) };
    this.#overwrite(memory);
    uploads.set(memory, upload);
    this.#list.push({ queue: () => this.#queue.write(memory, bytes), upload });
  }

  #overwrite(memory: GpuMemory): void {
    const upload = this.reserve.uploads.get(memory);
    if (upload) upload.isNeeded = true;
    this.reserve.used.add(memory);
  }

  /** The commands of a replay. */
  list(): (() => void)[] {
    return this.#list.filter(({ upload }) => upload?.isNeeded ?? true).map(({ queue }) => queue);
  }
}
