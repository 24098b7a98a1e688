/** Spans of time while a function is profiled: a stack, to which devices and compiled loops tell what they do. */
import { isCapturing } from "./capture.ts";
import type { Device } from "./device.ts";

/**
 * Kind of span: a compiled loop, a computation for all its steps at once, a matrix product, a copy, any other kernel, or what the
 * host does between kernels.
 */
export type SpanKind = "loop" | "batched pass" | "product" | "copy" | "kernel" | "host";

/** Something that takes time. */
export interface SpanName {
  readonly kind: SpanKind;
  readonly name: string;
}

/** Takes up the beginning and the end of spans, which lie inside one another. */
export interface SpanListener {
  readonly device: Device;
  /** Whether it measures the host, and not the device alone. */
  readonly measuresHost: boolean;
  begin(span: SpanName): void;
  end(): void;
}

let listener: SpanListener | undefined;

/** Whether a function is being profiled on a device. */
export function isProfiling(): boolean {
  return listener !== undefined;
}

/** Runs `body` with a listener; before, spans cost nothing but a look whether there is one. */
export async function listenToSpans<T>(to: SpanListener, body: () => Promise<T>): Promise<T> {
  if (listener) throw new Error("profile: another function is being profiled; await its profile first");
  listener = to;
  try {
    return await body();
  } finally {
    listener = undefined;
  }
}

/** Runs `body` as a span. Commands that are captured meanwhile tell of it when they are played again. */
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

/** Runs `body`, work of the host, as a span. What is captured does it no more when it is played again. */
export function hostSpan<T>(name: string, body: () => T): T {
  if (!listener?.measuresHost || isCapturing()) return body();
  listener.begin({ kind: "host", name });
  try {
    return body();
  } finally {
    listener?.end();
  }
}
