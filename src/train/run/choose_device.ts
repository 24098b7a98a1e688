/** The device of a run with `device: "auto"` on a machine with a GPU: the one on which training steps take less time. */
import { counted } from "../../charts/format.ts";
import { sampleCount } from "../../data/batches.ts";
import { currentDevice, setCurrentDevice } from "../../device/current.ts";
import type { DeviceInfo } from "../../device/device.ts";
import { findHardwareGpu, init } from "../../compile/init.ts";
import type { WebGpuDevice } from "../../device/webgpu/device.ts";
import { Adam } from "../../optim/adam.ts";
import { key } from "../../tensor/random.ts";
import { tidy } from "../../tensor/scope.ts";
import { treeLeaves } from "../../tensor/tree.ts";
import { stepOf } from "../step.ts";
import type { Task } from "../task.ts";
import { keptDevice } from "./arithmetic.ts";
import type { RunConfig } from "./config.ts";

/** A task on the device of a run. */
interface PreparedTask {
  readonly task: Task;
  readonly device: DeviceInfo;
  /** Why `"auto"` chose the device, in a line. Undefined for other choices, and without a GPU. */
  readonly deviceReason?: string;
}

/** How `"auto"` finds a GPU and measures a training step. */
interface DeviceSearch {
  readonly findGpu?: () => Promise<WebGpuDevice | undefined>;
  /** Seconds of a training step of some samples. */
  readonly secondsOf?: (task: Task, samples: number) => Promise<number>;
}

/**
 * Opens the device of a run, and prepares the task on it. For `"auto"` with a hardware GPU, the task is prepared on the CPU and on
 * the GPU, and some training steps are timed on both.
 *
 * @param trainedOn The device that trained the weights of the run so far. `"auto"` keeps it, and nothing is timed.
 */
export async function prepareOnDevice(
  { device, blas, batchSize }: Pick<RunConfig, "device" | "blas" | "batchSize">,
  prepare: () => Promise<Task> | Task,
  trainedOn?: string,
  { findGpu = findHardwareGpu, secondsOf = timeStep }: DeviceSearch = {},
): Promise<PreparedTask> {
  const gpu = device === "auto" && trainedOn === undefined ? await findGpu() : undefined;
  if (!gpu) {
    const { info } = await init({ device: keptDevice(device, trainedOn), blas });
    return { task: await prepare(), device: info };
  }
  const { info } = await init({ device: "cpu", blas });
  const cpu = currentDevice();
  const task = await prepare();
  const reason = whyOnlyCpu(task);
  if (reason) return { task, device: info, deviceReason: `CPU: ${reason}` };
  const samples = Math.min(batchSize, sampleCount(task.data.train));
  const onCpu = await timeSteps(task, samples, secondsOf);
  const { description } = gpu.info;
  setCurrentDevice(gpu);
  try {
    const gpuTask = await prepare();
    const onGpu = await timeSteps(gpuTask, samples, secondsOf, onCpu);
    const isFaster = onGpu.seconds < onCpu.seconds;
    if (!isFaster) setCurrentDevice(cpu);
    return {
      task: isFaster ? gpuTask : task,
      device: isFaster ? gpu.info : info,
      deviceReason: `${isFaster ? "GPU" : "CPU"}: a training step of ${counted(samples, "sample")} takes ` +
        `${describe(onCpu)} on the CPU and ${describe(onGpu)} on ${description}`,
    };
  } catch (error) {
    // For example, its memory is too small.
    setCurrentDevice(cpu);
    return {
      task,
      device: info,
      deviceReason: `CPU: a training step fails on ${description}: ${(error as Error).message}`,
    };
  }
}

/** Why a task runs on the CPU on every machine. */
function whyOnlyCpu({ optimizer, parameters }: Pick<Task, "optimizer" | "parameters">): string | undefined {
  if (!optimizer) return "the parameters have a closed form, or the model is not chosen yet";
  if (treeLeaves(parameters).some(({ dtype }) => dtype === "float64")) return "the parameters are float64";
}

/** Time of a training step. */
interface StepTime {
  /** Seconds of a step of a whole batch. */
  readonly seconds: number;
  /** Samples of the largest step that was timed. Of fewer than a batch, {@linkcode seconds} is an estimate. */
  readonly timed: number;
  readonly isEstimate: boolean;
}

/** Samples of the first timed steps. A single sample could be computed in another way than a batch. */
const fewSamples = 2;
/** Seconds that the largest timed step may take, by the time of the first, and seconds of its repeats. */
const secondsPerSize = 0.2;
const maxRepeats = 5;
/** Of the timed steps, whose changes are undone. */
const learningRate = 1e-3;

/**
 * Times training steps of a task on its device, and leaves its parameters as they were. Of a batch that would take long, the time is
 * estimated by those of fewer samples: it grows linearly.
 *
 * @param samples Samples of a batch.
 * @param other Time on another device. As many samples are timed here, but no more if few take longer than a whole batch there.
 */
async function timeSteps(
  task: Task,
  samples: number,
  secondsOf: (task: Task, samples: number) => Promise<number>,
  other?: StepTime,
): Promise<StepTime> {
  const parameters = treeLeaves(task.parameters);
  const values = parameters.map((parameter) => parameter.mul(1));
  const few = Math.min(fewSamples, samples);
  const ofFew = await secondsOf(task, few);
  const within = Math.floor(few * secondsPerSize / Math.max(ofFew, 1e-6));
  const isSlower = other !== undefined && ofFew > other.seconds;
  const timed = isSlower ? few : other?.timed ?? Math.max(few, Math.min(samples, within));
  const ofMore = timed > few ? await secondsOf(task, timed) : ofFew;
  parameters.forEach((parameter, i) => parameter.assign(values[i]));
  const perSample = timed > few ? Math.max(0, ofMore - ofFew) / (timed - few) : ofFew / few;
  return { seconds: ofMore + (samples - timed) * perSample, timed, isEstimate: timed < samples };
}

/** Seconds of a training step of some samples: the fastest of some. */
async function timeStep(task: Task, samples: number): Promise<number> {
  const device = currentDevice();
  const step = stepOf({ ...task, optimizer: Adam(task.parameters, { learningRate }) }, { sizes: [samples] });
  const positions = Int32Array.from({ length: samples }, (_, i) => i);
  const run = async () => {
    const start = performance.now();
    tidy(() => void step(positions, key(0), learningRate));
    await device.synchronize();
    return (performance.now() - start) / 1000;
  };
  await run(); // compiles
  const times = [await run()];
  for (let total = times[0]; total < secondsPerSize && times.length < maxRepeats; total += times.at(-1)!) {
    times.push(await run());
  }
  return Math.min(...times);
}

function describe({ seconds, timed, isEstimate }: StepTime): string {
  const time = seconds < 1 ? `${+(1e3 * seconds).toPrecision(2)} ms` : `${+seconds.toPrecision(2)} s`;
  return isEstimate ? `about ${time} (timed with ${timed})` : time;
}
