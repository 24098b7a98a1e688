/**
 * Generates vector code for scalar expressions. Each value is a v128 whose lanes are elements: four lanes, or
 * two if the expression contains float64. With two lanes, values of 32 bits are in the low half of their
 * vectors, and the high half is undefined. A bool is a mask with all bits of a lane zero or one; its lanes
 * are as wide as those of the compared values, and are widened or narrowed where required.
 */
import { type DType, isFloat } from "../../dtype.ts";
import { type Scalar, topological, type Transcendental } from "../../scalar/scalar.ts";
import { type MaskWidth, maskWidthsOf } from "./mask_widths.ts";
import { importHostFunction } from "../runtime/executable.ts";
import { type FunctionBuilder, hasRelaxedSimd, type Local, type ModuleBuilder, type Opcode } from "./wasm.ts";

/** Instructions for `input` and `index` nodes: each pushes a vector of their values. */
interface Leaves {
  /** Words as in memory. A bool is 0 or 1. */
  input(position: number): void;
  index(): void;
}

const vectorTypes: Record<DType, string> = {
  float32: "f32x4",
  float64: "f64x2",
  int32: "i32x4",
  uint32: "i32x4",
  bool: "i32x4",
};

/** Maximum number of nested nodes on the stack. */
const maxDepth = 128;

/** Generates code for an expression, once or several times in a function. */
export class ScalarEmitter {
  /** Elements of a vector. */
  readonly lanes: 2 | 4;
  readonly #f: FunctionBuilder;
  readonly #module: ModuleBuilder;
  readonly #root: Scalar;
  readonly #order: readonly Scalar[];
  readonly #uses = new Map<Scalar, number>();
  readonly #maskWidths: ReadonlyMap<Scalar, MaskWidth>;
  readonly #locals = new Map<Scalar, Local>();
  /** Nodes whose values are currently in local variables. */
  readonly #ready = new Set<Scalar>();
  readonly #uniform: Set<Scalar>;
  /** Nodes to compute before the root, in order, so that no path exceeds {@linkcode maxDepth}. */
  readonly #stops: Scalar[] = [];
  /** Constants in local variables. */
  readonly #constants = new Set<Scalar>();
  #lane: Local | undefined;
  #leaves!: Leaves;

  /** @param uniformInputs Positions of the operands that have the same value for all elements. */
  constructor(module: ModuleBuilder, f: FunctionBuilder, root: Scalar, uniformInputs: ReadonlySet<number>) {
    this.#module = module;
    this.#f = f;
    this.#root = root;
    this.#order = topological(root);
    this.lanes = this.#order.some(({ type }) => type === "float64") ? 2 : 4;
    this.#uniform = new Set();
    this.#order.forEach((node) => {
      node.args.forEach((argument) => this.#uses.set(argument, (this.#uses.get(argument) ?? 0) + 1));
      const uniform = node.op === "input"
        ? uniformInputs.has(node.value!)
        : node.op !== "index" && node.args.every((argument) => this.#uniform.has(argument));
      if (uniform) this.#uniform.add(node);
    });
    this.#maskWidths = maskWidthsOf(this.#order);
    if (this.#order.length > maxDepth) this.#findStops();
  }

  #findStops(): void {
    const depths = new Map<Scalar, number>();
    for (const node of this.#order) {
      const depth = node.args.reduce((deepest, argument) => Math.max(deepest, 1 + depths.get(argument)!), 0);
      if (depth === maxDepth) this.#stops.push(node);
      depths.set(node, depth === maxDepth ? 0 : depth);
    }
  }

  /**
   * Whether the expression has values of 32 bits and float64. V8 takes minutes to find out that it cannot
   * combine the vectors of a large expression with both.
   */
  get mixesWidths(): boolean {
    return this.lanes === 2 && this.#order.some(({ type }) => type !== "float64" && type !== "bool");
  }

  /** Number of operations per element: a measure of the cost. */
  get operations(): number {
    return this.#order.length - this.#uniform.size;
  }

  /**
   * Sets the variables of constants, once before all loops. V8 rebuilds a constant vector from a general
   * register at each use; the variable stays in a vector register, or on the stack.
   */
  emitConstants(): void {
    for (const node of this.#order) {
      if (node.op !== "constant" || node.type === "bool") continue;
      this.#compute(node);
      this.#f.set(this.#local(node));
      this.#ready.add(node);
      this.#constants.add(node);
    }
  }

