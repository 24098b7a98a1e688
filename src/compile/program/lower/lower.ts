/**
 * Lowers the graph of a loop's body, written for a batch, to a program for one sample. If samples do not mix, the first axis
 * of each value consists of one block per sample.
 */
import { isFloat } from "../../../device/dtype.ts";
import { Uncompilable } from "../../trace/uncompilable.ts";
import { fuse } from "../passes/fuse.ts";
import type { Operand } from "../program.ts";
import { Builder } from "./builder.ts";
import { lowerOperation } from "./operations.ts";
import { sumOf } from "./sums.ts";
import type { HoistedLoop } from "../../loop/hoisted_loop.ts";
import type { Lowered } from "./values.ts";

/** @throws {Uncompilable} If samples mix, or an operation has no kernel. */
export function lower(loop: HoistedLoop, batch: number): Lowered {
  const builder = new Builder(loop, batch);
  const { body, outputs, graph: { state, next, sums, backward } } = loop;
  const dtype = state[0].dtype;
  if (dtype !== "float32" && dtype !== "float64") {
    throw new Uncompilable(`the state is ${dtype}, not a float`);
  }
  const other = [...state, ...body].find((node) => isFloat(node.dtype) && node.dtype !== dtype);
  if (other) throw new Uncompilable(`a step computes in ${dtype} and in ${other.dtype}`);
  for (const node of state) {
    const operand = builder.newOperand(builder.perSample(node.shape), node.dtype, true);
    builder.addInput(node, "state", operand.slot);
    builder.values.set(node, { kind: "sample", operand });
  }
  for (const node of body) builder.values.set(node, lowerOperation(builder, node));
  const nextOperands = next.map((node, i) => {
    const operand = builder.contiguous(builder.sample(node));
    // States are overwritten one after another, so a new state must not be read from the slot of another state.
    const isMoved = state.some((other, j) => j !== i && builder.slotOf(other) === operand.slot);
    return isMoved ? builder.copy(operand) : operand;
  });
  const outputOperands: Operand[] = [];
  const stepSums: Operand[] = [];
  const places = outputs.map((node) => {
    const value = builder.value(node);
    if (value.kind === "sum over samples") {
      return { from: "stepSums" as const, position: stepSums.push(builder.contiguous(value.operand)) - 1 };
    }
    return {
      from: "outputs" as const,
      position: outputOperands.push(builder.contiguous(builder.sample(node))) - 1,
    };
  });
  const summed = sums.map((node) => sumOf(builder, node));
  return {
    batch,
    program: fuse({
      dtype,
      slots: builder.slots,
      inputs: builder.inputs,
      kernels: builder.kernels,
      next: nextOperands,
      outputs: outputOperands,
      stepSums,
      sums: builder.sums,
      weightGradients: builder.weightGradients,
      backward,
    }),
    inputs: builder.inputNodes,
    sums: summed,
    outputs: places,
  };
}
