import { sizeOf } from "../../../device/shape.ts";
import type { StateSpaceModel } from "../../../models/diagonal/stack.ts";
import { type SeriesStreams, stepStreams } from "../../../models/series_streams.ts";
import { concatenate } from "../../../tensor/functions.ts";
import { treeLeaves, withLeaves } from "../../../tensor/tree.ts";

/** Streams of a state space model. Each observation is a row; the state is the model's state in one row. */
export function stateSpaceStreams(model: StateSpaceModel, inputChannels: number): SeriesStreams {
  return stepStreams({
    ...{ name: "state space model", inputChannels, dtype: "float32" },
    step(x, previous) {
      const time = x.slice(-1, 0, 1);
      const since = time.sub(previous?.observations[0].slice(-1, 0, 1) ?? time);
      const start = model.start(x.shape[0]);
      let end = 0;
      const before = previous && withLeaves(
        start,
        treeLeaves(start).map(({ shape }) => {
          const from = end;
          end += sizeOf(shape.slice(1));
          return previous.state.slice(-1, from, end).reshape(shape);
        }),
      );
      const [next, prediction] = model.step(
        concatenate([x, since, since.zerosLike().add(1)], -1),
        before ?? start,
      );
      return {
        prediction,
        observations: [x],
        state: concatenate(treeLeaves(next).map((part) => part.reshape([x.shape[0], -1])), -1),
      };
    },
  });
}
