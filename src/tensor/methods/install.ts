/** Adds the methods to the class `Tensor`. The class cannot import them: methods import primitives, which import the class. */
import { displaySymbol } from "../../charts/display_symbol.ts";
import { Tensor } from "../tensor.ts";
import { elementwiseMethods } from "./elementwise.ts";
import { indexingMethods } from "./indexing.ts";
import { linearAlgebraMethods } from "./linear_algebra.ts";
import { reductionMethods } from "./reduction.ts";
import { sortingMethods } from "./sorting.ts";
import { structuralMethods } from "./structural.ts";
import { valueMethods } from "./values.ts";

const methods: {
  [K in keyof Tensor as Tensor[K] extends (...operands: never[]) => unknown ? K : never]: Tensor[K];
} = {
  ...elementwiseMethods,
  ...reductionMethods,
  ...structuralMethods,
  ...indexingMethods,
  ...linearAlgebraMethods,
  ...sortingMethods,
  ...valueMethods,
};
Object.assign(Tensor.prototype, methods);
// Applications in browsers do not load the code for notebooks.
Object.defineProperty(Tensor.prototype, displaySymbol, {
  async value(this: Tensor) {
    const { displayTensor } = await import("../display.ts");
    return await displayTensor(this);
  },
  configurable: true,
});
