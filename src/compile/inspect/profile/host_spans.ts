import type { KernelDevice } from "../../../device/device.ts";
import type { SpanListener, SpanName } from "../../../device/profiler.ts";
import type { ProfileSpan, SpanRecorder } from "./span_recorder.ts";

type MutableSpan = { -readonly [K in keyof ProfileSpan]: ProfileSpan[K] };

/** Spans of a device without a queue, measured by the host's clock. */
export class HostSpans implements SpanListener, SpanRecorder {
  readonly clock = "host";
  readonly measuresHost = true;
  readonly rest = "the rest: waiting for the function and the device";
  #spans: MutableSpan[] = [];
  #open: { span: MutableSpan; inside: number }[] = [];
  #start = performance.now();

  constructor(readonly device: KernelDevice) {}

  #now(): number {
    return (performance.now() - this.#start) / 1000;
  }

  begin({ kind, name }: SpanName): void {
    const span = { kind, name, start: 0, seconds: 0, own: 0 };
    this.#spans.push(span);
    this.#open.push({ span, inside: 0 });
    span.start = this.#now();
  }

  end(): void {
    const now = this.#now();
    const { span, inside } = this.#open.pop()!;
    span.seconds = now - span.start;
    span.own = span.seconds - inside;
    const outer = this.#open.at(-1);
    if (outer) outer.inside += span.seconds;
  }

  // deno-lint-ignore require-await
  async take(): Promise<readonly ProfileSpan[]> {
    const spans = this.#spans;
    this.#spans = [];
    this.#open = [];
    this.#start = performance.now();
    return spans;
  }
}
