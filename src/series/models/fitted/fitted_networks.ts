/** Networks that were fitted in closed form, so that a comparison fits no model again for a blend. */
import type { FittedModelKind, SeriesNetworkOptions } from "../series_network.ts";

type FittedNetwork = ReturnType<FittedModelKind["network"]>;

/** Networks by the name of the model and the training series. All other options are equal. */
export type FittedNetworks = Map<string, FittedNetwork>;

/** Makes a network, or returns the one that was made before for the same training series. */
export function fittedNetwork(
  name: string,
  kind: FittedModelKind,
  options: SeriesNetworkOptions,
  outputs: number,
): FittedNetwork {
  const { fitted, record } = options;
  if (!fitted) return kind.network(options, outputs);
  const place = `${name} ${record.split.train.map(({ position }) => position)}`;
  let network = fitted.get(place);
  if (!network) {
    const made = kind.network(options, outputs);
    let leftOut: Promise<Float64Array> | undefined;
    network = { ...made, fit: (series, targets) => leftOut ??= made.fit!(series, targets) };
    fitted.set(place, network);
  }
  return network;
}
