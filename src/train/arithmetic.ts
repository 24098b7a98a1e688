/** What decides the last bits of a training's numbers, as a checkpoint records it. */
import type { DeviceInfo } from "../device/device.ts";
import { isRecord, parseJson } from "../files/json.ts";
import type { ParameterTree } from "../nn/layer.ts";
import { leaves } from "../tensor/tree.ts";
import type { Metadata } from "./checkpoint.ts";

/** The name under which a checkpoint carries the record. */
const arithmeticKey = "weft.arithmetic";

type Arithmetic = DeviceInfo["arithmetic"];

/** The arithmetic of a training: that of the device, and the type of the parameters. */
export function arithmeticOf(device: Pick<DeviceInfo, "arithmetic">, parameters: ParameterTree): Arithmetic {
  const types = new Set(leaves(parameters).map(({ dtype }) => dtype));
  return { ...device.arithmetic, numbers: [...types].sort().join(" and ") };
}

/** The record of an arithmetic, to be saved with a checkpoint. */
export function arithmeticMetadata(arithmetic: Arithmetic): Metadata {
  return { [arithmeticKey]: JSON.stringify(arithmetic) };
}

/**
 * A warning for a training that goes on with other arithmetic than it was saved with.
 *
 * @param file The checkpoint's name, for the message.
 * @param saved The checkpoint's metadata.
 * @returns undefined where nothing differs, or the checkpoint, of an earlier version, has no record.
 */
export function arithmeticWarning(file: string, saved: Metadata, now: Arithmetic): string | undefined {
  const before = parseJson(saved[arithmeticKey] ?? "");
  if (!isArithmetic(before)) return undefined;
  const names = [...new Set([...Object.keys(before), ...Object.keys(now)])];
  const differences = names.filter((name) => before[name] !== now[name])
    .map((name) => `${name}: ${before[name] ?? "none"}, now ${now[name] ?? "none"}`);
  if (differences.length === 0) return undefined;
  return `${file}: saved with other arithmetic (${
    differences.join("; ")
  }); from here on numbers can differ in their last bits ` +
    "from those of an uninterrupted run";
}

function isArithmetic(value: unknown): value is Arithmetic {
  return isRecord(value) && Object.values(value).every((text) => typeof text === "string");
}
