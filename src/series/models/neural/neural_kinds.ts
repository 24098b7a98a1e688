/** Kinds of neural models by the form of the series that they read. */
import type { SlopeScale } from "../../../models/along_control.ts";
import { seriesStreams } from "../../../models/series_streams.ts";
import type { StreamableModel } from "../../../models/stream.ts";
import { type Layer, layer } from "../../../nn/layer.ts";
import { CubicSpline } from "../../../paths/cubic_spline.ts";
import { LinearInterpolation } from "../../../paths/linear.ts";
import type { Path } from "../../../paths/path.ts";
import type { Tensor } from "../../../tensor/tensor.ts";
import type { ModelSetting } from "../model_settings.ts";
import { onDemand } from "../on_demand.ts";
import { slopeScaleOf } from "../slope_scale.ts";
import { type ObservationRows, openRows } from "../series_reading.ts";
import type {
  FastWeightSizes,
  SeriesCall,
  SeriesModelKind,
  SeriesModelSizes,
  SeriesModelStates,
} from "../whole_series.ts";

/** Settings of a solver. */
export const solver = ["method", "stepSize"] as const;

/** Heads of the Transformer, and the default for fast weights. */
export const heads = 4;

/** A model along a path. */
export type PathModel = Layer<[X: Path, call: SeriesCall]> & Partial<StreamableModel>;

/** Sizes of a model that does not read windows. */
export type Sizes = Omit<SeriesModelSizes, "signatureDepth" | "fastWeights" | "pace"> & SlopeScale;

/** Sizes of a model along a path. */
export type PathSizes = Omit<Sizes, "clipWeights" | "initial">;

/** Sizes of fast weights with their number of heads. */
export type Weights = FastWeightSizes & { heads: number };

/**
 * Makes a kind of model.
 *
 * @param open Unpacks the tensor that the model reads.
 * @param load Imports the module of the model.
 */
export function kindOf<Module, Form>(
  kind: Omit<SeriesModelKind, "make" | "load">,
  open: (form: Tensor) => Form,
  load: () => Promise<Module>,
  make: (
    module: Module,
    sizes: SeriesModelSizes,
  ) => Layer<[form: Form, call: SeriesCall]> & SeriesModelStates,
): SeriesModelKind {
  return {
    ...kind,
    ...onDemand(load, (module, sizes: SeriesModelSizes) => {
      const model = make(module, sizes);
      const { streamed, streams = streamed && (() => seriesStreams({ streamed })), warp } = model;
      const adapted = layer(model.parameters, (form: Tensor, call: SeriesCall) => model(open(form), call));
      return Object.assign(adapted, { streamed, streams, warp });
    }),
  };
}

/** A model along a spline. The path is made from the spline's coefficients. */
export function alongSpline<Module>(
  takes: readonly ModelSetting[],
  drive: "values" | "changes",
  load: () => Promise<Module>,
  make: (module: Module, sizes: PathSizes, weights: Weights) => PathModel,
): SeriesModelKind {
  return kindOf(
    { takes: ["hidden", "online", "condense", ...takes], reads: "spline", takesStatic: true },
    (coeffs) => CubicSpline(coeffs),
    load,
    (module, { signatureDepth: _, clipWeights: __, initial: ___, fastWeights, pace, ...sizes }) =>
      make(module, { ...sizes, slopeScale: slopeScaleOf(pace, drive) }, withHeads(fastWeights)),
  );
}

/** A model along log-signatures of windows. */
export function alongWindows<Module>(
  takes: readonly ModelSetting[],
  load: () => Promise<Module>,
  make: (module: Module, sizes: PathSizes & { signatureDepth: number }, weights: Weights) => PathModel,
): SeriesModelKind {
  return kindOf(
    {
      takes: ["hidden", "window", "signatureDepth", ...solver, ...takes],
      reads: "windows",
      takesStatic: true,
    },
    (words) => LinearInterpolation(words),
    load,
    (module, { signatureDepth = 2, clipWeights: _, initial: __, fastWeights, pace, ...sizes }) =>
      make(
        module,
        { ...sizes, signatureDepth, slopeScale: slopeScaleOf(pace, "changes") },
        withHeads(fastWeights),
      ),
  );
}

/** A model that reads series row by row. */
export function atObservations<Module>(
  takes: readonly ModelSetting[],
  load: () => Promise<Module>,
  make: (
    module: Module,
    sizes: Sizes,
  ) => Layer<[rows: ObservationRows, call: SeriesCall]> & SeriesModelStates,
  { takesStatic = false, typicalSteps }: Partial<Pick<SeriesModelKind, "takesStatic" | "typicalSteps">> = {},
): SeriesModelKind {
  return kindOf(
    { takes: ["hidden", "condense", ...takes], reads: "observations", takesStatic, typicalSteps },
    openRows,
    load,
    (module, { signatureDepth: _, fastWeights: __, pace, ...sizes }) =>
      make(module, { ...sizes, slopeScale: slopeScaleOf(pace, "changes") }),
  );
}

function withHeads(sizes: FastWeightSizes = {}): Weights {
  return { ...sizes, heads: sizes.heads ?? heads };
}
