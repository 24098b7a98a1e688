import type { WebGpuDevice } from "../../../device/webgpu/device.ts";
import type { SpanListener, SpanName } from "../../../device/profiler.ts";
import { readTimestamps } from "../timestamps.ts";
import type { ProfileSpan, SpanRecorder } from "./span_recorder.ts";

/** Maximum timestamps of a query set in WebGPU. */
const setSize = 4096;

/** Spans of a GPU, from its timestamps at the start and the end of each pass. A pass contains the commands of one span. */
export class GpuSpans implements SpanListener, SpanRecorder {
  readonly measuresHost = false;
  readonly clock: "gpu timestamps" | "none";
  readonly rest = "the rest: idle GPU, and commands outside of passes";
  #sets: GPUQuerySet[] = [];
  /** The innermost span of each timed pass. */
  #passes: SpanName[] = [];
  readonly #open: SpanName[] = [];

  constructor(readonly device: WebGpuDevice) {
    this.clock = device.gpuDevice.features.has("timestamp-query") ? "gpu timestamps" : "none";
  }

  begin(span: SpanName): void {
    this.#open.push(span);
    this.#label(span);
  }

  end(): void {
    this.#open.pop();
    this.#label(this.#open.at(-1));
  }

  #label(span: SpanName | undefined): void {
    if (this.clock === "none") return;
    this.device.timePasses(span && (() => this.#timestamps(span)));
  }

  #timestamps(span: SpanName): GPUComputePassTimestampWrites {
    const index = 2 * this.#passes.length % setSize;
    if (index === 0) {
      this.#sets.push(this.device.gpuDevice.createQuerySet({ type: "timestamp", count: setSize }));
    }
    this.#passes.push(span);
    return {
      querySet: this.#sets.at(-1)!,
      beginningOfPassWriteIndex: index,
      endOfPassWriteIndex: index + 1,
    };
  }

  async take(): Promise<readonly ProfileSpan[]> {
    const [passes, sets] = [this.#passes, this.#sets];
    this.#passes = [];
    this.#sets = [];
    const times: bigint[] = [];
    for (const set of sets) times.push(...await readTimestamps(this.device.gpuDevice, set));
    for (const set of sets) set.destroy();
    const first = times.length > 0 ? times[0] : 0n;
    return passes.map(({ kind, name }, i) => {
      const [begin, end] = [times[2 * i], times[2 * i + 1]];
      const seconds = Math.max(0, Number(end - begin) / 1e9);
      return { kind, name, start: Number(begin - first) / 1e9, seconds, own: seconds };
    });
  }
}
