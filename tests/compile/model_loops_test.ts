/**
 * The loops of every model as fused kernels, against the CPU: with the default limits of WebGPU (8 storage buffers, 16 KiB of
 * workgroup memory), layouts of hardware, and invocations and workgroups in another order.
 */
import { key, normal, valueAndGrad } from "../../mod.ts";
import { adapterOf } from "../../src/compile/executors/wgsl/run_on_webgpu.ts";
import type { CpuDevice } from "../../src/device/cpu/device.ts";
import { setCurrentDevice } from "../../src/device/current.ts";
import { defaultLimits } from "../../bench/plans/machines.ts";
import { openEdited, splitIterations, withHardwareLayouts } from "../device/edited_gpu.ts";
import { inOrder, splitAtBarriers } from "../device/reorder.ts";
import { hardwareOnly, longOnSoftware, testOnBoth } from "../devices.ts";
import { modelCases } from "../models/model_cases.ts";
import { checkLoops, hardwareLayouts } from "./check_loops.ts";

/** A model whose loops compile fast. */
const small = "Recurrent";
/**
 * Models whose loops a software GPU runs with --all: between them, every kind of chain of kernels that the loops of all models have.
 */
const slow = [
  "NeuralCDE with missing values, lengths and the continuous adjoint",
  "NeuralCDE by a reversible method",
  "NeuralODE",
  "LogNCDE",
  "GRUODE",
  "FastWeight of two layers",
  "FastWeightODE, delta",
  "FastWeightCDE, Oja",
  "FastWeightDirectMap",
  "DeltaNet",
  "RecurrentFWP",
  "LatentODERFWP",
  "IrregularGRU",
  "TransformerForecaster",
  "StateSpaceForecaster",
  "WARP, recurrent",
  "WARP, autoregressive",
];
/** Models whose recurrences run as parallel scans, and models without recurrences. */
const withoutLoops = ["Transformer", "S4D", "LRU", "S5", "S6", "Mamba"];

const cases = Object.entries(modelCases).filter(([name]) => !withoutLoops.includes(name));
for (const [i, [name, make]] of cases.entries()) {
  const options = name === small ? {} : slow.includes(name) ? longOnSoftware : hardwareOnly;
  const title = `the loops of ${name} run with default limits, layouts of hardware and another order of work`;
  testOnBoth(title, options, async (cpu) => {
    const edit = (code: string) => inOrder(splitAtBarriers(code), "in shuffled order");
    const device = await openEdited({ limits: defaultLimits, edit });
    try {
      setCurrentDevice(device);
      const { parameters, loss } = make();
      const body = () => void valueAndGrad(() => loss(normal(key(2), [4, 6, 2]), key(3)))(parameters);
      await checkLoops(
        cpu as CpuDevice,
        device,
        () => withHardwareLayouts(device, body),
        { ...adapterOf(device), maxIterations: splitIterations },
        undefined,
        hardwareLayouts(device, i).share,
      );
    } finally {
      device.destroy();
    }
  });
}
