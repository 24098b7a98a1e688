/** Fetching files of gigabytes: to the disk as they come, and on from there after a break. */
import { createHash } from "node:crypto";

/** Choices of {@linkcode fetchFile}. */
export interface FetchOptions {
  /** Hears how many bytes are there, of how many in all where the server tells it. */
  readonly onProgress?: (bytes: number, total: number | undefined) => void;
  /** Number of breaks in a row, without a byte between them, after which it is given up; 4 by default. */
  readonly breaks?: number;
  /** Milliseconds of the first pause after a break, each of which is twice the one before; 1000 by default. */
  readonly pause?: number;
}

/** An error that asking again does not change. */
class Refusal extends Error {}

/**
 * Fetches a file, from the end of what is there of it. Where that does not fit any more, it begins anew.
 *
 * @param part Path of the file that grows.
 * @throws {Error} If the server refuses, or the connection breaks too often; what has come is kept.
 */
export async function fetchFile(url: string, part: string, options: FetchOptions = {}): Promise<void> {
  const { breaks = 4, pause = 1000 } = options;
  for (let broken = 0;;) {
    const before = await sizeOf(part);
    try {
      return await fetchRest(url, part, before, options);
    } catch (error) {
      broken = await sizeOf(part) > before ? 1 : broken + 1;
      if (error instanceof Refusal || broken > breaks) throw error;
      await new Promise((resolve) => setTimeout(resolve, pause * 2 ** (broken - 1)));
    }
  }
}

async function fetchRest(
  url: string,
  part: string,
  there: number,
  { onProgress }: FetchOptions,
): Promise<void> {
  // Ranges are of the bytes as they are sent, so that these must be the file's own.
  const headers: HeadersInit = { "accept-encoding": "identity" };
  if (there > 0) headers.range = `bytes=${there}-`;
  const response = await fetch(url, { headers });
  const [, start, all] =
    /^bytes (?:(\d+)-\d+|\*)\/(\d+)$/.exec(response.headers.get("content-range") ?? "") ?? [];
  if (response.status === 416) {
    await response.body?.cancel();
    if (Number(all) === there) return;
    await Deno.remove(part);
    throw new Error(`what is there of it, ${there} bytes, does not fit`);
  }
  if (!response.ok) {
    await response.body?.cancel();
    const message = `the server answered ${response.status} ${response.statusText}`.trimEnd();
    throw response.status < 500 ? new Refusal(message) : new Error(message);
  }
  const goesOn = response.status === 206 && Number(start) === there;
  if (response.status === 206 && !goesOn) {
    await response.body?.cancel();
    throw new Refusal(`the server sent bytes from ${start} on, expected from ${there}`);
  }
  const length = goesOn ? all : response.headers.get("content-length");
  const total = length ? Number(length) : undefined;
  using file = await Deno.open(part, { write: true, create: true, append: goesOn, truncate: !goesOn });
  let bytes = goesOn ? there : 0;
  for await (const chunk of response.body ?? []) {
    for (let written = 0; written < chunk.length;) written += await file.write(chunk.subarray(written));
    bytes += chunk.length;
    onProgress?.(bytes, total);
  }
  await file.sync();
  if (total !== undefined && bytes !== total) throw new Error(`it ended after ${bytes} of ${total} bytes`);
}

async function sizeOf(path: string): Promise<number> {
  return await Deno.stat(path).then(({ size }) => size, () => 0);
}

/** Digest of a file's content in hexadecimal digits, read piece by piece. */
export async function digestOf(path: string, algorithm: "sha256" | "md5"): Promise<string> {
  const hash = createHash(algorithm);
  using file = await Deno.open(path);
  for await (const chunk of file.readable) hash.update(chunk);
  return hash.digest("hex");
}
