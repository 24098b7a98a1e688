/** Option names of servers, for `checkOptions`. */
import type { OptionNames } from "../device/options.ts";
import { defaultLimits, type Limits } from "./limits.ts";
import type { Access, ServiceOptions } from "./service.ts";

export const serviceOptionNames: OptionNames<ServiceOptions> = {
  limits: "optional",
  access: "optional",
  log: "optional",
};

export const accessNames: OptionNames<Access> = { hosts: "optional", origins: "required" };

export const limitNames = Object.fromEntries(
  Object.keys(defaultLimits).map((name) => [name, "optional"]),
) as OptionNames<Partial<Limits>>;

export const addressNames: OptionNames<{ host: string; port: number }> = {
  host: "required",
  port: "required",
};
