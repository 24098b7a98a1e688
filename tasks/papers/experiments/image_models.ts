/** Models that complete images, by the names of the option `--model`. */
import {
  type ForecastModel,
  forecastModel,
  type ForecastModelKind,
  forecastModels,
  type ForecastModelSizes,
  nearestSize,
  warpParameters,
} from "@weft/weft/series";
import { valuesOf } from "../recipes/recipe.ts";
import { convCnp as recipe } from "../recipes/warp_images.ts";
import { ConvCNP, convCNPParameters } from "./conv_cnp.ts";

const { shots, shotsOf } = valuesOf(recipe.rules);

/**
 * A ConvCNP, of two residual blocks by default. Its number of features brings its number of parameters nearest
 * to that of WARP of the same sizes.
 */
const convCnp: ForecastModelKind = {
  takes: ["hidden", "depth", "units", "layers"],
  make(sizes: ForecastModelSizes): ForecastModel {
    const { channels, length, layers = 2, leastDeviation = 1e-4, key } = sizes;
    const others = { channels, side: Math.sqrt(length), layers, leastDeviation };
    const given = Math.max(1, Math.round(length * shots / shotsOf));
    const units = sizes.units ??
      nearestSize(warpParameters(sizes), (units) => convCNPParameters({ ...others, units, shots: given }));
    return ConvCNP({ ...others, units, shots: given, key });
  },
};

/** All forecasting models, and the ConvCNP, which needs the grid of pixels. */
export const imageModels: Readonly<Record<string, ForecastModelKind>> = {
  ...forecastModels,
  "conv-cnp": convCnp,
};

/** Makes a model by name. @throws {OptionError} If the name is unknown. The message lists the names. */
export function imageModel(name: string, sizes: ForecastModelSizes): ForecastModel {
  return name === "conv-cnp" ? convCnp.make(sizes) : forecastModel(name, sizes);
}
