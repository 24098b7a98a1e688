/** Settings of runs, and which of them differ. */
import type { Cell, TableSection } from "../charts/section.ts";
import { dataPaths } from "../train/run/config.ts";
import { settingsOf, settingText, wordsOf } from "../train/report/report_settings.ts";
import type { ViewedRun } from "./runs.ts";

/** Text of each setting of a run by the name of the setting. A path of data is shortened to the name of the file. */
export function settingsInWords({ config }: Pick<ViewedRun, "config">): ReadonlyMap<string, string> {
  const isPath = (name: string) => (dataPaths as readonly string[]).includes(name);
  return new Map(
    settingsOf(config).map(([name, value]) => {
      const text = settingText(value);
      return [wordsOf(name), isPath(name) ? text.replace(/^.*[\\/]/, "") : text];
    }),
  );
}

/** Names of the settings of runs: those that differ between the runs, and those that are the same. */
export function compareSettings(runs: readonly ViewedRun[]): { differing: string[]; same: string[] } {
  const settings = runs.map(settingsInWords);
  const names = [...new Set(settings.flatMap((one) => [...one.keys()]))];
  const isSame = (name: string) => new Set(settings.map((one) => one.get(name))).size <= 1;
  return { differing: names.filter((name) => !isSame(name)), same: names.filter(isSame) };
}

/** A table of settings with a column for each run. Values that differ from the most frequent value are bold. */
export function settingsTable(runs: readonly ViewedRun[]): TableSection & { title: string; text: string } {
  const { differing, same } = compareSettings(runs);
  const settings = runs.map(settingsInWords);
  const rows = [...differing, ...same].map((name): Cell[] => {
    const values = settings.map((one) => one.get(name) ?? "–");
    const counts = Map.groupBy(values, (value) => value);
    const common = values.toSorted((a, b) => counts.get(b)!.length - counts.get(a)!.length)[0];
    const isMarked = (text: string) =>
      text !== common || counts.get(text)!.length < Math.min(2, values.length);
    return [name, ...values.map((text) => isMarked(text) ? { text, mark: "best" } as const : text)];
  });
  return {
    kind: "table",
    title: "Settings",
    text:
      `${differing.length} of ${
        differing.length + same.length
      } settings differ. They come first. Values that ` +
      "differ from the most frequent value are bold.",
    isFolded: true,
    head: ["setting", ...runs.map(({ name }) => name)],
    rows,
    texts: [0, ...runs.map((_, i) => i + 1)],
  };
}
