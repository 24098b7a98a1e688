/** Receives the body of a request, within the memory that all clients share. */
import { Buffer } from "node:buffer";
import type { Account } from "../account.ts";
import { tooLarge } from "../predictions/compute.ts";
import type { Limits } from "../limits.ts";
import { RequestError } from "./problem.ts";

/** A received body. It occupies its bytes of the account until it is disposed. */
interface Body extends Disposable {
  /** Content of the body, possibly compressed. */
  readonly bytes: Uint8Array;
}

/**
 * Receives a body.
 *
 * @throws {RequestError} 413 if the body is larger than the limit, 408 if it does not arrive in time, 503 if
 * the memory for clients is exhausted, 400 if the body is truncated.
 */
export async function receiveBody(request: Request, account: Account, limits: Limits): Promise<Body> {
  const encoding = request.headers.get("content-encoding")?.toLowerCase() ?? "identity";
  if (encoding !== "identity" && encoding !== "gzip") {
    throw new RequestError(415, "unsupported content-encoding; expected gzip, or no content-encoding", {
      "accept-encoding": "gzip",
    });
  }
  if (Number(request.headers.get("content-length")) > limits.bodyBytes) throw tooLarge(limits.bodyBytes);
  using parts = new DisposableStack();
  const received = request.body
    ? await collect(request.body, (bytes) => void parts.use(account.take("bodies", bytes)), limits)
    : [];
  const charge = account.take("bodies", received.reduce((sum, { length }) => sum + length, 0));
  return { bytes: Buffer.concat(received), [Symbol.dispose]: () => charge[Symbol.dispose]() };
}

/** Reading fails if the connection ends before the body. */
function cutOff(): never {
  throw new RequestError(400, "the body is cut off");
}

/** Reads all parts of a stream. */
async function collect(
  stream: ReadableStream<Uint8Array<ArrayBuffer>>,
  take: (bytes: number) => void,
  { bodyBytes, bodySeconds }: Limits,
): Promise<Uint8Array<ArrayBuffer>[]> {
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
      if (length > bodyBytes) throw tooLarge(bodyBytes);
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
  return parts;
}
