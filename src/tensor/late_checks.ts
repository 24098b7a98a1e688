/**
 * Checks of values that must be read from a GPU. Nothing waits for the checks. The next `data` or `item` on the same device throws
 * the error of a failed check.
 */
import type { BufferView, KernelDevice } from "../device/device.ts";
import type { TypedArray } from "../device/dtype.ts";

/** Pending checks of a device, and the first error of completed checks. */
interface LateChecks {
  readonly pending: Set<Promise<void>>;
  error?: { readonly reason: unknown };
}

const checksOf = new WeakMap<KernelDevice, LateChecks>();

/**
 * Checks values at once if the device has synchronous reads, else when the values have been read.
 *
 * @param check Throws if something is wrong.
 */
export function checkValues(
  device: KernelDevice,
  view: BufferView,
  check: (values: TypedArray) => void,
): void {
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
 * Waits for the pending checks of a device.
 *
 * @throws The error of the first failed check, once.
 */
export async function awaitChecks(device: KernelDevice): Promise<void> {
  const checks = checksOf.get(device);
  if (!checks) return;
  await Promise.all(checks.pending);
  const { error } = checks;
  checks.error = undefined;
  if (error) throw error.reason;
}
