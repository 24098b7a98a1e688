/**
 * Equal hoisted operations of different stages of a step, such as the slow network of fast weights at the four times of a
 * Runge-Kutta step. A GPU evaluates the stages together, as steps of one operation.
 */
import { isFloat } from "../../device/dtype.ts";
import { instantiate } from "../../device/scalar/scalar.ts";
import { numberText, textOf } from "../../device/scalar/structure_text.ts";
import { applyToBatch } from "../../tensor/batching.ts";
import { concatenate } from "../../tensor/functions.ts";
import { type Batched, isRecording, record, withoutRecording } from "../../tensor/primitive.ts";
import type { Elementwise } from "../../tensor/primitives/elementwise.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { Node, OperationNode } from "../trace/graph.ts";
import { Uncompilable } from "../trace/uncompilable.ts";
import { evaluateAllSteps } from "../trace/vectorize.ts";
import type { HoistedLoop } from "./hoisted_loop.ts";

/** Operations with equal primitives, parameters and shapes, in the order of their stages. */
type Group = readonly Node[];

const groupsOfLoops = new WeakMap<HoistedLoop, readonly Group[]>();

/** The hoisted operations in groups of equal operations of different stages, in an order of evaluation. */
export function groupsOf(loop: HoistedLoop): readonly Group[] {
  let groups = groupsOfLoops.get(loop);
  if (!groups) groupsOfLoops.set(loop, groups = groupStages(loop));
  return groups;
}

/**
 * Orders hoisted nodes so that equal operations of different stages are one list. The inputs of equal operations may differ in
 * scalars that vary, such as the time of a stage, and in members of earlier lists. Other nodes are lists of one node.
 */
function groupStages({ hoisted, fusedChains, varying }: HoistedLoop): readonly Group[] {
  const inputsOf = (node: Node): readonly Node[] => {
    const operation = fusedChains.get(node) ?? node;
    return operation.kind === "operation" ? operation.inputs : [];
  };
  const levels = new Map<Node, number>();
  const levelOf = (node: Node) => levels.get(node) ?? 0;
  const scalars = new Set<Node>();
  const isScalar = (node: Node) =>
    node.shape.length === 0 && (scalars.has(node) || node.kind !== "operation");
  for (const node of hoisted) {
    const inputs = inputsOf(node).filter((input) => varying.has(input));
    const before = Math.max(0, ...inputs.map(levelOf));
    if (node.shape.length === 0 && inputs.every(isScalar)) scalars.add(node);
    levels.set(node, varying.has(node) && !scalars.has(node) ? before + 1 : before);
  }

  const stageOf = new Map<Node, { group: Group; stage: number }>();
  const idOf = numbering();
  /** The text that equal operations share, and the stage and number of stages of the inputs. Undefined without a group. */
  const describe = (node: Node): { text: string; stage?: number; stages?: number } | undefined => {
    const operation = fusedChains.get(node) ?? node;
    if (operation.kind !== "operation" || !varying.has(node) || scalars.has(node)) return undefined;
    let [stage, stages]: (number | undefined)[] = [];
    const inputs: string[] = [];
    for (const input of operation.inputs) {
      const placed = stageOf.get(input);
      if (placed) {
        if (stage !== undefined && (stage !== placed.stage || stages !== placed.group.length)) {
          return undefined;
        }
        [stage, stages] = [placed.stage, placed.group.length];
        inputs.push(`group ${idOf(placed.group)}`);
      } else if (input.kind === "literal") {
        inputs.push(`${numberText(input.value)} ${input.dtype} (${input.shape})`);
      } else if (!varying.has(input)) inputs.push(`${idOf(input)}`);
      else if (isScalar(input)) inputs.push(`scalar ${input.dtype}`);
      else return undefined;
    }
    const { primitive, params, shape, dtype } = operation;
    const { fn } = primitive as Elementwise;
    const types = operation.inputs.map(({ dtype }) => dtype);
    const rule = primitive.lower === "map" ? textOf(instantiate(fn, types)) : `${idOf(primitive)}`;
    return { text: [rule, JSON.stringify(params), shape, dtype, ...inputs].join(" "), stage, stages };
  };

  const ordered: Group[] = hoisted.filter((node) => !varying.has(node)).map((node) => [node]);
  const last = Math.max(0, ...levels.values());
  for (let level = 0; level <= last; level++) {
    const atLevel = hoisted.filter((node) => varying.has(node) && levelOf(node) === level);
    const groups = new Map<string, { members: Node[]; stages?: number }>();
    const alone: Node[] = [];
    for (const node of atLevel) {
      if (scalars.has(node)) continue;
      const description = describe(node);
      if (!description) {
        alone.push(node);
        continue;
      }
      const { text, stage, stages } = description;
      const group = groups.get(text) ?? { members: [], stages };
      groups.set(text, group);
      if (stage === undefined) group.members.push(node);
      else if (group.members[stage]) alone.push(node);
      else group.members[stage] = node;
    }
    for (const { members, stages = members.length } of groups.values()) {
      const present = Object.values(members);
      if (stages < 2 || present.length < stages) alone.push(...present);
      else {
        ordered.push(members);
        members.forEach((node, stage) => stageOf.set(node, { group: members, stage }));
      }
    }
    for (const node of alone) ordered.push([node]);
    for (const node of atLevel) if (scalars.has(node)) ordered.push([node]);
  }
  return ordered;
}

