import { type ChannelKind, DataFormatError, type Series, type SeriesSet, zipEntries } from "@weft/weft/data";
import { exists, whyNoFolder } from "../files.ts";

/** Values of a patient that are known at admission. */
const fixed = ["Age", "Gender", "Unit1", "Unit2", "HospAdmTime"];
/** Static values that are often unknown. Unknown values become 0, as in the authors' code. */
const units = ["Unit1", "Unit2"];
const [hour, label] = ["ICULOS", "SepsisLabel"];
/** Number of hours of a stay that are read. */
const hours = 72;

/** The archives, in reading order. */
const archives = ["training_setA.zip", "training_setB.zip"];

/** Options of {@linkcode readSepsis}. */
interface SepsisOptions {
  /**
   * Whether to add two channels that mark whether each of the two columns of the intensive care unit is known.
   * False by default. Unknown values are 0.
   */
  marks?: boolean;
}

/**
 * Reads the PhysioNet challenge of 2019 (Reyna et al., 2019) as in Kidger et al., 2020, section 4.2. For each
 * patient it reads the first 72 hours in intensive care, with 34 measurements (mostly missing) and five
 * static channels, where unknown values are 0. Stays shorter than three hours are skipped. The class is
 * whether sepsis is marked in these hours, as in the authors' code. This gives 5 % positives, as in their
 * paper; whole stays have 7 %.
 *
 * @param folder Folder with the published archives `training_setA.zip` and `training_setB.zip`, or one of
 * them.
 * @throws {DataFormatError} If a file is malformed, with its line.
 * @throws {Error} If neither archive exists.
 */
export async function readSepsis(folder: string, options: SepsisOptions = {}): Promise<SeriesSet> {
  const { marks = false } = options;
  const series: Series[] = [];
  let columns: readonly string[] | undefined;
  for (const archive of archives) {
    const path = `${folder}/${archive}`;
    if (!await exists(path)) continue;
    for (const { name, read } of zipEntries(await Deno.readFile(path), path)) {
      // Skip macOS metadata files, whose names begin with "._".
      if (!/(^|\/)[^/.][^/]*\.psv$/.test(name)) continue;
      const file = `${path}/${name}`;
      const patient = parsePatient(new TextDecoder().decode(await read()), file, marks);
      columns ??= patient.columns;
      if (columns.join() !== patient.columns.join()) {
        throw new DataFormatError(
          file,
          1,
          `its columns differ from the first file's, ${columns.join("|")}`,
        );
      }
      if (patient.last < 3) continue;
      series.push({ ...patient.series, name: name.replace(/^.*\/|\.psv$/g, "") });
    }
  }
  if (!columns) {
    const found = await whyNoFolder(folder) ?? "a folder without an archive";
    throw new Error(`${folder}: ${found}; expected ${archives.join(" and ")}; run deno task download sepsis`);
  }
  const isStatic = (column: string) => fixed.includes(column.replace(/ known$/, ""));
  return {
    name: folder,
    channels: columns,
    kinds: columns.map((column): ChannelKind => ({ column, role: isStatic(column) ? "static" : "observed" })),
    times: "number",
    classes: ["no sepsis", "sepsis"],
    series,
  };
}

/** Returns the columns that become channels, a patient's series and the last hour read. */
function parsePatient(text: string, file: string, marks: boolean) {
  const [header, ...rows] = text.trimEnd().split(/\r?\n/).map((row) => row.split("|"));
  const lacking = [...fixed, hour, label].filter((column) => !header.includes(column));
  if (lacking.length > 0) {
    throw new DataFormatError(file, 1, `no column ${lacking.join(", ")}, expected columns divided by |`);
  }
  const measured = header.filter((column) => ![...fixed, hour, label].includes(column));
  const places = new Map(header.map((column, place) => [column, place]));
  const columns = [...measured, ...fixed, ...marks ? units.map((unit) => `${unit} known`) : []];
  const times: number[] = [];
  const values: number[] = [];
  let isSeptic = false;
  for (const [i, row] of rows.entries()) {
    const fail = (message: string) => new DataFormatError(file, i + 2, message);
    if (row.length !== header.length) throw fail(`${row.length} fields, expected ${header.length}`);
    const at = (column: string) => {
      const field = row[places.get(column)!];
      const value = field === "" ? NaN : Number(field);
      if (!Number.isNaN(value) || field === "NaN") return value;
      throw fail(`expected a number or NaN in ${column}, got "${field}"`);
    };
    const time = at(hour);
    if (!(time > (times.at(-1) ?? 0))) {
      throw fail(`hour ${row[places.get(hour)!]}, expected a later hour than in the row before`);
    }
    if (time > hours) break;
    times.push(time);
    isSeptic ||= at(label) === 1;
    values.push(...measured.map(at), ...fixed.map((column) => at(column) || 0));
    if (marks) values.push(...units.map((unit) => Number.isNaN(at(unit)) ? 0 : 1));
  }
  return {
    columns,
    last: times.at(-1) ?? 0,
    series: {
      times: Float64Array.from(times),
      values: Float64Array.from(values),
      label: isSeptic ? 1 : 0,
    },
  };
}
