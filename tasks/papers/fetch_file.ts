/** Downloads large files. Writes them to disk as data arrive, and resumes after an interruption. */
import { createHash } from "node:crypto";

/** Options of {@linkcode fetchFile}. */
export interface FetchOptions {
  /** Called with the number of bytes on disk, and the total if the server reports it. */
  readonly onProgress?: (bytes: number, total: number | undefined) => void;
  /** Number of consecutive interruptions without any new data before giving up, 4 by default. */
  readonly breaks?: number;
  /**
   * Milliseconds of the first pause after an interruption, 1000 by default. Each further pause is twice as
   * long.
   */
  readonly pause?: number;
}

/** An error that a retry cannot fix. */
class Refusal extends Error {}

/**
 * Downloads a file, resuming after the bytes that exist. If those bytes are outdated, it starts over.
 *
 * @param part Path of the partial file.
 * @throws {Error} If the server rejects the request, or the connection is interrupted too often. Received
 * data are kept.
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
  // Byte ranges refer to the transferred bytes, so the transfer must not be compressed.
  const headers: HeadersInit = { "accept-encoding": "identity" };
  if (there > 0) headers.range = `bytes=${there}-`;
  const response = await fetch(url, { headers });
  const [, start, all] =
    /^bytes (?:(\d+)-\d+|\*)\/(\d+)$/.exec(response.headers.get("content-range") ?? "") ?? [];
  if (response.status === 416) {
    await response.body?.cancel();
    if (Number(all) === there) return;
    await Deno.remove(part);
    throw new Error(`the partial file of ${there} bytes does not match the download and was removed`);
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

/** Digest of a file's content in hexadecimal digits, computed in chunks. */
export async function digestOf(path: string, algorithm: "sha256" | "md5"): Promise<string> {
  const hash = createHash(algorithm);
  using file = await Deno.open(path);
  for await (const chunk of file.readable) hash.update(chunk);
  return hash.digest("hex");
}
