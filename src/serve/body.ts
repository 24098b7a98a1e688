/** Receives the body of a request, within a memory budget that all requests share. */
import { Buffer } from "node:buffer";
import { gunzipSync } from "node:zlib";
import type { Limits } from "./limits.ts";
import { busy, RequestError } from "./problem.ts";

/** Memory budget shared by all bodies that are being received or answered. */
export interface BodyBudget {
  /** Free bytes of the budget. */
  free: number;
}

/** A received body. It occupies its bytes of the budget until it is disposed. */
interface Body extends Disposable {
  /** Content of the body, decompressed. */
  readonly bytes: Uint8Array;
}

/**
 * Receives a body, and decompresses it if it is gzip.
 *
 * @throws {RequestError} 413 if the body is larger than the limit, 408 if it does not arrive in time, 503 if
 * the budget is exhausted, 400 if the body is truncated or damaged.
 */
export async function receiveBody(request: Request, bodyBudget: BodyBudget, limits: Limits): Promise<Body> {
  const tooLarge = () =>
    new RequestError(
      413,
      `a body of more than ${limits.bodyBytes} bytes: send it in parts, some series in each`,
    );
  const encoding = request.headers.get("content-encoding")?.toLowerCase() ?? "identity";
  if (encoding !== "identity" && encoding !== "gzip") {
    throw new RequestError(415, "unsupported content-encoding; expected gzip, or no content-encoding", {
      "accept-encoding": "gzip",
    });
  }
  if (Number(request.headers.get("content-length")) > limits.bodyBytes) throw tooLarge();
  let taken = 0;
  const take = (bytes: number) => {
    if (bytes > bodyBudget.free) {
      throw busy("too many bodies are being received: try again later");
    }
    bodyBudget.free -= bytes;
    taken += bytes;
  };
  const giveBack = () => {
    bodyBudget.free += taken;
    taken = 0;
  };
  try {
    const received = request.body ? await collect(request.body, take, tooLarge, limits) : empty;
    const isPacked = received[0] === 0x1f && received[1] === 0x8b;
    if (!isPacked) return { bytes: received, [Symbol.dispose]: giveBack };
    // Synchronous: only one body is decompressed at a time before the budget accounts for its size.
    const bytes = unpacked(received, tooLarge, limits);
    take(bytes.length);
    return { bytes, [Symbol.dispose]: giveBack };
  } catch (error) {
    giveBack();
    throw error;
  }
}

/** Decompresses a gzip body. */
function unpacked(bytes: Uint8Array, tooLarge: () => RequestError, { bodyBytes }: Limits): Uint8Array {
  try {
    return new Uint8Array(gunzipSync(bytes, { maxOutputLength: bodyBytes }));
  } catch (error) {
    const { code = "" } = error as { code?: string };
    if (code === "ERR_BUFFER_TOO_LARGE") throw tooLarge();
    if (code.startsWith("Z_") && code !== "Z_MEM_ERROR") {
      throw new RequestError(400, "the body: gzip is damaged or truncated");
    }
    throw error;
  }
}

const empty = new Uint8Array();

/** Reading fails if the connection ends before the body. */
function cutOff(): never {
  throw new RequestError(400, "the body is cut off");
}

/** Reads all bytes of a stream. */
async function collect(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  take: (bytes: number) => void,
  tooLarge: () => RequestError,
  { bodyBytes, bodySeconds }: Limits,
): Promise<Uint8Array<ArrayBuffer>> {
  const reader = stream.getReader();
  const parts: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () =>
        reject(
          new RequestError(408, `the body did not arrive within ${bodySeconds} s`, { "connection": "close" }),
        ),
      1000 * bodySeconds,
    );
  });
  try {
    for (;;) {
      const { value, done } = await Promise.race([reader.read().catch(cutOff), late]);
      if (done) break;
      length += value.length;
      if (length > bodyBytes) throw tooLarge();
      take(value.length);
      parts.push(value);
    }
  } catch (error) {
    // Ignore bytes that arrive later.
    reader.cancel().catch(() => {});
    throw error;
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(parts);
}
