/** State space models of whole series. */
export { LRU } from "../../../models/diagonal/lru.ts";
export { Mamba } from "../../../models/diagonal/mamba.ts";
export { S4D } from "../../../models/diagonal/s4d.ts";
export { S5 } from "../../../models/diagonal/s5.ts";
export { S6 } from "../../../models/diagonal/s6.ts";
export { StructuredCDE } from "../../../models/structured/structured_cde.ts";
