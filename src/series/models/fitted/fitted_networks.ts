/** Networks that were fitted in closed form, so that a comparison fits no model again for a blend. */
import type { Series } from "../../../data/series.ts";
import type { DataRecord } from "../../record/data_record.ts";

/** A network that is fitted in closed form. */
interface Fitted {
  fit?(series: readonly Series[], targets: Float64Array): Promise<Float64Array>;
  clearCache?(): void;
}

/**
 * Makes a network, or returns the one that was made before for the same training series.
 *
 * @param networks Networks by model and training series. Other options are equal. Without it, no network is kept.
 */
export function fittedNetwork<Network extends Fitted>(
  networks: Map<string, Network> | undefined,
  name: string,
  { split }: Pick<DataRecord, "split">,
  make: () => Network,
): Network {
  if (!networks) return make();
  const place = `${name} ${split.train.map(({ position }) => position)}`;
  const before = networks.get(place);
  if (before) return before;
  const made = make();
  let leftOut: Promise<Float64Array> | undefined;
  // The networks of all folds are kept. Their features of the training series may take gigabytes.
  const network: Network = {
    ...made,
    fit: (series, targets) => leftOut ??= made.fit!(series, targets).finally(made.clearCache),
  };
  networks.set(place, network);
  return network;
}
