/** Results that are each made of many elements, shared among the invocations of a workgroup. */
import { type Gpu, workgroupSize } from "./gpu.ts";

/** Invocations of a workgroup, spread over `columns` results and `lanes` shares of each. */
export interface Spread {
  readonly columns: number;
  readonly lanes: number;
  /** Whether invocations next to each other take elements of one result. */
  readonly lanesFirst: boolean;
}

/** Shares each result among at least so many invocations, up to a workgroup. */
export function spreadOver(wanted: number, lanesFirst: boolean): Spread {
  const lanes = Math.min(workgroupSize, 2 ** Math.ceil(Math.log2(wanted)));
  return { columns: workgroupSize / lanes, lanes, lanesFirst };
}

/** Chooses a spread for `outputs` results of `length` elements: neighbours in memory go to neighbouring invocations. */
export function spread(outputs: number, length: number, lanesFirst: boolean): Spread {
  const wanted = lanesFirst ? Math.ceil(length / 4) : Math.ceil(workgroupSize / outputs);
  return spreadOver(length <= 4 ? 1 : wanted, lanesFirst);
}

export function spreadText({ columns, lanes, lanesFirst }: Spread): string {
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

export function spreadKey({ lanes, lanesFirst }: Spread): string {
  return `${lanes} ${lanesFirst}`;
}

export function workgroupsOf(
  gpu: Gpu,
  { columns }: Spread,
  outputs: number,
  segments = 1,
): [workgroups: number] {
  return [Math.min(Math.ceil(outputs / columns) * segments, gpu.maxWorkgroups)];
}
