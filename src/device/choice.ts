/** Name of a device. `"auto"` selects a hardware GPU, or the CPU if there is no GPU. */
export type DeviceChoice = "auto" | "webgpu" | "cpu";

/** All names of devices. */
export const deviceChoices: readonly DeviceChoice[] = ["auto", "webgpu", "cpu"];
