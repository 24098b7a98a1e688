/** Name of a device that can be chosen: `"auto"` takes a hardware GPU if there is one, else the CPU. */
export type DeviceChoice = "auto" | "webgpu" | "cpu";

/** All devices that can be chosen. */
export const deviceChoices: readonly DeviceChoice[] = ["auto", "webgpu", "cpu"];
