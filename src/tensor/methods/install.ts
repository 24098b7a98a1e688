/** Adds the methods to the class `Tensor`. The class cannot import them: methods import primitives, which import the class. */
import { Tensor } from "../tensor.ts";
import { elementwiseMethods } from "./elementwise.ts";
import "./install_display.ts";
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
