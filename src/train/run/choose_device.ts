/** The device of a run with `device: "auto"` on a machine with a GPU: the CPU or the GPU, by the cost of a training step. */
import { type Plan, planFor } from "../../compile/inspect/planned_gpu.ts";
import { estimatePlan } from "../../compile/inspect/plan_text.ts";
import { operationsOfLoop } from "../../compile/program/cost.ts";
import { isBatchSource, sampleCount, takeSamples } from "../../data/batches.ts";
import { processorThreads } from "../../device/cpu/device.ts";
import type { DeviceChoice as DeviceName } from "../../device/choice.ts";
import { currentDevice, setCurrentDevice } from "../../device/current.ts";
import type { DeviceInfo } from "../../device/device.ts";
import { findHardwareGpu, init } from "../../compile/init.ts";
import { cpuSeconds, type Machine, machineOf, type MachineRates } from "../../device/machines.ts";
import type { WebGpuDevice } from "../../device/webgpu/device.ts";
import { tensor } from "../../tensor/creation.ts";
import { key } from "../../tensor/random.ts";
import { tidy } from "../../tensor/scope.ts";
import { type Tree, treeLeaves } from "../../tensor/tree.ts";
import type { RunConfig } from "./config.ts";
import { gradientOf } from "../split_gradient.ts";
import type { Samples, Task } from "../task.ts";

/** A chosen device, and the reason in a line. */
interface CostChoice {
  readonly kind: DeviceInfo["kind"];
  readonly reason: string;
}

type LearnedTask<Batch extends Tree> = Pick<
  Task<Batch, Samples<Batch>>,
  "data" | "parameters" | "evaluate" | "optimizer" | "weights"
>;

/** A task on the device of a run. */
interface PreparedTask {
  readonly task: Task;
  readonly device: DeviceInfo;
  /** Why `"auto"` chose the device, in a line. Undefined for other choices, and without a GPU. */
  readonly deviceReason?: string;
}

/**
 * Opens the device of a run, and prepares the task on it. For `"auto"` with a hardware GPU, the task is first prepared on the CPU,
 * and again on the GPU if a training step is faster there.
 *
 * @param trainedOn The device that trained the weights of the run so far. `"auto"` keeps it.
 * @param findGpu Finds the GPU of `"auto"`.
 */
export async function prepareOnDevice(
  { device, blas, batchSize }: Pick<RunConfig, "device" | "blas" | "batchSize">,
  prepare: () => Promise<Task> | Task,
  trainedOn?: string,
  findGpu: () => Promise<WebGpuDevice | undefined> = findHardwareGpu,
): Promise<PreparedTask> {
  const gpu = device === "auto" && trainedOn === undefined ? await findGpu() : undefined;
  if (!gpu) {
    const { info } = await init({ device: keptDevice(device, trainedOn), blas });
    return { task: await prepare(), device: info };
  }
  const { info } = await init({ device: "cpu", blas });
  const task = await prepare();
  const { kind, reason } = chooseDevice(task, batchSize, machineOf(gpu));
  if (kind === "cpu") return { task, device: info, deviceReason: reason };
  setCurrentDevice(gpu);
  return { task: await prepare(), device: gpu.info, deviceReason: reason };
}

/** The device of a run whose weights exist: `"auto"` keeps the CPU if it trained them. */
export function keptDevice(device: DeviceName, trainedOn: string | undefined): DeviceName {
  return device === "auto" && trainedOn === "cpu" ? "cpu" : device;
}

/** Batch sizes of the planned steps. A single sample would be planned as a batch of one. */
const plannedSizes = [2, 4] as const;

/**
 * Chooses between the CPU and a GPU. The gradients of two and of four samples are computed on the CPU, and planned for the GPU.
 * Operations grow linearly with the batch size; launches and the latency of loops do not.
 *
 * @param task A task on the CPU.
 * @param threads Threads of the CPU.
 */
export function chooseDevice<Batch extends Tree>(
  task: LearnedTask<Batch>,
  batchSize: number,
  machine: Machine & { readonly rates: MachineRates },
  threads: number = processorThreads(),
): CostChoice {
  if (!task.optimizer) {
    return { kind: "cpu", reason: "CPU: the parameters have a closed form, or the model is not chosen yet" };
  }
  if (treeLeaves(task.parameters).some(({ dtype }) => dtype === "float64")) {
    return { kind: "cpu", reason: "CPU: the parameters are float64" };
  }
  const count = sampleCount(task.data.train);
  const [few, more] = plannedSizes.map((size) => Math.min(size, count));
  const [planOfFew, plan] = [few, more].map((size) => planGradient(task, size, machine));
  const [ofFew, ofMore] = [planOfFew, plan].map(operationsOf);
  const perSample = more > few ? (ofMore - ofFew) / (more - few) : ofMore / more;
  const operations = ofMore + (batchSize - more) * perSample;
  const { loops, kernels, commands: { dispatches } } = plan;
  const { rates } = machine;
  const { loopSeconds, productSeconds, kernelSeconds } = estimatePlan(plan, rates);
  const gpu = Math.max(
    loopSeconds + productSeconds + kernelSeconds,
    dispatches * rates.launch + operations / (rates.arithmetic * rates.products),
  );
  const cpu = cpuSeconds(operations, loops.length + kernels.length, threads);
  const kind = cpu <= gpu ? "cpu" : "webgpu";
  return {
    kind,
    reason: `${kind === "cpu" ? "CPU" : "GPU"}: a step is ${format(operations)}FLOP; by estimate it takes ` +
      `${format(cpu)}s on ${threads} threads and ${
        format(gpu)
      }s in ${dispatches} launches on ${machine.name}`,
  };
}

/** Plans the gradient of the first samples. */
function planGradient<Batch extends Tree>(task: LearnedTask<Batch>, samples: number, machine: Machine): Plan {
  const { train } = task.data;
  const positions = Int32Array.from({ length: samples }, (_, i) => i);
  return planFor(machine, currentDevice(), () =>
    tidy(() => {
      const batch = isBatchSource(train)
        ? train.batch(positions)
        : takeSamples(train, tensor(positions, { dtype: "int32" }));
      gradientOf(task, batch, key(0));
    }));
}

/** Scalar operations of a plan. */
function operationsOf({ loops, kernels }: Plan): number {
  const all = [
    ...loops.map(({ run }) => operationsOfLoop(run)),
    ...kernels.map(({ operations }) => operations),
  ];
  return all.reduce((sum, operations) => sum + operations, 0);
}

/** A number with a prefix of its unit, such as "4.2 M". */
function format(value: number): string {
  const prefixes = ["u", "m", "", "k", "M", "G", "T", "P"];
  const power = Math.max(-2, Math.min(5, Math.floor(Math.log10(Math.max(value, 1e-6)) / 3)));
  return `${+(value / 1000 ** power).toPrecision(2)} ${prefixes[power + 2]}`;
}
