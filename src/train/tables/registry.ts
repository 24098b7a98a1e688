import { ncdeTable1 } from "./ncde_table_1.ts";
import { warpFigure2 } from "./warp_ett.ts";
import { warpTable1, warpTable9 } from "./warp_images.ts";
import { warpAblations, warpFigure5 } from "./warp_sine.ts";
import type { PaperTable } from "./table.ts";
import { ueaFastWeights } from "./uea_fast_weights.ts";
import { warpTable2 } from "./warp_table_2.ts";

/** Every table of `deno task reproduce`. */
export const tables: readonly PaperTable[] = [
  ncdeTable1,
  warpTable1,
  warpTable2,
  warpTable9,
  warpFigure2,
  warpFigure5,
  warpAblations,
  ueaFastWeights,
];
