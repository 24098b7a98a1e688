import { displayAs, printAs } from "../../charts/display_symbol.ts";
import { checkFunction } from "../../tensor/checks.ts";
import { bytesPerElement } from "../../device/dtype.ts";
import { type Scalar, topological } from "../../device/scalar/scalar.ts";
import { formatShape, sizeOf } from "../../device/shape.ts";
import { operationsOfLoop, operationsOfStep } from "../program/cost.ts";
import type { Run } from "../executors/run.ts";
import { describeRun } from "./describe_run.ts";
import { type Description, displayDescriptions, textOf } from "./description.ts";
import type { Node } from "../trace/graph.ts";
import { layOut } from "../program/layout.ts";
import { type GraphLoop, observeLoops } from "../loop/graph_loop.ts";
import { type ByKind, byKind, type Kernel, type Operand, type Program } from "../program/program.ts";

/** The result of {@linkcode explain}. `deno jupyter` shows the description of each loop as tables. */
export interface Explanation {
  /** The description, which `console.log` prints. */
  readonly text: string;
  /** The description. */
  toString(): string;
}

/**
 * Describes how a solve runs: for each compiled loop the graph of the body, hoisted values, the kernels of a step, the memory of
 * a sample, arithmetic and memory traffic; on a GPU also the layout: workgroups, lanes in use, barriers, reads of weights.
 * Loops that run step by step are not described.
 *
 * @example
 * ```ts
 * import { explain, odeint, ones } from "@weft/weft";
 *
 * console.log(explain(() => odeint((_t, y) => y.neg(), ones([4, 2]), [0, 1], { method: "rk4", stepSize: 0.1 })));
 * ```
 *
 * @param solve Runs once. Wrap it in `valueAndGrad` to include the loops of its gradient.
 */
export function explain(solve: () => unknown): Explanation {
  checkFunction("explain", "solve", solve);
  const described: Description[] = [];
  observeLoops((loop, run, executor) => {
    const device = run.inputs[0]?.source.device.info.kind ?? "cpu";
    described.push(withLines(describeLoop(loop, run, device), describeRun(executor, run)));
  }, () => void solve());
  return explanationOf(withoutRepetition(described));
}

function explanationOf(descriptions: readonly Description[]): Explanation {
  const text = descriptions.map(textOf).join("\n\n");
  return displayAs(printAs({ text }, () => text), () => displayDescriptions(text, descriptions));
}

/** Adds the lines of a text to a description. */
function withLines({ parts, ...rest }: Description, text: string): Description {
  return { ...rest, parts: [...parts, { lines: text.split("\n") }] };
}

/** Loops in segments of time run many times: equal descriptions are printed once. */
function withoutRepetition(loops: readonly Description[]): Description[] {
  const groups = [...Map.groupBy(loops, textOf).values()];
  if (groups.length === 0) {
    return [withLines({ parts: [] }, "no compiled loop: everything here runs step by step")];
  }
  return groups.map((equal) =>
    equal.length > 1 ? { ...equal[0], title: `${equal.length} times: ${equal[0].title}` } : equal[0]
  );
}

