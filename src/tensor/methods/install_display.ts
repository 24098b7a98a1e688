/** Adds the method for notebooks to the class `Tensor`. Bundlers leave the module out of applications for browsers. */
import { displaySymbol } from "../../charts/display_symbol.ts";
import { Tensor } from "../tensor.ts";

Object.defineProperty(Tensor.prototype, displaySymbol, {
  async value(this: Tensor) {
    const { displayTensor } = await import("../display.ts");
    return await displayTensor(this);
  },
  configurable: true,
});
