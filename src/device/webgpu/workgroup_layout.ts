/** Assignment of the invocations of a workgroup to results that are computed from many elements each. */
import { type Gpu, workgroupSize } from "./gpu.ts";

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
  const wanted = lanesFirst ? Math.ceil(length / 4) : Math.ceil(workgroupSize / outputs);
  return layoutWithLanes(length <= 4 ? 1 : wanted, lanesFirst);
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
