import type { Panel } from "../../charts/chart.ts";
import type { Series } from "../../data/series.ts";
import { timeAxis } from "./time_axis.ts";
import { downsample, rowsPerStep } from "../models/downsample.ts";
import { type DataRecord, takeColumns } from "../record/data_record.ts";

/** Curves of the channels of a series over time, for a report. Of a long series, means of blocks of rows. */
export function drawChannels(
  series: Series,
  { channels, time }: Pick<DataRecord, "channels" | "time">,
): Panel {
  const { times, values } = downsample(series, channels.length, rowsPerStep([series.times.length]));
  return {
    x: timeAxis(time.kind),
    y: { title: "scaled value" },
    marks: channels.map(({ name }, channel) => ({
      ...{ kind: "line", name, x: times },
      y: takeColumns(values, channels.length, [channel]),
    })),
  };
}
