import { bufferUsage, mapRead } from "../../device/webgpu/flags.ts";

/** Reads the timestamps of a query set, in nanoseconds. */
export async function readTimestamps(device: GPUDevice, set: GPUQuerySet): Promise<BigUint64Array> {
  const size = 8 * set.count;
  const [resolved, staging] = [
    bufferUsage.QUERY_RESOLVE | bufferUsage.COPY_SRC,
    bufferUsage.MAP_READ | bufferUsage.COPY_DST,
  ].map((usage) => device.createBuffer({ size, usage }));
  const encoder = device.createCommandEncoder();
  encoder.resolveQuerySet(set, 0, set.count, resolved, 0);
  encoder.copyBufferToBuffer(resolved, 0, staging, 0, size);
  device.queue.submit([encoder.finish()]);
  await staging.mapAsync(mapRead);
  const times = new BigUint64Array(staging.getMappedRange().slice(0));
  staging.unmap();
  for (const buffer of [resolved, staging]) buffer.destroy();
  return times;
}
