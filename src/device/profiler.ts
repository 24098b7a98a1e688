/** Time spans of a profiled function. Devices and compiled loops report nested spans to a listener. */
import { isCapturing } from "./capture.ts";
import type { KernelDevice } from "./device.ts";

/**
 * Kind of span: a compiled loop, the batched computation of values for all steps of a loop, a matrix product,
 * a copy, another kernel, or work of the host between kernels.
 */
export type SpanKind = "loop" | "batched pass" | "product" | "copy" | "kernel" | "host";

/** Kind and name of a span. */
export interface SpanName {
  readonly kind: SpanKind;
  readonly name: string;
}

/** Receives the start and the end of nested spans. */
export interface SpanListener {
  readonly device: KernelDevice;
  /** Whether spans of the host are reported too. */
  readonly measuresHost: boolean;
  begin(span: SpanName): void;
  end(): void;
}

let listener: SpanListener | undefined;

/** Whether a function is being profiled. */
export function isProfiling(): boolean {
  return listener !== undefined;
}

/** Runs `body` with a listener. Without a listener, a span costs only a check. */
export async function listenToSpans<T>(to: SpanListener, body: () => Promise<T>): Promise<T> {
  if (listener) throw new Error("profile: another function is being profiled; await its profile first");
  listener = to;
  try {
    return await body();
  } finally {
    listener = undefined;
  }
}

/** Runs `body` as a span. Captured commands report the span in each replay. */
export function span<T>(describe: () => SpanName, body: () => T): T {
  if (!listener) return body();
  const { device } = listener;
  const described = describe();
  device.runOnHost(() => listener?.begin(described));
  try {
    return body();
  } finally {
    device.runOnHost(() => listener?.end());
  }
}

/** Runs `body`, work of the host, as a span. Captured commands do not report it in replays. */
export function hostSpan<T>(name: string, body: () => T): T {
  if (!listener?.measuresHost || isCapturing()) return body();
  listener.begin({ kind: "host", name });
  try {
    return body();
  } finally {
    listener?.end();
  }
}
