import { ncdeTable1, ncdeTable2, ncdeTable3 } from "./ncde.ts";
import { warpFigure15, warpFigure2 } from "./warp_ett.ts";
import { warpTable1, warpTable9 } from "./warp_images.ts";
import { warpAblations, warpFigure5, warpFigure5Mape } from "./warp_sine.ts";
import { fastWeightsTable2 } from "./fast_weights_table_2.ts";
import { warpSequentialMnist, warpTable10, warpTable3 } from "./warp_classification.ts";
import { fastWeightsAblation, fastWeightsTable1 } from "./fast_weights_table_1.ts";
import type { PaperTable } from "./table.ts";
import { ueaFastWeights } from "./uea_fast_weights.ts";
import { warpTable2 } from "./warp_table_2.ts";
import { warpTransitions } from "./warp_transitions.ts";

/** Every table of `deno task reproduce`. */
export const tables: readonly PaperTable[] = [
  ncdeTable1,
  ncdeTable2,
  ncdeTable3,
  fastWeightsTable1,
  fastWeightsTable2,
  fastWeightsAblation,
  warpTable1,
  warpTable2,
  warpTable3,
  warpTable9,
  warpTable10,
  warpSequentialMnist,
  warpFigure2,
  warpFigure15,
  warpFigure5,
  warpFigure5Mape,
  warpAblations,
  warpTransitions,
  ueaFastWeights,
];
