/** Linear recurrences and cumulative sums along an axis. */
import source from "../../../../kernels/linear_recurrence.wgsl" with { type: "text" };
import { type RecurrenceAxes, recurrenceLines } from "../../recurrence.ts";
import { sizeOf } from "../../shape.ts";
import { type Gpu, type MemoryView, parallelism, workgroupSize } from "../gpu.ts";
import { type Binding, kernelSource, storageType } from "../kernel.ts";
import {
  layoutCode,
  layoutKey,
  layoutWithLanes,
  workgroupCount,
  type WorkgroupLayout,
} from "./workgroup_layout.ts";
import { offsetsFunction, offsetsWords } from "./strided.ts";
import { operationsPerWord } from "../submission_budget.ts";

/** Maximum elements that a lane processes at a time. */
const mostPerLane = 16;

/** x[0] = b[0], x[i] = a[i - 1] x[i - 1] + b[i] along an axis; see `DeviceKernels.linearRecurrence`. */
export function linearRecurrence(
  gpu: Gpu,
  a: MemoryView,
  b: MemoryView,
  axes: RecurrenceAxes,
  output: MemoryView,
): void {
  run(gpu, axes.parts === undefined ? "real" : "complex", [a, b, output], axes);
}

/** Cumulative sums along an axis. */
export function cumulativeSum(gpu: Gpu, input: MemoryView, axis: number, output: MemoryView): void {
  run(gpu, "sum", [input, input, output], { axis });
}

type Kind = "real" | "complex" | "sum";

const names = ["a", "b", "x"] as const;

/** @param views a, b and x. A cumulative sum does not read a. */
function run(gpu: Gpu, kind: Kind, views: readonly MemoryView[], axes: RecurrenceAxes): void {
  const output = views[2];
  const isUsed = (name: string) => kind !== "sum" || name !== "a";
  if (sizeOf(output.shape) === 0) return;
  const { lines, length, operands } = recurrenceLines(views, axes);
  const count = sizeOf(lines.shape);
  const layout = chooseLayout(count, length, Math.abs(operands[2].step) === 1);
  for (const [first, end] of gpu.parts(length, count)) {
    gpu.run({
      key: `recurrence ${kind} ${output.dtype} ${lines.shape.length} ${layoutKey(layout)}`,
      source: () => {
        const start = offsetsFunction("line_start", lines.shape.length, views.length);
        const type = storageType(output.dtype);
        const bindings = names.filter(isUsed).map((name): Binding => ({
          ...{ name, type, access: name === "x" ? "read_write" : "read" },
        }));
        const params = names.flatMap((name) => [`${name}_step`, `${name}_imaginary`]);
        const name = kind === "sum" ? "cumsum" : "linearRecurrence";
        const all = ["lines", "first", "end", "per_lane", ...params, ...start.params];
        return kernelSource(name, bindings, all, [
          arithmetic(kind, type),
          start.code,
          layoutCode(layout),
          source,
        ]);
      },
      buffers: views.filter((_, i) => isUsed(names[i])).map(({ memory }) => memory),
      words: [
        ...[
          count,
          first,
          end,
          layout.lanes === 1 ? length : Math.min(mostPerLane, Math.ceil(length / layout.lanes)),
        ],
        ...operands.flatMap(({ step, imaginary }) => [step, imaginary]),
        ...offsetsWords(lines, views.map(({ offset }) => offset)),
      ],
      workgroups: workgroupCount(gpu, layout, count),
      // Two operands, read twice, and the result.
      operations: (kind === "complex" ? 10 : 5) * operationsPerWord * count * (end - first),
      shapes: [output.shape],
    });
  }
}

/**
 * Chooses as many lanes per line as occupy the GPU. If lanes are not adjacent in memory, a workgroup has at
 * least eight neighbouring lines, as far as there are enough.
 */
function chooseLayout(lines: number, length: number, lanesFirst: boolean): WorkgroupLayout {
  const wanted = Math.min(
    Math.ceil(length / mostPerLane),
    Math.ceil(parallelism / lines),
    lanesFirst ? workgroupSize : Math.ceil(workgroupSize / Math.min(8, lines)),
  );
  return layoutWithLanes(wanted, lanesFirst);
}

/** WGSL of the arithmetic. */
function arithmetic(kind: Kind, element: string): string {
  const isComplex = kind === "complex";
  const read = (name: string) =>
    isComplex ? `Number(${name}[place], ${name}[place + params.${name}_imaginary])` : `${name}[place]`;
  return `
alias Number = ${isComplex ? "vec2<f32>" : element};
const zero = Number();
const one = Number(${isComplex ? "1.0, 0.0" : 1});
fn product(a: Number, b: Number) -> Number {
  return ${isComplex ? "Number(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x)" : "a * b"};
}
fn read_a(place: u32) -> Number { return ${kind === "sum" ? "one" : read("a")}; }
fn read_b(place: u32) -> Number { return ${read("b")}; }
fn read_x(place: u32) -> Number { return ${read("x")}; }
fn write_x(place: u32, value: Number) {
  ${isComplex ? "x[place] = value.x;\n  x[place + params.x_imaginary] = value.y;" : "x[place] = value;"}
}
`;
}
