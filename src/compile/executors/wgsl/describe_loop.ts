/** The layout of a run on a GPU as figures and as text, without running it. */
import type { WebGpuDevice } from "../../../device/webgpu/device.ts";
import { operationsOfStep } from "../../program/cost.ts";
import type { ChainWork, LoopLayout } from "../loop_layout.ts";
import type { Run } from "../run.ts";
import { sizeOfAll } from "./buffer_groups.ts";
import { chooseDispatchSize } from "./dispatch_size.ts";
import { chooseWorkgroup, type WorkgroupShape } from "./choose_workgroup.ts";
import { adapterOf, compile } from "./run_on_webgpu.ts";
import { stepWork } from "./step_work.ts";

/** The layout of a run. */
export function loopLayout(device: WebGpuDevice, run: Run, workgroup?: WorkgroupShape): LoopLayout {
  return layoutAndCode(device, run, workgroup).layout;
}

function layoutAndCode(device: WebGpuDevice, run: Run, workgroup?: WorkgroupShape) {
  const adapter = adapterOf(device);
  const { program, batch } = run;
  const shape = workgroup ?? chooseWorkgroup(program, batch, adapter);
  const { layout, code, perStep } = compile(program, shape, adapter);
  const dispatchSize = chooseDispatchSize(run, layout, adapter);
  const { samples, lanes, local, spilled, word, inputs, outputs, productRows } = layout;
  const work = stepWork(layout);
  const sum = (value: (chain: ChainWork) => number) => work.reduce((total, chain) => total + value(chain), 0);
  const inSteps = [...inputs, ...outputs, productRows].filter(({ rows }) => rows.startsWith("steps"));
  const figures: LoopLayout = {
    samples,
    lanes,
    workgroups: Math.ceil(Math.min(batch, dispatchSize.samples) / samples),
    steps: dispatchSize.steps,
    workgroupMemory: 4 * samples * local.size,
    spilled: 4 * samples * spilled.size,
    ...perStep,
    operations: operationsOfStep(program),
    lanesBusy: lanesBusy(work),
    samplesPerRead: samples,
    weights: layout.inputs.filter(({ rows }) => rows === "shared")
      .reduce((total, { members }) => total + 4 * sizeOfAll(members), 0),
    weightBytes: sum(({ weightBytes }) => weightBytes),
    spilledBytes: sum(({ spilledBytes }) => spilledBytes),
    rowBytes: inSteps.reduce((total, { members }) => total + 4 * sizeOfAll(members), 0),
    work,
  };
  return { layout: figures, code, word, dispatchSize };
}

/** Lanes in use, weighted by operations; by equal weights if a step only copies. */
function lanesBusy(work: readonly ChainWork[]): number {
  const copies = work.every(({ operations }) => operations === 0);
  const [busy, all] = work.reduce(([busy, all], { operations, lanesBusy }) => {
    const weight = copies ? 1 : operations;
    return [busy + weight * lanesBusy, all + weight];
  }, [0, 0]);
  return busy / all;
}

/** A description of the layout, the functions of a step and the shader of a run. */
export function describeOnWebGpu(device: WebGpuDevice, run: Run, workgroup?: WorkgroupShape): string {
  const { layout, code, word, dispatchSize } = layoutAndCode(device, run, workgroup);
  const { samples, lanes, workgroupMemory, spilled, calls, barriers, lanesBusy, work } = layout;
  const percent = (share: number) => `${(100 * share).toFixed(0)} %`;
  return [
    `workgroups of ${samples} samples and ${lanes} invocations per sample; ${workgroupMemory} bytes of ` +
    `workgroup memory, ${spilled} spilled (${word}); dispatches of up to ${dispatchSize.samples} ` +
    `samples and ${dispatchSize.steps} steps`,
    `a step: ${calls} calls of functions, ${barriers} barriers; ${
      percent(lanesBusy)
    } of the lanes are busy, ` +
    `weighted by operations; ${layout.samplesPerRead} samples share a read of a weight; a workgroup reads ` +
    `${layout.weightBytes} bytes of weights; a sample reads and writes ${layout.rowBytes} bytes of rows ` +
    `and ${layout.spilledBytes} bytes of spilled values`,
    "functions of a step, for one sample:",
    ...countEqual(
      work.map(({ name, operations, invocations, lanesBusy, iterations, readsFrom }) =>
        `${name}: ${invocations} of ${lanes} invocations, ${
          percent(lanesBusy)
        } busy, ${iterations} iterations ` +
        `that read ${readsFrom}, ${operations} operations`
      ),
    ),
    "",
    code,
  ].join("\n");
}

/** Lines of a list. A line that occurs several times is printed once, with the count. */
function countEqual(lines: readonly string[]): string[] {
  const counts = new Map<string, number>();
  for (const line of lines) counts.set(line, (counts.get(line) ?? 0) + 1);
  return [...counts].map(([line, times]) => `  ${times > 1 ? `${times} times: ` : ""}${line}`);
}
