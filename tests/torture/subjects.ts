/** Functions of the library with valid and invalid arguments: their form, and values for them. */
import * as weft from "../../mod.ts";

export type Arguments = Readonly<Record<string, unknown>>;

/** A function of the library, valid arguments, and invalid values for some of them. */
export interface Subject {
  readonly name: string;
  call(args: Arguments): unknown;
  readonly valid: () => Arguments;
  readonly wrong: Readonly<Record<string, readonly unknown[] | (() => readonly unknown[])>>;
}

export const sizes = [-1, 1.5, NaN, Infinity, 2 ** 53, 1e15];
export const counts = [...sizes, 0];
export const shares = [-0.1, NaN, Infinity];
export const unknown = ["", "nothing", "constructor", "__proto__"];
export const key = weft.key(0);
export const random = (...shape: number[]) => weft.normal(key, shape);
