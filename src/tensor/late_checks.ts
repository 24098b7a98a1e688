/**
 * Checks of values that a device hands over later. Nothing waits for them: what is wrong is told by the next call that reads values
 * on the same device, `data` or `item`.
 */
import type { BufferView, Device } from "../device/device.ts";
import type { TypedArray } from "../device/dtype.ts";

/** Checks that are under way on a device, and the first error among those that are done. */
interface LateChecks {
  readonly pending: Set<Promise<void>>;
  error?: { readonly reason: unknown };
}

const checksOf = new WeakMap<Device, LateChecks>();

/**
 * Checks values: at once where the device has them, or later.
 *
 * @param check Throws if something is wrong.
 */
export function checkValues(device: Device, view: BufferView, check: (values: TypedArray) => void): void {
  const values = device.readSync?.(view);
  if (values) return check(values);
  const checks: LateChecks = checksOf.get(device) ?? { pending: new Set() };
  checksOf.set(device, checks);
  const pending: Promise<void> = device.read([view])
    .then(([later]) => check(later))
    .catch((reason) => {
      checks.error ??= { reason };
    })
    .finally(() => checks.pending.delete(pending));
  checks.pending.add(pending);
}

/**
 * Waits for the checks that are under way on a device.
 *
 * @throws What the first that failed has thrown, once.
 */
export async function settleChecks(device: Device): Promise<void> {
  const checks = checksOf.get(device);
  if (!checks) return;
  await Promise.all(checks.pending);
  const { error } = checks;
  checks.error = undefined;
  if (error) throw error.reason;
}
