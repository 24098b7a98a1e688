import { ncdeTable1 } from "./ncde_table_1.ts";
import type { PaperTable } from "./table.ts";
import { ueaFastWeights } from "./uea_fast_weights.ts";
import { warpTable2 } from "./warp_table_2.ts";

/** Every table of `deno task reproduce`. */
export const tables: readonly PaperTable[] = [ncdeTable1, warpTable2, ueaFastWeights];