  /** Computes values that are the same for all elements, once before a loop. */
  emitUniform(leaves: Leaves): void {
    this.#leaves = leaves;
    for (const node of this.#order) {
      if (!this.#uniform.has(node) || this.#constants.has(node)) continue;
      // Keep only values that the loop reads.
      const local = this.#local(node);
      this.#compute(node);
      this.#f.set(local);
      this.#ready.add(node);
    }
  }

  /** Pushes the vector of results. A bool is a mask with lanes of 32 bits. */
  emit(leaves: Leaves): void {
    this.#leaves = leaves;
    for (const node of this.#order) if (!this.#uniform.has(node)) this.#ready.delete(node);
    for (const node of this.#stops) {
      if (this.#ready.has(node)) continue;
      this.#compute(node);
      this.#f.set(this.#local(node));
      this.#ready.add(node);
    }
    if (this.#root.type === "bool") this.#pushMask(this.#root, 32);
    else this.#push(this.#root);
  }

  #local(node: Scalar): Local {
    let local = this.#locals.get(node);
    if (!local) this.#locals.set(node, local = this.#f.local("v128"));
    return local;
  }

  #push(node: Scalar): void {
    if (this.#ready.has(node)) return this.#f.get(this.#local(node));
    this.#compute(node);
    if ((this.#uses.get(node) ?? 0) > 1) {
      this.#f.tee(this.#local(node));
      this.#ready.add(node);
    }
  }

  #pushMask(node: Scalar, width: MaskWidth): void {
    this.#push(node);
    const current = this.#maskWidths.get(node)!;
    if (current === width) return;
    if (width === 64) this.#f.op("i64x2.extend_low_i32x4_s");
    else {
      const lane = this.#scratch();
      this.#f.set(lane);
      this.#f.shuffle32([0, 2, 0, 2], lane, lane);
    }
  }

  #scratch(): Local {
    return this.#lane ??= this.#f.local("v128");
  }

  #pushAll(nodes: readonly Scalar[]): void {
    for (let i = 0; i < nodes.length; i++) this.#push(nodes[i]);
  }

  /** An instruction after its arguments. */
  #instruction(args: readonly Scalar[], name: string): void {
    this.#pushAll(args);
    this.#f.op(name as Opcode);
  }

  #compute(node: Scalar): void {
    const f = this.#f;
    const { op, type, args } = node;
    const vector = vectorTypes[type];
    const unsigned = type === "uint32";
    switch (op) {
      case "constant":
        return this.#constant(type, node.value!);
      case "input":
        this.#leaves.input(node.value!);
        if (type === "bool") f.op("i32x4.neg"); // 1 becomes all ones.
        return;
      case "index":
        return this.#leaves.index();
      case "add":
      case "sub":
      case "mul":
      case "div":
      case "floor":
      case "ceil":
      case "sqrt":
        return this.#instruction(args, `${vector}.${op}`);
      case "round":
        return this.#instruction(args, `${vector}.nearest`);
      case "neg":
        return this.#instruction(args, `${vector}.neg`);
      case "abs":
        return unsigned ? this.#pushAll(args) : this.#instruction(args, `${vector}.abs`);
      case "min":
      case "max":
        if (isFloat(type) && this.#limit(node)) return;
        return this.#instruction(
          args,
          isFloat(type) ? `${vector}.${op}` : `${vector}.${op}_${unsigned ? "u" : "s"}`,
        );
      case "fma":
        if (isFloat(type) && hasRelaxedSimd) return this.#instruction(args, `${vector}.relaxed_madd`);
        this.#push(args[0]);
        this.#push(args[1]);
        f.op(`${vector}.mul` as Opcode);
        this.#push(args[2]);
        return f.op(`${vector}.add` as Opcode);
      case "lt":
      case "le":
      case "eq": {
        const operand = args[0].type;
        if (operand === "bool") {
          const width = this.#maskWidths.get(node)!;
          args.forEach((argument) => this.#pushMask(argument, width));
          return f.op(width === 64 ? "i64x2.eq" : "i32x4.eq");
        }
        this.#pushAll(args);
        const sign = op === "eq" || isFloat(operand) ? "" : operand === "uint32" ? "_u" : "_s";
        return f.op(`${vectorTypes[operand]}.${op}${sign}` as Opcode);
      }
      case "isNaN": {
        const lane = this.#scratch();
        this.#push(args[0]);
        f.tee(lane);
        f.get(lane);
        return f.op(args[0].type === "float64" ? "f64x2.ne" : "f32x4.ne");
      }
      case "and":
      case "or":
      case "xor":
      case "not":
        if (type === "bool") {
          args.forEach((argument) => this.#pushMask(argument, this.#maskWidths.get(node)!));
        } else this.#pushAll(args);
        return f.op(`v128.${op}`);
      case "shl":
      case "shr":
        return this.#shift(node);
      case "select": {
        const [condition, a, b] = args;
        const width = type === "bool" ? this.#maskWidths.get(node)! : type === "float64" ? 64 : 32;
        for (const branch of [a, b]) {
          if (type === "bool") this.#pushMask(branch, width);
          else this.#push(branch);
        }
        this.#pushMask(condition, width);
        // All bits of a lane are equal: one instruction suffices, where general bits need three.
        if (!hasRelaxedSimd) return f.op("v128.bitselect");
        return f.op(width === 64 ? "i64x2.relaxed_laneselect" : "i32x4.relaxed_laneselect");
      }
      case "bitcast":
      case "opaque": // Compilers of WebAssembly do not reorder arithmetic.
        return this.#push(args[0]);
      case "convert":
        return this.#convert(args[0], type);
      case "exp":
      case "log":
      case "log1p":
      case "sin":
      case "cos":
      case "tanh":
      case "erf":
      case "pow":
      case "normalTail":
        return this.#callPerLane(op, args);
    }
  }

  /** Pushes the smaller or larger of a value and a constant. V8's min and max take eight instructions. */
  #limit({ op, type, args }: Scalar): boolean {
    const limit = args.find((argument) => argument.op === "constant");
    const value = limit?.value;
    if (!limit || value === undefined || Number.isNaN(value) || Object.is(value, -0)) return false;
    const f = this.#f;
    const vector = vectorTypes[type];
    // Returns its first argument, including NaN, unless the second is smaller (larger).
    this.#push(args[0] === limit ? args[1] : args[0]);
    this.#push(limit);
    f.op(`${vector}.p${op}` as Opcode);
    if (op === "max" && value === 0) {
      // The larger of -0 and 0 is 0.
      this.#push(limit);
      f.op(`${vector}.add` as Opcode);
    }
    return true;
  }