function describeLoop(loop: GraphLoop, run: Run, device: string): Description {
  const { body, outputs, graph: { next, sums, backward } } = loop.hoistedLoop;
  const { program, batch, steps } = run;
  const names = nameNodes(loop);
  const { size } = layOut(program);
  const bytes = bytesPerElement(program.dtype);
  const operations = operationsOfStep(program);
  const traffic = trafficOf(program);
  const listed = (nodes: readonly Node[]) => nodes.map(names).join(", ") || "none";
  return {
    title: `${
      backward ? "backward" : "forward"
    } loop: ${steps} steps of ${batch} samples, ${program.dtype}, on ${device}`,
    parts: [
      {
        title: "before the loop, for all steps at once",
        lines: [...loop.rows].map(([node, tensor]) =>
          `${names(node)} ${formatShape(tensor.shape)}: ${origin(node)}`
        ),
      },
      {
        title: "in every step",
        lines: body.map((node) =>
          `${names(node)} ${formatShape(node.shape)} = ${node.primitive.name}(${
            node.inputs.map(names).join(", ")
          })`
        ),
      },
      {
        lines: [`next state: ${listed(next)}; outputs: ${listed(outputs)}; sums: ${listed(sums)}`, ""],
      },
      {
        title: "kernels of a step, for one sample",
        lines: program.kernels.map((kernel) => byKind(descriptions, kernel)),
      },
      {
        lines: [
          `memory per sample: ${size * bytes} bytes`,
          `arithmetic: ${operations} operations per sample and step, ${
            format(operationsOfLoop(run))
          } in total`,
          `traffic: ${traffic} bytes per sample and step, ${format(traffic * batch * steps)} bytes in total`,
        ],
      },
    ],
  };
}

/** Bytes that a step of one sample reads from rows and writes to outputs. */
function trafficOf({ inputs, outputs, dtype }: Program): number {
  const rows = inputs.filter(({ role, slot }) => role === "row" && slot !== undefined);
  const elements = [...rows.map(({ size }) => size), ...outputs.map(({ shape }) => sizeOf(shape))];
  return bytesPerElement(dtype) * elements.reduce((sum, count) => sum + count, 0);
}

function origin(node: Node): string {
  return node.kind === "operation" ? node.primitive.name : "given";
}

function nameNodes({ hoistedLoop, rows }: GraphLoop): (node: Node) => string {
  const names = new Map<Node, string>();
  hoistedLoop.graph.state.forEach((node, i) => names.set(node, `state${i}`));
  [...rows.keys()].forEach((node, i) => names.has(node) || names.set(node, `row${i}`));
  hoistedLoop.body.forEach((node, i) => names.set(node, `%${i}`));
  return (node) => {
    const name = names.get(node);
    if (name) return name;
    return node.kind === "literal" ? `${node.value}` : `${node.kind} ${formatShape(node.shape)}`;
  };
}

const descriptions: ByKind<Kernel, [], string> = {
  map: ({ output, operands, expression: root }) => `${place(output)} = ${expression(root, operands)}`,
  reduce: ({ output, operands, reduction, axes, expression: root }) =>
    `${place(output)} = ${reduction} over ${axes} of ${expression(root, operands)}`,
  contract: ({ output, operands }) => `${place(output)} = ${operands.map(place).join(" @ ")}`,
  gather: ({ output, operands: [table, indices] }) => `${place(output)} = ${place(table)}[${place(indices)}]`,
  accumulate: ({ gradient, operands }) => `gradient${gradient} += ${operands.map(place).join("^T @ ")}`,
};

function place({ slot, shared, shape }: Operand): string {
  return `${slot === undefined ? `shared${shared}` : `slot${slot}`}${formatShape(shape)}`;
}

/** Maximum characters of a printed subexpression. A value that is read twice is printed twice, so texts can grow exponentially. */
const maxText = 4000;

function expression(root: Scalar, operands: readonly Operand[]): string {
  const texts = new Map<Scalar, string>();
  for (const scalar of topological(root)) {
    const { op, value, args } = scalar;
    if (op === "input") texts.set(scalar, place(operands[value!]));
    else if (op === "constant") texts.set(scalar, `${value}`);
    else {
      const text = `${op}(${args.map((arg) => texts.get(arg)).join(", ")})`;
      texts.set(scalar, text.length > maxText ? `${op}(...)` : text);
    }
  }
  return texts.get(root)!;
}

function format(value: number): string {
  const units = ["", " thousand", " million", " billion", " trillion"];
  const power = Math.min(units.length - 1, Math.max(0, Math.floor(Math.log10(Math.max(1, value)) / 3)));
  return `${(value / 1000 ** power).toPrecision(3)}${units[power]}`;
}
