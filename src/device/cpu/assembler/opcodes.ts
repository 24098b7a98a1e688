/**
 * Opcodes of WebAssembly by their names in the text format: those that kernels use. Values above 0xff have
 * their prefix byte in bits 16 and up. Opcodes of type `address` are those of i64 or i32, depending on the
 * memory.
 */

/** Runs of consecutive opcodes: the first code, the type in the names, and the names. */
const runs = [
  [0x28, "i32", "load"],
  [0x29, "i64", "load"],
  [0x2a, "f32", "load"],
  [0x2b, "f64", "load"],
  [0x36, "i32", "store"],
  [0x37, "i64", "store"],
  [0x38, "f32", "store"],
  [0x39, "f64", "store"],
  [0x45, "i32", "eqz eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u"],
  [0x6a, "i32", "add sub mul div_s div_u rem_s rem_u and or xor shl shr_s shr_u"],
  [0x92, "f32", "add"],
  [0xa0, "f64", "add"],
  [0xac, "i64", "extend_i32_s extend_i32_u"],
  [0xb7, "f64", "convert_i32_s"],

  [0xfd0000, "v128", "load"],
  [0xfd0009, "v128", "load32_splat load64_splat store const"],
  [0xfd000d, "i8x16", "shuffle"],
  [0xfd0011, "i32x4", "splat"],
  [0xfd0013, "f32x4", "splat"],
  [0xfd0014, "f64x2", "splat"],
  [0xfd001b, "i32x4", "extract_lane replace_lane"],
  [0xfd001f, "f32x4", "extract_lane replace_lane"],
  [0xfd0021, "f64x2", "extract_lane replace_lane"],
  [0xfd0037, "i32x4", "eq ne lt_s lt_u gt_s gt_u le_s le_u ge_s ge_u"],
  [0xfd0041, "f32x4", "eq ne lt gt le ge"],
  [0xfd0047, "f64x2", "eq ne lt gt le ge"],
  [0xfd004d, "v128", "not and andnot or xor bitselect any_true"],
  [0xfd0056, "v128", "load32_lane load64_lane"],
  [0xfd005a, "v128", "store32_lane store64_lane load32_zero load64_zero"],
  [0xfd005e, "f32x4", "demote_f64x2_zero"],
  [0xfd005f, "f64x2", "promote_low_f32x4"],
  [0xfd0067, "f32x4", "ceil floor trunc nearest"],
  [0xfd0074, "f64x2", "ceil floor"],
  [0xfd007a, "f64x2", "trunc"],
  [0xfd0094, "f64x2", "nearest"],
  [0xfd00a0, "i32x4", "abs neg"],
  [0xfd00ab, "i32x4", "shl shr_s shr_u add"],
  [0xfd00b1, "i32x4", "sub"],
  [0xfd00b5, "i32x4", "mul min_s min_u max_s max_u"],
  [0xfd00c7, "i64x2", "extend_low_i32x4_s"],
  [0xfd00d6, "i64x2", "eq"],
  [0xfd00e0, "f32x4", "abs neg"],
  [0xfd00e3, "f32x4", "sqrt add sub mul div min max pmin pmax"],
  [0xfd00ec, "f64x2", "abs neg"],
  [0xfd00ef, "f64x2", "sqrt add sub mul div min max pmin pmax"],
  [0xfd00f8, "i32x4", "trunc_sat_f32x4_s trunc_sat_f32x4_u"],
  [0xfd00fa, "f32x4", "convert_i32x4_s convert_i32x4_u"],
  [0xfd00fc, "i32x4", "trunc_sat_f64x2_s_zero trunc_sat_f64x2_u_zero"],
  [0xfd00fe, "f64x2", "convert_low_i32x4_s convert_low_i32x4_u"],
  [0xfd0105, "f32x4", "relaxed_madd"],
  [0xfd0107, "f64x2", "relaxed_madd"],
  [0xfd010b, "i32x4", "relaxed_laneselect"],
  [0xfd010c, "i64x2", "relaxed_laneselect"],
] as const;

/** Opcodes of type `address`: for memories with 32-bit and with 64-bit addresses. */
const addressOpcodes = {
  "address.eq": [0x46, 0x51],
  "address.ne": [0x47, 0x52],
  "address.ge_s": [0x4e, 0x59],
  "address.add": [0x6a, 0x7c],
  "address.sub": [0x6b, 0x7d],
  "address.mul": [0x6c, 0x7e],
  "address.shl": [0x74, 0x86],
} as const;

/** Opcodes without a type. */
const others = { "select": 0x1b };

type Words<Text extends string> = Text extends `${infer First} ${infer Rest}` ? First | Words<Rest> : Text;
type NamesOf<Run> = Run extends readonly [number, infer Type extends string, infer Names extends string]
  ? `${Type}.${Words<Names>}`
  : never;

/** An instruction's name. */
export type Opcode = keyof typeof addressOpcodes | keyof typeof others | NamesOf<typeof runs[number]>;

/** The code of each instruction for a memory with 32-bit or 64-bit addresses. */
function opcodesOf(is64: boolean): Readonly<Record<Opcode, number>> {
  return Object.fromEntries([
    ...Object.entries(others),
    ...Object.entries(addressOpcodes).map(([name, codes]) => [name, codes[is64 ? 1 : 0]]),
    ...runs.flatMap(([first, type, names]) =>
      names.split(" ").map((name, i) => [`${type}.${name}`, first + i])
    ),
  ]);
}

/** Opcodes for a memory with 32-bit addresses. */
export const opcodes32 = opcodesOf(false);

/** Opcodes for a memory with 64-bit addresses. */
export const opcodes64 = opcodesOf(true);