  #constant(type: DType, value: number): void {
    const f = this.#f;
    if (type === "float32") f.op("f32x4.splat", () => f.f32(value));
    else if (type === "float64") f.op("f64x2.splat", () => f.f64(value));
    else if (type === "bool") f.i32x4(value ? -1 : 0);
    else f.op("i32x4.splat", () => f.i32(value));
  }

  /** Shifts all lanes by a constant, or lane by lane by a variable. */
  #shift({ op, type, args: [value, bits] }: Scalar): void {
    const f = this.#f;
    const suffix = op === "shl" ? "shl" : type === "uint32" ? "shr_u" : "shr_s";
    this.#push(value);
    if (bits.op === "constant") {
      f.i32(bits.value!);
      return f.op(`i32x4.${suffix}`);
    }
    const [a, b] = [f.local("v128"), f.local("v128")];
    f.set(a);
    this.#push(bits);
    f.set(b);
    f.get(a);
    for (let lane = 0; lane < this.lanes; lane++) {
      f.lane("i32x4.extract_lane", lane, a);
      f.lane("i32x4.extract_lane", lane, b);
      f.op(`i32.${suffix}`);
      f.lane("i32x4.replace_lane", lane);
    }
  }

  #convert(from: Scalar, to: DType): void {
    const f = this.#f;
    if (from.type === "bool") {
      this.#pushMask(from, to === "float64" ? 64 : 32);
      this.#constant(to, 1);
      return f.op("v128.and");
    }
    this.#push(from);
    const sign = (type: DType) => type === "uint32" ? "u" : "s";
    switch (to) {
      case "float64":
        return f.op(
          from.type === "float32" ? "f64x2.promote_low_f32x4" : `f64x2.convert_low_i32x4_${sign(from.type)}`,
        );
      case "float32":
        return f.op(
          from.type === "float64" ? "f32x4.demote_f64x2_zero" : `f32x4.convert_i32x4_${sign(from.type)}`,
        );
      case "int32":
      case "uint32":
        if (!isFloat(from.type)) return; // The same 32 bits.
        return f.op(
          from.type === "float64"
            ? `i32x4.trunc_sat_f64x2_${sign(to)}_zero`
            : `i32x4.trunc_sat_f32x4_${sign(to)}`,
        );
      case "bool":
        throw new TypeError("convert to bool is a comparison with zero");
    }
  }

  /** Calls a function of float64 for both lanes. Functions of float32 have been replaced by arithmetic. */
  #callPerLane(name: Transcendental, args: readonly Scalar[]): void {
    const f = this.#f;
    const callee = importHostFunction(this.#module, name, args.length);
    const operands = args.map((argument) => {
      const x = f.local("v128");
      this.#push(argument);
      f.set(x);
      return x;
    });
    for (let lane = 0; lane < this.lanes; lane++) {
      f.call(callee, ...operands.map((x) => () => f.lane("f64x2.extract_lane", lane, x)));
      if (lane === 0) f.op("f64x2.splat");
      else f.lane("f64x2.replace_lane", lane);
    }
  }
}
