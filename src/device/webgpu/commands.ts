/**
 * The command queue of a GPU: batches of commands, their parameters, copies from and to the host, and errors.
 */
import { batchError, isOutOfMemory, type LogEntry } from "./batch_error.ts";
import type { Faults } from "./faults.ts";
import { bufferUsage, computeStage } from "./flags.ts";
import { HeldCommands } from "./held_commands.ts";
import type { Kernel } from "./kernel.ts";
import type { CommandQueue, Launch, Region } from "./launch.ts";
import type { CommandRecorder } from "./command_recorder.ts";
import type { BufferPool, GpuMemory } from "./buffer_pool.ts";
import { Readback } from "./readback.ts";
import { operationsPerWord } from "./submission_budget.ts";

/** Number of dispatches after which a batch is submitted, so that the GPU starts early. */
const batchLimit = 256;

/** Bytes of parameters and small uploads of a batch. */
const arenaSize = 256 * 1024;

/** Maximum bytes of an upload that is stored with the parameters. */
const smallUpload = 16 * 1024;

/** Bytes of the uniform binding of a kernel's parameters. Longer parameters use a multiple. */
const paramsGranularity = 256;

/** Waits for a promise of WebGPU. */
export type Wait = <T>(promise: Promise<T>) => Promise<T>;

/**
 * Records commands and submits them in batches. The parameters of all dispatches of a batch are in one
 * uniform buffer, which one transfer fills before the submission. A dispatch selects its parameters by a
 * dynamic offset.
 */
export class Commands implements CommandQueue {
  readonly #device: GPUDevice;
  readonly #pool: BufferPool;
  readonly #faults: Faults;
  /** Advice that is appended to error messages. */
  readonly #hint: string;
  readonly #wait: Wait;
  readonly #budget: number;

  readonly #arena = new Uint32Array(arenaSize / 4);
  readonly #arenaBuffer: GPUBuffer;
  readonly #alignment: number;
  #arenaUsed = 0;
  readonly #paramsGroups = new Map<number, GPUBindGroup>();
  readonly #bindGroups = new Map<string, GPUBindGroup>();

  #batch = 0;
  #waits = 0;
  #uploaded = 0;
  #isOpen = false;
  /** Operations of the batch, and the most operations of a batch so far. */
  #operations = 0;
  #mostOperations = 0;
  #encoder: GPUCommandEncoder | undefined;
  #pass: GPUComputePassEncoder | undefined;
  #kernel: Kernel | undefined;
  /** Whether the GPU ran out of memory, so that no idle memory is kept. */
  #isShort = false;
  #log: LogEntry[] = [];
  /** Error scopes of submitted batches. */
  readonly #settling = new Set<Promise<void>>();

  readonly #readback: Readback;
  readonly #held = new HeldCommands((commands) => this.#runHeld(commands));
  #flushScheduled = false;
  /** Recorder of the current capture. */
  captured: CommandRecorder | undefined;

  /** Returns the position for the timestamps of the next pass. */
  #timestamps: (() => GPUComputePassTimestampWrites | undefined) | undefined;

  /** Layout of the bind group of the parameters: group 1 of every kernel. */
  readonly paramsLayout: GPUBindGroupLayout;