/**
 * Evaluates the hoisted operations of a loop for all steps. A group is evaluated by one operation with as many steps as all stages
 * together.
 *
 * @param values Values of the inputs. The values of the nodes are added.
 */
export function evaluateStages(loop: HoistedLoop, values: Map<Node, Batched>, steps: number): void {
  const { keepsProducts, hoisted, fusedChains } = loop;
  // Where products stay in the loop, the hoisted operations are small.
  if (keepsProducts) return evaluateAllSteps(hoisted, values, steps, fusedChains);
  /** Values of all stages, by the nodes of the stages. */
  const wholes = new Map<string, Tensor>();
  const idOf = numbering();
  const keyOf = (nodes: readonly Node[]) => nodes.map(idOf).join();
  const allStages = (nodes: readonly Node[]): Batched => {
    const value = values.get(nodes[0])!;
    if (!value.varies) return value;
    const key = keyOf(nodes);
    let whole = wholes.get(key);
    if (!whole) wholes.set(key, whole = concatenate(nodes.map((node) => values.get(node)!.tensor)));
    return { tensor: whole, varies: true };
  };
  for (const group of groupsOf(loop)) {
    if (group.length === 1) {
      evaluateAllSteps(group, values, steps, fusedChains);
      continue;
    }
    const operations = group.map((node) => (fusedChains.get(node) ?? node) as OperationNode);
    const [{ primitive, inputs, params, ...result }] = operations;
    const whole = applyToBatch(
      primitive,
      inputs.map((_, i) => allStages(operations.map(({ inputs }) => inputs[i]))),
      steps * group.length,
      params,
      result,
      (reason) => new Uncompilable(reason),
    );
    wholes.set(keyOf(group), whole);
    separate(whole, group.length).forEach((tensor, i) => values.set(group[i], { tensor, varies: true }));
  }
}

/** A function that numbers objects. */
function numbering(): (value: object) => number {
  const numbers = new Map<object, number>();
  return (value) => {
    const number = numbers.get(value) ?? numbers.size;
    numbers.set(value, number);
    return number;
  };
}

/** Views of the values of each stage. Their gradients are concatenated, because gradients of slices would be padded and added. */
function separate(whole: Tensor, stages: number): Tensor[] {
  const steps = whole.shape[0] / stages;
  const parts = withoutRecording(() =>
    Array.from({ length: stages }, (_, i) => whole.slice(0, i * steps, (i + 1) * steps))
  );
  if (isRecording() && isFloat(whole.dtype)) {
    record(
      [whole],
      parts,
      (cotangents) => [concatenate(parts.map((part, i) => cotangents[i] ?? part.zerosLike()))],
    );
  }
  return parts;
}
