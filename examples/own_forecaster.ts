/**
 * A user-defined forecasting model: NLinear, a linear map of the past relative to its last value (Zeng et al., "Are
 * Transformers Effective for Time Series Forecasting?", 2023).
 *
 *     deno task train own-series --task forecast --data table.csv --model examples/own_forecaster.ts
 */
import { layer, Linear } from "@weft/weft";
import type { Model } from "@weft/weft/series";

const nLinear: Model = {
  name: "n-linear",
  forecasts: {
    takes: [],
    make({ context, horizon, key }) {
      const linear = Linear({ inputs: context, outputs: horizon, key });
      return layer(linear.parameters, ({ grid }) => {
        const last = grid.slice(1, context - 1);
        return linear(grid.sub(last).transpose()).transpose().add(last);
      });
    },
  },
};

export default nLinear;
