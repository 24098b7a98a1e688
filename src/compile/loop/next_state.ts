/** Checks of the state that a loop's body returns. */
import { formatShape, sameShape, ShapeError } from "../../device/shape.ts";
import { Tensor } from "../../tensor/tensor.ts";
import { entries, treeFlatten } from "../../tensor/tree.ts";

/**
 * The tensors of the state that a body returns, in the order of the given state.
 *
 * @throws {ShapeError} If the states differ in structure, or their tensors in shape or type.
 * @throws {TypeError} If anything else in the states differs: only tensors can change in a compiled loop.
 */
export function nextStateTensors(state: unknown, returned: unknown, operation = "scan"): Tensor[] {
  const expected = treeFlatten(state);
  const returnedTensors = new Map(treeFlatten(returned));
  const next = expected.flatMap(([path, x]) => {
    const y = returnedTensors.get(path);
    return y && sameShape(x.shape, y.shape) && x.dtype === y.dtype ? [y] : [];
  });
  if (next.length !== expected.length || next.length !== returnedTensors.size) {
    throw new ShapeError(
      `${operation}: the body must return a state with the structure, shapes and types of its argument: ${
        listOf(state)
      }, got ${listOf(returned)}`,
    );
  }
  checkOthers(state, returned, operation);
  return next;
}

function listOf(state: unknown): string {
  const list = treeFlatten(state).map(([path, { dtype, shape }]) =>
    `${path === "" ? "" : `${path}: `}${dtype} ${formatShape(shape)}`
  );
  return list.length > 0 ? list.join(", ") : "no tensor";
}

/** @throws {TypeError} If a value that is not a tensor has changed. */
function checkOthers(state: unknown, returned: unknown, operation: string): void {
  const [before, after] = [othersOf(state), othersOf(returned)];
  for (const path of new Set([...before.keys(), ...after.keys()])) {
    const [old, now] = [before.get(path), after.get(path)];
    if (Object.is(old, now)) continue;
    const place = path === "" ? "the state" : `${path} of the state`;
    throw new TypeError(
      `${operation}: the body changes ${place} from ${nameOf(old)} to ${
        nameOf(now)
      }, but only tensors may change ` +
        "from step to step; make it a tensor, as with tensor(0)",
    );
  }
}

/** Values that are neither tensors nor containers, by dotted path. */
function othersOf(state: unknown): Map<string, unknown> {
  return new Map(entries(state).filter(([, value]) => !(value instanceof Tensor)));
}

function nameOf(value: unknown): string {
  return typeof value === "object" && value !== null ? "an object" : String(value);
}
