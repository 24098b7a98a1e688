import { checkDType, isFloat, isRepresentable } from "../../device/dtype.ts";
import { describe } from "../../device/describe.ts";
import { formatShape } from "../../device/shape.ts";
import { applyBroadcast } from "../broadcast.ts";
import { apply } from "../primitive.ts";
import * as elementwise from "../primitives/elementwise.ts";
import { numberTensor, Tensor, type TensorLike } from "../tensor.ts";

/** Methods of {@linkcode Tensor} that compute element by element. */
export const elementwiseMethods = {
  add: binary(elementwise.add),
  sub: binary(elementwise.sub),
  mul: binary(elementwise.mul),
  div: binary(elementwise.div),
  maximum: binary(elementwise.maximum),
  minimum: binary(elementwise.minimum),
  atan2: binary(elementwise.atan2),
  pow(exponent) {
    if (exponent === 0) return this.zerosLike().add(1);
    if (exponent === 1) return this;
    if (exponent === 2) return this.square();
    if (isFloat(this.dtype)) {
      if (exponent === 0.5) return this.sqrt();
      if (exponent === -1) return numberTensor(1, this.dtype).div(this);
    } else if (typeof exponent === "number" && exponent < 0) {
      throw new RangeError(
        `pow: ${this.dtype} to the power ${exponent} is not an integer; convert the tensor with .cast("float32") first`,
      );
    }
    return applyBinary(elementwise.pow, this, exponent);
  },
  clip(low, high) {
    return applyBinary(
      elementwise.minimum,
      applyBinary(elementwise.maximum, this, low, "clip"),
      high,
      "clip",
    );
  },

  neg: unary(elementwise.neg),
  abs: unary(elementwise.abs),
  sign: unary(elementwise.sign),
  floor: unary(elementwise.floor),
  ceil: unary(elementwise.ceil),
  round: unary(elementwise.round),
  square() {
    return this.mul(this);
  },
  sqrt: unary(elementwise.sqrt),
  exp: unary(elementwise.exp),
  log: unary(elementwise.log),
  log1p: unary(elementwise.log1p),
  sin: unary(elementwise.sin),
  cos: unary(elementwise.cos),
  tanh: unary(elementwise.tanh),
  erf: unary(elementwise.erf),
  sigmoid: unary(elementwise.sigmoid),
  relu: unary(elementwise.relu),
  softplus: unary(elementwise.softplus),
  silu() {
    return this.mul(this.sigmoid());
  },
  gelu: unary(elementwise.gelu),

  less: binary(elementwise.less),
  lessEqual: binary(elementwise.lessEqual),
  greater(other) {
    return operandOf("greater", this, other).less(this);
  },
  greaterEqual(other) {
    return operandOf("greaterEqual", this, other).lessEqual(this);
  },
  equal: binary(elementwise.equal),
  notEqual(other) {
    return applyBinary(elementwise.equal, this, other, "notEqual").not();
  },
  isNaN: unary(elementwise.isNaN),
  isFinite: unary(elementwise.isFinite),
  and: binary(elementwise.and),
  or: binary(elementwise.or),
  xor: binary(elementwise.xor),
  not: unary(elementwise.not),

  where(a, b) {
    if (this.dtype !== "bool") throw new TypeError(`where: the condition must be bool, got ${this.dtype}`);
    const typed = a instanceof Tensor ? a : b instanceof Tensor ? b : undefined;
    const [x, y] = [a, b].map((x) => {
      if (typeof x === "number") return numberTensor(x, typed?.dtype ?? "float32");
      if (x instanceof Tensor) return x;
      throw new TypeError(`where: expected a tensor or a number, got ${describe(x)}`);
    });
    if (x.dtype !== y.dtype) {
      throw new TypeError(`where: ${x.dtype} and ${y.dtype} differ in type; convert one with .cast(dtype)`);
    }
    return applyBroadcast(elementwise.where, [this, x, y]);
  },
  cast(dtype) {
    checkDType("cast", dtype);
    return dtype === this.dtype ? this : apply(elementwise.cast(dtype), [this], undefined);
  },
  zerosLike() {
    return numberTensor(0, this.dtype).broadcastTo(this.shape);
  },
} satisfies Partial<Tensor> & ThisType<Tensor>;

function unary(primitive: elementwise.Elementwise) {
  return function (this: Tensor): Tensor {
    return apply(primitive, [this], undefined);
  };
}

function binary(primitive: elementwise.Elementwise) {
  return function (this: Tensor, other: TensorLike): Tensor {
    return applyBinary(primitive, this, other);
  };
}

function applyBinary(
  primitive: elementwise.Elementwise,
  x: Tensor,
  other: TensorLike,
  operation = primitive.name,
): Tensor {
  return applyBroadcast(primitive, [x, operandOf(operation, x, other)]);
}

/** The second operand of an operation: a number in the type of the first. */
function operandOf(name: string, x: Tensor, other: TensorLike): Tensor {
  const { shape, dtype } = x;
  if (other instanceof Tensor) {
    if (other.dtype === dtype) return other;
    throw new TypeError(
      `${name}: ${dtype} ${formatShape(shape)} and ${other.dtype} ${formatShape(other.shape)} ` +
        "differ in type; convert one with .cast(dtype)",
    );
  }
  if (typeof other !== "number") {
    throw new TypeError(
      `${name}: expected a tensor or a number, got ${describe(other)}; convert an array with tensor(...)`,
    );
  }
  if (isRepresentable(other, dtype)) return numberTensor(other, dtype);
  throw new TypeError(
    `${name}: ${other} is not a valid ${dtype}, the type of the tensor of shape ${formatShape(shape)}; ` +
      'convert the tensor with .cast("float32") first',
  );
}
