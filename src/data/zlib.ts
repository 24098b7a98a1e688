/** Checksums and decompression: those of the platform, or in a browser by streams. */
import { crc32By } from "../platform/crc32.ts";
import { platform } from "../platform/current.ts";
import type { Zlib } from "../platform/platform.ts";

/** By streams. */
export const webZlib: Zlib = { crc32: crc32By(0xedb88320), inflateRaw, gunzip };

export const zlib: Zlib = platform.zlib ?? webZlib;

async function* gunzip(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const { readable, writable } = new DecompressionStream("gzip");
  const [writer, reader] = [writable.getWriter(), readable.getReader()];
  const write = async () => {
    for await (const chunk of chunks) await writer.write(chunk as Uint8Array<ArrayBuffer>);
    await writer.close();
  };
  // Errors of the chunks reach the reader.
  write().catch((error) => writer.abort(error));
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    yield value;
  }
}

async function inflateRaw(bytes: Uint8Array, maxLength: number): Promise<Uint8Array> {
  const stream = new Blob([bytes as Uint8Array<ArrayBuffer>]).stream()
    .pipeThrough(new DecompressionStream("deflate-raw"));
  const chunks: Uint8Array<ArrayBuffer>[] = [];
  let length = 0;
  for await (const chunk of stream) {
    length += chunk.length;
    if (length > maxLength) throw new Error(`more than ${maxLength} bytes`);
    chunks.push(chunk);
  }
  return new Uint8Array(await new Blob(chunks).arrayBuffer());
}
