/**
 * WGSL with another order of work. Software GPUs run the invocations and the workgroups of a dispatch in order, so a
 * missing barrier may not change a result. A shader that is rewritten by {@linkcode reorder} maps invocations and
 * workgroups to work in another order. Its results must be the same, bit for bit.
 */

/** Orders of work, by name: the WGSL body of `fn reorder(position: u32, count: u32) -> u32`, a permutation. */
const permutations = {
  "in reversed order": "  return count - 1u - position;",
  // A permutation of the next power of two, repeated until the position is below the count.
  "in shuffled order": `  var mask = 1u;
  while (mask + 1u < count) { mask = 2u * mask + 1u; }
  var x = position;
  loop {
    x = (x * 0x9e3779b1u + 0x7f4a7c15u) & mask;
    x ^= x >> 2u;
    x = (x * 0x85ebca6bu) & mask;
    x ^= x >> 1u;
    if (x < count) { break; }
  }
  return x;`,
};

export type Order = keyof typeof permutations;

export const orders = Object.keys(permutations) as Order[];

/** WGSL of the builtins of an entry point, from the invocation and workgroup whose work is done. */
const builtins: Readonly<Record<string, string>> = {
  local_invocation_index: "reordered_lane",
  local_invocation_id: "reordered_local",
  global_invocation_id: "(reordered_group * reordered_size + reordered_local)",
  workgroup_id: "reordered_group",
  num_workgroups: "reordered_groups",
};

const entryPoint = /@compute\s+@workgroup_size\(([^)]*)\)\s*fn\s+(\w+)\s*\(([^{]*)\)\s*\{/g;
const parameter = /@builtin\((\w+)\)\s*(\w+)\s*:\s*([\w<>]+)/g;

/**
 * Rewrites all entry points of a shader.
 *
 * @throws {Error} If the shader has no entry point, or uses a builtin without a rule, for example of subgroups.
 */
export function reorder(code: string, order: Order): string {
  let count = 0;
  const reordered = code.replaceAll(entryPoint, (_, size: string, name: string, parameters: string) => {
    count++;
    const lengths = size.split(",").map((length) => length.trim()).filter((length) => length !== "");
    const [x, y, z] = [0, 1, 2].map((axis) => `u32(${lengths[axis] ?? 1})`);
    const values = [...parameters.matchAll(parameter)].map(([, builtin, variable, type]) => {
      const value = builtins[builtin];
      if (!value) throw new Error(`reorder: no rule for the builtin ${builtin}`);
      return `  let ${variable}: ${type} = ${value};`;
    });
    return `@compute @workgroup_size(${size})
fn ${name}(
  @builtin(local_invocation_index) reordered_first: u32,
  @builtin(workgroup_id) reordered_id: vec3<u32>,
  @builtin(num_workgroups) reordered_groups: vec3<u32>,
) {
  let reordered_size = vec3<u32>(${x}, ${y}, ${z});
  let reordered_lane = reorder(reordered_first, ${x} * ${y} * ${z});
  let reordered_local = vec3<u32>(
    reordered_lane % ${x}, reordered_lane / ${x} % ${y}, reordered_lane / (${x} * ${y}));
  let reordered_group = vec3<u32>(
    reorder(reordered_id.x, reordered_groups.x),
    reorder(reordered_id.y, reordered_groups.y),
    reorder(reordered_id.z, reordered_groups.z));
${values.join("\n")}`;
  });
  if (count === 0) throw new Error("reorder: the shader has no entry point");
  if (/\bsubgroup[A-Z]/.test(code)) throw new Error("reorder: no rule for functions of subgroups");
  return `${reordered}\nfn reorder(position: u32, count: u32) -> u32 {\n${permutations[order]}\n}\n`;
}

/** A shader in an order, or unchanged. */
export function inOrder(code: string, order: Order | undefined): string {
  return order ? reorder(code, order) : code;
}

const loopHead = "for (var i = 0u; i < epilogue_end; i++) {";
const flagged = /if \((argument\(at \+ 1u\) == 1u.*)\) \{ synchronize\(\); \}/;

/**
 * Moves the barrier of kernels/loop.wgsl out of its branch, to the end of a loop over the calls before it. llvmpipe runs
 * both sides of a branch, so a barrier in a branch that is not taken would hide that one is missing.
 */
export function splitAtBarriers(code: string): string {
  if (!code.includes("fn invoke(")) return code;
  if (!code.includes(loopHead) || !flagged.test(code)) {
    throw new Error("splitAtBarriers: kernels/loop.wgsl has changed");
  }
  return code
    .replace(
      loopHead,
      `var i = 0u;
  var is_synchronized = false;
  while (i < epilogue_end) {
    if (is_synchronized) { synchronize(); }
    for (; i < epilogue_end; i++) {`,
    )
    .replace(
      flagged,
      `if (!is_synchronized && $1) {
        is_synchronized = true;
        break;
      }
      is_synchronized = false;`,
    )
    .replace(/(invoke\(argument\(at\), at \+ 2u\);\s*\})/, "$1\n  }");
}
