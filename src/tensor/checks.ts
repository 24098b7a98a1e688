/** Checks of arguments. */
import { describe } from "../device/describe.ts";
import { OptionError } from "../device/errors.ts";
import type { Device, KernelDevice } from "../device/device.ts";
import { Tensor } from "./tensor.ts";

/** Rejects values that are not tensors, such as arrays. @param name Name for the message, such as `"Linear: x"`. */
export function checkTensor(name: string, x: unknown): asserts x is Tensor {
  if (x instanceof Tensor) return;
  const actual = x !== null && typeof x === "object" && !Array.isArray(x) ? "object" : describe(x);
  throw new TypeError(`${name} must be a tensor, got ${actual}; convert an array with tensor(...)`);
}

/** Rejects values of an option that are not among `words`. */
export function checkWord(operation: string, option: string, value: unknown, words: readonly string[]): void {
  if (words.includes(value as string)) return;
  const choices = words.map((word) => `"${word}"`).join(", ").replace(/, ([^,]*)$/, " or $1");
  throw new OptionError(
    "invalid-option",
    `${operation}: ${option} is ${describe(value)}, expected ${choices}`,
    {
      option,
      expected: choices,
    },
  );
}

/** Rejects values that are not devices. */
export function checkDevice(operation: string, device: Device): asserts device is KernelDevice {
  if (typeof (device as KernelDevice | undefined)?.allocate === "function") return;
  throw new TypeError(
    `${operation}: the device is ${
      describe(device)
    }, expected a device, as await init({ device: "cpu" }) returns`,
  );
}

/** Rejects values that are not arrays of tensors. */
export function checkTensors(operation: string, tensors: readonly Tensor[]): void {
  if (!Array.isArray(tensors)) {
    throw new TypeError(
      `${operation}: expected an array of tensors, got ${describe(tensors)}; call ${operation}([a, b])`,
    );
  }
  for (let i = 0; i < tensors.length; i++) checkTensor(`${operation}: tensor ${i}`, tensors[i]);
}

/** Rejects values that are not functions. @param name Name for the message, such as `"f"`. */
export function checkFunction(operation: string, name: string, f: unknown): void {
  if (typeof f === "function") return;
  throw new TypeError(`${operation}: ${name} is ${describe(f)}, expected a function`);
}
