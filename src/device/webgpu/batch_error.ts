/** Errors of batches of commands. */
import { formatShape, type Shape } from "../shape.ts";
import type { BufferPool } from "./buffer_pool.ts";
import type { Kernel } from "./kernel.ts";

/** A dispatch, for messages. */
export type LogEntry = readonly [kernel: Kernel, shapes: readonly Shape[]];

/** The error of a batch, with the kernels that it ran. */
export function batchError(error: GPUError, log: readonly LogEntry[], pool: BufferPool, hint: string): Error {
  const kernels = new Set(log.map(([{ name }, shapes]) => `${name} ${shapes.map(formatShape).join(" ")}`));
  const listed = [...kernels].slice(-8);
  const more = kernels.size > listed.length ? `${kernels.size - listed.length} others, ` : "";
  const where = kernels.size === 0 ? "" : ` in a batch of ${more}${listed.join(", ")}`;
  const { used, total } = pool.bytes;
  const memoryInUse = isOutOfMemory(error)
    ? `; tensors use ${used} bytes, and ${total} bytes are allocated with buffers kept for reuse`
    : "";
  return new Error(`${kindOf(error)}${where}: ${error.message.trim()}${memoryInUse}\n${hint}`);
}

export function isOutOfMemory(error: GPUError): boolean {
  return error.constructor.name === "GPUOutOfMemoryError";
}

function kindOf(error: GPUError): string {
  const names: Record<string, string> = {
    GPUOutOfMemoryError: "the GPU is out of memory",
    GPUInternalError: "the GPU driver failed",
    GPUValidationError: "WebGPU refused a command",
  };
  return names[error.constructor.name] ?? error.constructor.name;
}
