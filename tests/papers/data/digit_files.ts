/**
 * Writes a part of an image data set with images of 28 by 28 pixels, like MNIST's, uncompressed. The first
 * two pixels of each image encode its position; the last decimal digit of the position is its label.
 *
 * @returns The content of the image file.
 */
export async function writeDigits(
  folder: string,
  part: string,
  count: number,
): Promise<Uint8Array<ArrayBuffer>> {
  const images = new Uint8Array(16 + count * 784);
  images.set([0, 0, 8, 3, 0, 0, count >> 8, count & 255, 0, 0, 0, 28, 0, 0, 0, 28]);
  for (let i = 0; i < count; i++) images.set([i >> 8, i & 255], 16 + i * 784);
  const labels = Uint8Array.from({ length: 8 + count }, (_, i) => Math.max(0, i - 8) % 10);
  labels.set([0, 0, 8, 1, 0, 0, count >> 8, count & 255]);
  await Deno.writeFile(`${folder}/${part}-images-idx3-ubyte`, images);
  await Deno.writeFile(`${folder}/${part}-labels-idx1-ubyte`, labels);
  return images;
}
