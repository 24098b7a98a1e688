/** The body of a request, of which no more is taken than there is room for. */
import { Buffer } from "node:buffer";
import { gunzipSync } from "node:zlib";
import type { Limits } from "./limits.ts";
import { busy, RequestError } from "./problem.ts";

/** Room for the bodies that are being received or answered, all together. */
export interface Room {
  /** Bytes that are left. */
  left: number;
}

/** A body that has come, which takes its room until it is disposed of. */
export interface Body extends Disposable {
  /** Its bytes, without a compression. */
  readonly bytes: Uint8Array;
}

/**
 * Receives a body, and unpacks it where it is in gzip.
 *
 * @throws {RequestError} 413 if it is larger than the limit, 408 if it does not come in time, 503 if there is no room for it, 400
 * if it is cut off or damaged.
 */
export async function receiveBody(request: Request, room: Room, limits: Limits): Promise<Body> {
  const tooLarge = () =>
    new RequestError(
      413,
      `a body of more than ${limits.bodyBytes} bytes: send it in parts, some series in each`,
    );
  const encoding = request.headers.get("content-encoding")?.toLowerCase() ?? "identity";
  if (encoding !== "identity" && encoding !== "gzip") {
    throw new RequestError(415, "a content-encoding that is not known; expected gzip, or none", {
      "accept-encoding": "gzip",
    });
  }
  if (Number(request.headers.get("content-length")) > limits.bodyBytes) throw tooLarge();
  let taken = 0;
  const take = (bytes: number) => {
    if (bytes > room.left) {
      throw busy("too many bodies are being received: try again later");
    }
    room.left -= bytes;
    taken += bytes;
  };
  const giveBack = () => {
    room.left += taken;
    taken = 0;
  };
  try {
    const received = request.body ? await collect(request.body, take, tooLarge, limits) : empty;
    const isPacked = received[0] === 0x1f && received[1] === 0x8b;
    if (!isPacked) return { bytes: received, [Symbol.dispose]: giveBack };
    // One body at a time, so that no more than one is unpacked before there is room for it.
    const bytes = new Uint8Array(gunzipSync(received, { maxOutputLength: limits.bodyBytes }));
    take(bytes.length);
    return { bytes, [Symbol.dispose]: giveBack };
  } catch (error) {
    giveBack();
    if (error instanceof RequestError) throw error;
    if (error instanceof RangeError) throw tooLarge();
    throw new RequestError(400, "the body is cut off, or its gzip is damaged");
  }
}

const empty = new Uint8Array();

/** All bytes of a stream. */
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
          new RequestError(408, `the body did not come within ${bodySeconds} s`, { "connection": "close" }),
        ),
      1000 * bodySeconds,
    );
  });
  try {
    for (;;) {
      const { value, done } = await Promise.race([reader.read(), late]);
      if (done) break;
      length += value.length;
      if (length > bodyBytes) throw tooLarge();
      take(value.length);
      parts.push(value);
    }
  } catch (error) {
    // Bytes that come later are not read.
    reader.cancel().catch(() => {});
    throw error;
  } finally {
    clearTimeout(timer);
  }
  return Buffer.concat(parts);
}