  /** @param budget Maximum operations of a batch. */
  constructor(
    device: GPUDevice,
    pool: BufferPool,
    faults: Faults,
    { hint, wait, budget }: { hint: string; wait: Wait; budget: number },
  ) {
    this.#device = device;
    this.#pool = pool;
    this.#readback = new Readback(device);
    this.#faults = faults;
    this.#hint = hint;
    this.#wait = wait;
    this.#budget = budget;
    this.#alignment = device.limits.minUniformBufferOffsetAlignment;
    this.#arenaBuffer = device.createBuffer({
      label: "parameters",
      size: arenaSize + device.limits.maxUniformBufferBindingSize,
      usage: bufferUsage.UNIFORM | bufferUsage.COPY_SRC | bufferUsage.COPY_DST,
    });
    this.paramsLayout = device.createBindGroupLayout({
      entries: [{
        binding: 0,
        visibility: computeStage,
        buffer: { type: "uniform", hasDynamicOffset: true },
      }],
    });
  }

  /** Ends the pass. Later passes write timestamps if `timestamps` is given. */
  timePasses(timestamps: (() => GPUComputePassTimestampWrites | undefined) | undefined): void {
    if (this.#held.mustHold()) return this.#held.add(() => this.timePasses(timestamps));
    this.#endPass();
    this.#timestamps = timestamps;
  }

  /** Number of batches submitted so far. */
  get submitted(): number {
    return this.#batch;
  }

  /** The most operations of a batch so far. */
  get mostOperations(): number {
    return this.#mostOperations;
  }

  /** Number of waits for the GPU so far. Each takes at least 10 ms in Deno's WebGPU. */
  get waits(): number {
    return this.#waits + this.#readback.waits;
  }

  /** Bytes uploaded to the GPU so far. */
  get uploaded(): number {
    return this.#uploaded;
  }

  /** Starts a batch: errors from now on belong to it. */
  beginBatch(): void {
    if (this.#isOpen) return;
    this.#faults.checkLost();
    this.#isOpen = true;
    for (const filter of ["validation", "out-of-memory", "internal"] as const) {
      this.#device.pushErrorScope(filter);
    }
  }

  /** Queues a kernel, as several dispatches if it exceeds the budget of a submission. */
  dispatch(launch: Launch): void {
    this.captured?.dispatch(launch);
    if (this.#held.mustHold(launch.kernel)) {
      const copied = { ...launch, words: Float64Array.from(launch.words) };
      return this.#held.add(() => this.dispatch(copied));
    }
    const { workgroups, operations } = launch;
    const part = Math.max(1, Math.floor(workgroups * this.#budget / operations));
    for (let first = 0; first < workgroups; first += part) {
      this.#dispatch(launch, first, Math.min(part, workgroups - first));
    }
  }

  /** Queues a dispatch of some workgroups of a kernel. */
  #dispatch(launch: Launch, first: number, count: number): void {
    const { kernel, buffers, words, workgroups, shapes } = launch;
    this.#spend(launch.operations * count / workgroups);
    this.beginBatch();
    const length = words.length + 2;
    const size = Math.ceil(length * 4 / paramsGranularity) * paramsGranularity;
    const offset = this.#reserve(length * 4);
    this.#arena.set(words, offset / 4);
    this.#arena.set([first, workgroups], offset / 4 + words.length);
    const group = this.#bindGroup(kernel, buffers);
    for (const memory of buffers) memory.batch = this.#batch;
    const pass = this.#pass ??= this.#beginPass();
    if (this.#kernel !== kernel) pass.setPipeline((this.#kernel = kernel).pipeline!);
    pass.setBindGroup(0, group);
    pass.setBindGroup(1, this.#paramsGroup(size), [offset]);
    pass.dispatchWorkgroups(count);
    if (this.#log.push([kernel, shapes]) >= batchLimit) this.flush();
  }

  /** Writes bytes to the start of a buffer, after the commands queued so far. */
  write(memory: GpuMemory, bytes: Uint8Array<ArrayBuffer>): void {
    if (bytes.byteLength === 0) return;
    this.#uploaded += bytes.byteLength;
    this.captured?.write(memory, bytes.slice());
    if (this.#held.mustHold()) {
      const copied = bytes.slice();
      return this.#held.add(() => this.#write(memory, copied));
    }
    this.#write(memory, bytes);
  }

  #write(memory: GpuMemory, bytes: Uint8Array<ArrayBuffer>): void {
    this.beginBatch();
    if (memory.batch !== this.#batch) {
      // No queued command uses the memory, so the order does not matter.
      this.#device.queue.writeBuffer(memory.buffer, 0, bytes);
    } else if (bytes.byteLength <= smallUpload) {
      const offset = this.#reserve(bytes.byteLength);
      new Uint8Array(this.#arena.buffer, offset).set(bytes);
      this.#beginCopy().copyBufferToBuffer(this.#arenaBuffer, offset, memory.buffer, 0, bytes.byteLength);
      memory.batch = this.#batch;
    } else {
      this.flush();
      this.#device.queue.writeBuffer(memory.buffer, 0, bytes);
    }
  }

  /** Copies bytes to another buffer, from byte `offset` on. */
  copy({ memory, offset: start, size }: Region, target: GpuMemory, offset: number): void {
    if (size === 0) return;
    this.captured?.copy({ memory, offset: start, size }, target, offset);
    if (this.#held.mustHold()) {
      return this.#held.add(() => this.copy({ memory, offset: start, size }, target, offset));
    }
    this.#spend(operationsPerWord * size / 4);
    this.beginBatch();
    this.#beginCopy().copyBufferToBuffer(memory.buffer, start, target.buffer, offset, size);
    memory.batch = target.batch = this.#batch;
  }

  /** Reads bytes after the commands queued so far. Reads of one turn of the event loop share a transfer. */
  async read(regions: readonly Region[]): Promise<ArrayBuffer[]> {
    const ticket = this.#faults.draw();
    this.beginBatch();
    const start = () => Promise.all(this.#startReading(regions));
    const copies = this.#held.mustHold() ? this.#held.after(start) : start();
    const values = await this.#wait(copies).catch(async (error: Error) => {
      // The error of a lost device or a failed batch is more precise, but can arrive later.
      await Promise.race([this.#device.lost, new Promise((resolve) => setTimeout(resolve, 100))]);
      await this.#settle(ticket);
      throw new Error(`reading from the GPU failed: ${error.message}\n${this.#hint}`, { cause: error });
    });
    await this.#settle(ticket);
    return values;
  }

  #startReading(regions: readonly Region[]): (ArrayBuffer | Promise<ArrayBuffer>)[] {
    this.beginBatch();
    const copies = regions.map((region) => region.size === 0 ? new ArrayBuffer(0) : this.#copyOut(region));
    if (!this.#flushScheduled) {
      this.#flushScheduled = true;
      queueMicrotask(() => {
        this.#flushScheduled = false;
        this.flush();
      });
    }
    return copies;
  }

  /**
   * Waits for all queued commands.
   *
   * @throws {Error} The first error of a command.
   */
  async synchronize(): Promise<void> {
    const ticket = this.#faults.draw();
    if (this.#held.mustHold()) await this.#wait(this.#held.after(() => {}));
    this.flush();
    this.#faults.checkLost();
    this.#waits++;
    await this.#wait(this.#device.queue.onSubmittedWorkDone());
    await this.#settle(ticket);
  }

  /** Submits the recorded commands. */
  flush(): void {
    if (this.#held.mustHold()) return this.#held.add(() => this.flush());
    if (!this.#isOpen) return;
    this.#isOpen = false;
    this.#operations = 0;
    const { queue } = this.#device;
    if (this.#arenaUsed > 0) queue.writeBuffer(this.#arenaBuffer, 0, this.#arena, 0, this.#arenaUsed / 4);
    this.#arenaUsed = 0;
    if (this.#encoder) {
      this.#endPass();
      queue.submit([this.#encoder.finish()]);
      this.#encoder = undefined;
    }
    this.#closeScopes();
    this.#readback.deliver();
    this.#log = [];
    this.#batch++;
    if (this.#pool.trim(this.#isShort) || this.#bindGroups.size > 2048) this.#bindGroups.clear();
    this.#isShort = false;
  }

  /** Runs commands that waited for kernels. They have been captured before. */
  #runHeld(commands: readonly (() => void)[]): void {
    const { captured } = this;
    this.captured = undefined;
    for (const command of commands) {
      try {
        command();
      } catch (error) {
        this.#faults.add(error as Error);
      }
    }
    this.captured = captured;
  }

  /** Adds operations to the batch, or to a new batch if they would exceed the budget. */
  #spend(operations: number): void {
    if (this.#operations + operations > this.#budget) this.flush();
    this.#operations += operations;
    this.#mostOperations = Math.max(this.#mostOperations, this.#operations);
  }

  async #settle(ticket: number): Promise<void> {
    await this.#wait(Promise.all(this.#settling));
    this.#faults.check(ticket);
  }

  #closeScopes(): void {
    const log = this.#log;
    const created = this.#pool.takeCreated();
    const scopes = [0, 1, 2].map(() => this.#device.popErrorScope());
    const settled = Promise.all(scopes).then((errors) => {
      const error = errors.find((thrown) => thrown !== null);
      if (!error) return;
      this.#faults.add(batchError(error, log, this.#pool, this.#hint));
      if (!isOutOfMemory(error)) return;
      this.#isShort = true;
      for (const memory of created) memory.suspect = true;
    }, () => {
      // The device is lost. `Faults` has the error.
    }).finally(() => this.#settling.delete(settled));
    this.#settling.add(settled);
  }

  /** Reserves bytes in the arena. Returns the offset in bytes. */
  #reserve(byteLength: number): number {
    const aligned = Math.ceil(byteLength / this.#alignment) * this.#alignment;
    if (this.#arenaUsed + aligned > arenaSize) {
      this.flush();
      this.beginBatch();
    }
    const offset = this.#arenaUsed;
    this.#arenaUsed += aligned;
    return offset;
  }

  #beginPass(): GPUComputePassEncoder {
    this.#encoder ??= this.#device.createCommandEncoder();
    return this.#encoder.beginComputePass({ timestampWrites: this.#timestamps?.() });
  }

  #endPass(): void {
    this.#pass?.end();
    this.#pass = undefined;
    this.#kernel = undefined;
  }

  #beginCopy(): GPUCommandEncoder {
    this.#endPass();
    return this.#encoder ??= this.#device.createCommandEncoder();
  }

  #paramsGroup(size: number): GPUBindGroup {
    let group = this.#paramsGroups.get(size);
    if (!group) {
      group = this.#device.createBindGroup({
        layout: this.paramsLayout,
        entries: [{ binding: 0, resource: { buffer: this.#arenaBuffer, size } }],
      });
      this.#paramsGroups.set(size, group);
    }
    return group;
  }

  /** Bind groups are cached, because a training loop uses the same memory in every step. */
  #bindGroup(kernel: Kernel, buffers: readonly GpuMemory[]): GPUBindGroup {
    let key = kernel.access;
    for (const { id } of buffers) key += `,${id}`;
    let group = this.#bindGroups.get(key);
    if (!group) {
      group = this.#device.createBindGroup({
        layout: kernel.layout,
        entries: buffers.map(({ buffer }, binding) => ({ binding, resource: { buffer } })),
      });
      this.#bindGroups.set(key, group);
    }
    return group;
  }

  #copyOut({ memory, offset, size }: Region): Promise<ArrayBuffer> {
    const { buffer, offset: start, values } = this.#readback.reserve(size);
    this.#beginCopy().copyBufferToBuffer(memory.buffer, offset, buffer, start, size);
    memory.batch = this.#batch;
    return values;
  }
}
