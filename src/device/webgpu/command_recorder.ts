/** Commands that are queued while a capture is open. */
import { Reserve } from "../reserve.ts";
import type { Commands, Region } from "./commands.ts";
import type { Memory } from "./pool.ts";
import type { Entry } from "./recording.ts";

/** An upload, which is needed again only where its memory is written to otherwise. */
interface Upload {
  isNeeded: boolean;
}

/** Memory of captured commands: that of an upload keeps its content, so that it need not be written again. */
class UploadReserve extends Reserve<Memory> {
  readonly uploads = new Map<Memory, Upload>();
  /** Memory that was handed out twice, or that a kernel has written to. */
  readonly used = new Set<Memory>();

  override take(size: number): Memory | undefined {
    const memory = super.take(size);
    if (memory) this.used.add(memory);
    return memory;
  }

  override put(memory: Memory, size: number): boolean {
    const upload = this.uploads.get(memory);
    if (!upload || upload.isNeeded) return super.put(memory, size);
    return this.has(memory);
  }
}

/** Takes up commands in order. */
export class CommandRecorder {
  readonly reserve = new UploadReserve();
  readonly #commands: Commands;
  readonly #list: { readonly queue: () => void; readonly upload?: Upload }[] = [];

  constructor(commands: Commands) {
    this.#commands = commands;
  }

  /** Takes up some other way to queue commands. */
  add(queue: () => void): void {
    this.#list.push({ queue });
  }

  dispatch(entry: Entry): void {
    const { kernel, buffers, words } = entry;
    buffers.forEach((memory, i) => kernel.access[i] === "w" && this.#overwrite(memory));
    const own = { ...entry, words: Float64Array.from(words) };
    this.add(() => this.#commands.dispatch(own));
  }

  copy(region: Region, target: Memory, offset: number): void {
    this.#overwrite(target);
    this.add(() => this.#commands.copy(region, target, offset));
  }

  write(memory: Memory, bytes: Uint8Array<ArrayBuffer>): void {
    const { uploads, used } = this.reserve;
    const upload = { isNeeded: used.has(memory) || uploads.has(memory) || !this.reserve.has(memory) };
    this.#overwrite(memory);
    uploads.set(memory, upload);
    this.#list.push({ queue: () => this.#commands.write(memory, bytes), upload });
  }

  #overwrite(memory: Memory): void {
    const upload = this.reserve.uploads.get(memory);
    if (upload) upload.isNeeded = true;
    this.reserve.used.add(memory);
  }

  /** Commands to be queued at each replay. */
  list(): (() => void)[] {
    return this.#list.filter(({ upload }) => upload?.isNeeded ?? true).map(({ queue }) => queue);
  }
}
