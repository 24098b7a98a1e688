/** Record of everything that determines the last bits of a training run's numbers, for checkpoints. */
import type { DeviceChoice } from "../../device/choice.ts";
import type { DeviceInfo } from "../../device/device.ts";
import { isRecord, parseJson } from "../../files/json.ts";
import type { ParameterTree } from "../../nn/layer.ts";
import { treeLeaves } from "../../tensor/tree.ts";
import type { Metadata } from "./checkpoint.ts";

/** Metadata key of the record in a checkpoint. */
const arithmeticKey = "weft.arithmetic";

type Arithmetic = DeviceInfo["arithmetic"];

/** Arithmetic of a training run: that of the device, and the data type of the parameters. */
export function arithmeticOf(device: Pick<DeviceInfo, "arithmetic">, parameters: ParameterTree): Arithmetic {
  const types = new Set(treeLeaves(parameters).map(({ dtype }) => dtype));
  return { ...device.arithmetic, numbers: [...types].sort().join(" and ") };
}

/** The kind of the device that trained saved weights. Undefined for weights from earlier versions. */
export function trainedOn(saved: Metadata): string | undefined {
  const arithmetic = parseJson(saved[arithmeticKey] ?? "");
  return isArithmetic(arithmetic) ? arithmetic.device : undefined;
}

/** The device of a run whose weights exist: `"auto"` keeps the CPU if it trained them. */
export function keptDevice(device: DeviceChoice, trainedOn: string | undefined): DeviceChoice {
  return device === "auto" && trainedOn === "cpu" ? "cpu" : device;
}

/** Metadata with the arithmetic, for a checkpoint. */
export function arithmeticMetadata(arithmetic: Arithmetic): Metadata {
  return { [arithmeticKey]: JSON.stringify(arithmetic) };
}

/**
 * Returns a warning if training resumes with an arithmetic that differs from that of the checkpoint.
 *
 * @param file Name of the checkpoint, for the message.
 * @param saved Metadata of the checkpoint.
 * @returns Undefined if nothing differs, or if the checkpoint is from an earlier version without this record.
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
