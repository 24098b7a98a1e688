/** How the invocations of a workgroup share results that are each made of many elements. */
import type { Gpu } from "./gpu.ts";

/** Invocations of a workgroup, spread over `columns` results and `lanes` shares of each. */
export interface Spread {
  readonly entryPoint: "serial" | "cooperative";
  readonly columns: number;
  readonly lanes: number;
  /** Whether invocations next to each other take elements of one result. */
  readonly lanesFirst: boolean;
}

/** Chooses a spread for `outputs` results of `length` elements: neighbours in memory go to neighbouring invocations. */
export function spread(gpu: Gpu, outputs: number, length: number, lanesFirst: boolean): Spread {
  const { cooperative, workgroup } = gpu.profile;
  if (!cooperative || length <= 4) return { entryPoint: "serial", columns: workgroup, lanes: 1, lanesFirst };
  const wanted = lanesFirst ? Math.ceil(length / 4) : Math.ceil(workgroup / outputs);
  const lanes = Math.min(workgroup, 2 ** Math.ceil(Math.log2(wanted)));
  return { entryPoint: "cooperative", columns: workgroup / lanes, lanes, lanesFirst };
}

export function spreadText({ columns, lanes, lanesFirst }: Spread): string {
  const [columnStep, laneStep] = lanesFirst ? [lanes, 1] : [1, columns];
  return [
    `const columns = ${columns}u;`,
    `const lanes = ${lanes}u;`,
    `const column_step = ${columnStep}u;`,
    `const lane_step = ${laneStep}u;`,
    `const invocations = ${columns * lanes}u;`,
    "",
  ].join("\n");
}

export function spreadKey({ entryPoint, columns, lanes, lanesFirst }: Spread): string {
  return entryPoint === "serial" ? entryPoint : `${columns} ${lanes} ${lanesFirst}`;
}

export function workgroupsOf(
  gpu: Gpu,
  { entryPoint, columns }: Spread,
  outputs: number,
  segments = 1,
): [workgroups: number] {
  return entryPoint === "serial"
    ? [gpu.workgroupsFor(outputs * segments)]
    : [gpu.workgroupsFor(Math.ceil(outputs / columns) * segments, 1)];
}
