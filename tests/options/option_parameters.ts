/** Finds every exported function with an options parameter, from the output of `deno doc --json`. */

/** A type, as `deno doc --json` describes it. */
interface Type {
  readonly kind: string;
  readonly value?: unknown;
}

interface Parameter {
  readonly name?: string;
  readonly kind: string;
  readonly tsType?: Type;
  readonly left?: Parameter;
}

interface Property {
  readonly name: string;
  readonly optional?: boolean;
  readonly tsType?: Type;
}

interface Method {
  readonly name: string;
  readonly params?: readonly Parameter[];
  readonly functionDef?: { readonly params: readonly Parameter[] };
}

interface Definition {
  readonly params?: readonly Parameter[];
  readonly returnType?: Type;
  readonly tsType?: Type;
  readonly extends?: readonly Type[];
  readonly properties?: readonly Property[];
  readonly methods?: readonly Method[];
  readonly callSignatures?: readonly Method[];
  readonly constructors?: readonly Method[];
}

interface Declaration {
  readonly kind: string;
  readonly def?: Definition;
}

/** Declarations of all exported symbols, by name. */
type Exports = ReadonlyMap<string, readonly Declaration[]>;

/** Reads the exports of some modules. */
export async function readExports(modules: readonly string[]): Promise<Exports> {
  const { success, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["doc", "--json", ...modules],
    cwd: new URL("../..", import.meta.url),
  }).output();
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  const { nodes } = JSON.parse(new TextDecoder().decode(stdout)) as {
    nodes: Record<string, { symbols: { name: string; declarations: Declaration[] }[] }>;
  };
  const found = new Map<string, Declaration[]>();
  for (const { symbols } of Object.values(nodes)) {
    for (const { name, declarations } of symbols) {
      if (!found.has(name)) found.set(name, declarations);
    }
  }
  return found;
}

/** Types that wrap the type of options. */
const wrappers = ["Partial", "Pick", "Omit", "Readonly", "Required"];

/** The name and the type parameters of a reference. */
function referenceOf({ kind, value }: Type): { name: string; parameters: readonly Type[] } | undefined {
  if (kind !== "typeRef") return undefined;
  const { typeName, typeParams = [] } = value as { typeName: string; typeParams?: Type[] };
  return { name: typeName, parameters: typeParams };
}

/**
 * The functions with an options parameter: `odeint`, `Tensor.sum`, `new ModelStream`, `NeuralCDE()` for a call of
 * the model that `NeuralCDE` returns, `NeuralCDE().stream` for a method of the model.
 *
 * @param data Types with optional members that are data, not options.
 */
export function functionsWithOptions(exports: Exports, data: ReadonlySet<string>): Set<string> {
  const isOptional = ({ optional }: Property) => optional === true;

  /**
   * Whether a type is an options type: an object type with an optional member, or with the name of an options
   * type.
   */
  const isOptions = (type: Type | undefined): boolean => {
    if (!type) return false;
    const reference = referenceOf(type);
    if (reference) {
      const { name, parameters } = reference;
      if (wrappers.includes(name)) {
        const inner = referenceOf(parameters[0]);
        return isOptions(parameters[0]) || name === "Partial" && !!inner && !data.has(inner.name);
      }
      if (data.has(name)) return false;
      return (exports.get(name) ?? []).some(({ kind, def = {} }) =>
        kind === "interface" &&
          (/(Options|Sizes)$/.test(name) || (def.properties ?? []).some(isOptional)) ||
        kind === "typeAlias" && isOptions(def.tsType)
      );
    }
    if (type.kind === "typeLiteral") {
      const { properties = [], methods = [] } = type.value as Definition;
      return properties.length > 0 && methods.length === 0;
    }
    return (type.kind === "intersection" || type.kind === "union") && (type.value as Type[]).some(isOptions);
  };
  const takesOptions = (parameters: readonly (Parameter | Type)[]) =>
    parameters.some((parameter) => {
      if (!("tsType" in parameter) && !("left" in parameter)) return isOptions(parameter as Type);
      const { left, tsType } = parameter as Parameter;
      return isOptions(tsType ?? left?.tsType);
    });

  const found = new Set<string>();
  const addMethods = (owner: string, { methods = [], callSignatures = [], properties = [] }: Definition) => {
    for (const { name, params, functionDef } of methods) {
      if (takesOptions(params ?? functionDef?.params ?? [])) found.add(`${owner}.${name}`);
    }
    for (const { params = [] } of callSignatures) if (takesOptions(params)) found.add(owner);
    for (const { name, tsType } of properties) {
      const { params = [] } = tsType?.kind === "fnOrConstructor" ? tsType.value as Definition : {};
      if (takesOptions(params)) found.add(`${owner}.${name}`);
    }
  };
  /** Adds calls of a value of a type, for example of a model. */
  const addCalls = (owner: string, type: Type | undefined) => {
    if (!type) return;
    const reference = referenceOf(type);
    if (reference) {
      const { name, parameters } = reference;
      if (name === "Promise") return addCalls(owner, parameters[0]);
      if (name === "Layer") {
        const [given] = parameters;
        if (given.kind === "tuple" && takesOptions(given.value as Type[])) found.add(owner);
        return;
      }
      for (const { kind, def } of exports.get(name) ?? []) {
        if (kind === "typeAlias") addCalls(owner, def!.tsType);
      }
    } else if (type.kind === "intersection") {
      (type.value as Type[]).forEach((member) => addCalls(owner, member));
    } else if (type.kind === "parenthesized") addCalls(owner, type.value as Type);
    else if (type.kind === "typeLiteral") addMethods(owner, type.value as Definition);
    else if (type.kind === "fnOrConstructor" && takesOptions((type.value as Definition).params!)) {
      found.add(owner);
    }
  };

  for (const [name, declarations] of exports) {
    for (const { kind, def = {} } of declarations) {
      if (kind === "function") {
        if (takesOptions(def.params!)) found.add(name);
        addCalls(`${name}()`, def.returnType);
      } else if (kind === "variable") addCalls(name, def.tsType);
      else if (kind === "interface") addMethods(name, def);
      else if (kind === "class") {
        addMethods(name, def);
        for (const { params = [] } of def.constructors ?? []) {
          if (takesOptions(params)) found.add(`new ${name}`);
        }
      }
    }
  }
  return found;
}
