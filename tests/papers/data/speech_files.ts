/** A file of a tar archive: its header and its content, in whole blocks of 512 bytes. */
function tarBlocks(name: string, content: Uint8Array, type = "0"): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(512 * (1 + Math.ceil(content.length / 512)));
  const write = (text: string, at: number) => bytes.set(new TextEncoder().encode(text), at);
  write(name, 0);
  write(content.length.toString(8).padStart(11, "0"), 124);
  write(" ".repeat(8), 148);
  write(type, 156);
  write("ustar", 257);
  write(bytes.reduce((sum, byte) => sum + byte, 0).toString(8).padStart(6, "0") + "\0", 148);
  bytes.set(content, 512);
  return bytes;
}

/** A tar archive, compressed. A name that ends with a slash is a folder. */
export async function tarGz(files: Readonly<Record<string, Uint8Array>>): Promise<Uint8Array<ArrayBuffer>> {
  const blocks = Object.entries(files).map(([name, content]) =>
    tarBlocks(name, content, name.endsWith("/") ? "5" : "0")
  );
  const archive = new Blob([...blocks, new Uint8Array(1024)]);
  return await new Response(archive.stream().pipeThrough(new CompressionStream("gzip"))).bytes();
}

/** A WAV file of 16-bit samples, with a chunk of an odd length before them. */
export function wavFile(samples: Int16Array, { channels = 1 } = {}): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(54 + samples.byteLength);
  const view = new DataView(bytes.buffer);
  const write = (text: string, at: number) => bytes.set(new TextEncoder().encode(text), at);
  write("RIFF", 0);
  view.setUint32(4, bytes.length - 8, true);
  write("WAVEfmt ", 8);
  view.setUint32(16, 16, true);
  [1, channels].forEach((value, i) => view.setUint16(20 + 2 * i, value, true));
  view.setUint32(24, 16000, true);
  view.setUint16(34, 16, true);
  write("LIST", 36);
  view.setUint32(40, 1, true);
  write("data", 46);
  view.setUint32(50, samples.byteLength, true);
  samples.forEach((sample, i) => view.setInt16(54 + 2 * i, sample, true));
  return bytes;
}
