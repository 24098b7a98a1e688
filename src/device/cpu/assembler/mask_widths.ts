/** Lane widths of masks: a bool is as wide as the values whose comparison it is. */
import type { Scalar } from "../../scalar/scalar.ts";

/** Width of the lanes of a mask in bits. */
export type MaskWidth = 32 | 64;

/**
 * Lane widths of the masks of bool nodes.
 *
 * @param order Nodes, each after its arguments.
 */
export function maskWidthsOf(order: readonly Scalar[]): ReadonlyMap<Scalar, MaskWidth> {
  const widths = new Map<Scalar, MaskWidth>();
  const common = (nodes: readonly Scalar[]) => nodes.every((node) => widths.get(node) === 64) ? 64 : 32;
  const widthOf = ({ op, args }: Scalar): MaskWidth => {
    switch (op) {
      case "lt":
      case "le":
      case "eq":
      case "isNaN":
        return args[0].type === "float64" ? 64 : args[0].type === "bool" ? common(args) : 32;
      case "and":
      case "or":
      case "xor":
      case "not":
        return common(args);
      case "select":
        return common(args.slice(1));
      default:
        return 32;
    }
  };
  order.forEach((node) => {
    if (node.type === "bool") widths.set(node, widthOf(node));
  });
  return widths;
}
