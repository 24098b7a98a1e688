/** Networks that were fitted in closed form, so that a comparison fits no model again for a blend. */
import type { Series } from "../../../data/series.ts";
import type { DataRecord } from "../../record/data_record.ts";

/** A network that is fitted in closed form. */
interface Fitted {
  fit?(series: readonly Series[], targets: Float64Array): Promise<Float64Array>;
}

/**
 * Makes a network, or returns the one that was made before for the same training series.
 *
 * @param networks Networks by the name of the model and the training series. All other options are equal. Without it,
 * the network is made anew.
 */
export function fittedNetwork<Network extends Fitted>(
  networks: Map<string, Network> | undefined,
  name: string,
  { split }: Pick<DataRecord, "split">,
  make: () => Network,
): Network {
  if (!networks) return make();
  const place = `${name} ${split.train.map(({ position }) => position)}`;
  let network = networks.get(place);
  if (!network) {
    const made = make();
    let leftOut: Promise<Float64Array> | undefined;
    network = { ...made, fit: (series, targets) => leftOut ??= made.fit!(series, targets) };
    networks.set(place, network);
  }
  return network;
}
