/** Assignment of the invocations of a workgroup to results that are computed from many elements each. */
import { type Gpu, parallelism, workgroupSize } from "../gpu.ts";

/** A workgroup computes `columns` results, with `lanes` invocations each. */
export interface WorkgroupLayout {
  readonly columns: number;
  readonly lanes: number;
  /** Whether adjacent invocations belong to the same result. */
  readonly lanesFirst: boolean;
}

/** A layout with at least `wanted` lanes, up to the size of a workgroup. */
export function layoutWithLanes(wanted: number, lanesFirst: boolean): WorkgroupLayout {
  const lanes = Math.min(workgroupSize, 2 ** Math.ceil(Math.log2(wanted)));
  return { columns: workgroupSize / lanes, lanes, lanesFirst };
}

/**
 * Chooses a layout for `outputs` results of `length` elements, so that adjacent invocations read adjacent
 * memory.
 */
export function chooseLayout(outputs: number, length: number, lanesFirst: boolean): WorkgroupLayout {
  if (length <= 4) return layoutWithLanes(1, lanesFirst);
  if (lanesFirst) return layoutWithLanes(Math.ceil(length / 4), lanesFirst);
  // Few results occupy a GPU only with several lanes. At least 16 neighbouring results read adjacent memory.
  const wanted = Math.min(Math.ceil(parallelism / outputs), Math.ceil(length / 16));
  return layoutWithLanes(
    Math.max(Math.ceil(workgroupSize / outputs), Math.min(wanted, workgroupSize / 16)),
    lanesFirst,
  );
}

export function layoutCode({ columns, lanes, lanesFirst }: WorkgroupLayout): string {
  const [columnStep, laneStep] = lanesFirst ? [lanes, 1] : [1, columns];
  return `
const columns = ${columns}u;
const lanes = ${lanes}u;
const lane_step = ${laneStep}u;
const invocations = ${workgroupSize}u;
fn column_of(local: u32) -> u32 { return local / ${columnStep}u % columns; }
fn lane_of(local: u32) -> u32 { return local / lane_step % lanes; }
fn blocks_of(results: u32) -> u32 { return (results + columns - 1u) / columns; }
`;
}

/** Number of neighbouring lanes of a result that exchange values by a subgroup; 1 if they use shared memory alone. */
export function subgroupLanes({ lanes, lanesFirst }: WorkgroupLayout, gpu: Gpu): number {
  return lanesFirst ? Math.min(lanes, gpu.subgroupLanes) : 1;
}

/** @param lanes See {@linkcode subgroupLanes}. */
export function subgroupCode(lanes: number): string {
  const shifted = (name: string, type: string) =>
    `fn ${name}(x: ${type}, by: u32) -> ${type} { return ${
      lanes > 1 ? "subgroupShuffleDown(x, by)" : "x"
    }; }`;
  return `
const subgroup_lanes = ${lanes}u;
${shifted("shifted", "Element")}
${shifted("shifted_position", "u32")}
`;
}

export function layoutKey({ lanes, lanesFirst }: WorkgroupLayout): string {
  return `${lanes} ${lanesFirst}`;
}

export function workgroupCount(
  gpu: Gpu,
  { columns }: WorkgroupLayout,
  outputs: number,
  segments = 1,
): number {
  return Math.min(Math.ceil(outputs / columns) * segments, gpu.maxWorkgroups);
}
