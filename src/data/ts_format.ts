/**
 * The `.ts` text format of the UEA, UCR and TSER archives of time series classification and regression
 * (https://www.timeseriesclassification.com): a header of directives, then one line per series. Colons
 * separate its channels, and its class is the last field:
 *
 *     @problemName Pens
 *     @timeStamps false
 *     @dimensions 2
 *     @equalLength false
 *     @classLabel true a b
 *     @data
 *     0.1,0.2,?:1.5,1.25,1.0:a
 *
 * With `@timeStamps true` each value has a time: `(0,0.1),(2.5,0.2):(0,1.5):a`. With `@targetLabel true` in place of
 * `@classLabel`, the last field is the number to predict.
 */
import {
  DataFormatError,
  type FormatErrorDetails,
  linesOf,
  maxValue,
  numberOf,
  type TimeKind,
  timeKindOf,
  timeOf,
} from "./format.ts";
import type { Series, SeriesSet } from "./series.ts";

interface Header {
  name: string;
  timeStamps: boolean;
  /** Number of channels; 0 while unknown. */
  channels: number;
  equalLength: boolean;
  /** Number of observations of each series; 0 while unknown. */
  length: number;
  classes: string[];
  /** Whether the last field is a number to predict, not a class. */
  hasTarget: boolean;
  /** Notation of the times; undefined until the first time is read. */
  times?: TimeKind;
}

/** Name of the number to predict, which the format does not name. */
const targetName = "target";

type Fail = (message: string, details?: Pick<FormatErrorDetails, "code" | "expected" | "fixes">) => never;

/**
 * Reads a `.ts` file.
 *
 * @param text Content of the file. Pass bytes if it may exceed the maximum length of a string.
 * @param file Name of the file, for messages.
 * @returns Series with the times of the file, or with the positions 0, 1, 2, ... if the file has no times. If
 * channels were observed at different times, the series has the union of these times, with missing values.
 * Dates are in seconds since 1970.
 * @throws {DataFormatError} With the file, the line and the expected content.
 */
export function parseTs(text: string | Uint8Array, file: string): SeriesSet {
  const header: Header = {
    name: "",
    timeStamps: false,
    channels: 0,
    equalLength: false,
    length: 0,
    classes: [],
    hasTarget: false,
  };
  const series: Omit<Series, "name">[] = [];
  let inData = false;
  let number = 0;
  const fail: Fail = (message, details) => {
    throw new DataFormatError(file, number, message, details);
  };
  for (const raw of typeof text === "string" ? text.split("\n") : linesOf(text)) {
    number++;
    const line = raw.trim();
    if (line === "" || line.startsWith("#")) continue;
    if (inData) series.push(parseSeries(line, header, fail));
    else if (!line.startsWith("@")) fail(`expected a directive such as @data, got ${quote(line)}`);
    else inData = parseDirective(line, header, fail);
  }
  const isEmpty = { code: "empty-table", expected: "directives, @data and a line for each series" } as const;
  if (!inData) fail(`the file ends before @data; expected ${isEmpty.expected}`, isEmpty);
  if (series.length === 0) {
    fail(`the file ends without a series after @data; expected ${isEmpty.expected}`, isEmpty);
  }
  return {
    name: header.name,
    channels: Array.from({ length: header.channels }, (_, i) => `channel ${i + 1}`),
    classes: header.classes,
    ...(header.hasTarget ? { targets: [targetName] } : {}),
    times: header.times ?? "number",
    series: series.map((one, i) => ({ ...one, name: `${i + 1}` })),
  };
}

/** Adds a directive to the header. Returns whether the data start on the next line. */
function parseDirective(line: string, header: Header, fail: Fail): boolean {
  const [directive, ...values] = line.split(/\s+/);
  const flag = () => {
    const value = values[0]?.toLowerCase();
    if (value !== "true" && value !== "false") {
      fail(`expected true or false after ${directive}, got ${quote(values[0])}`);
    }
    return value === "true";
  };
  const positive = () => {
    const value = Number(values[0]);
    if (!Number.isInteger(value) || value < 1) {
      fail(`expected a positive whole number after ${directive}, got ${quote(values[0])}`);
    }
    return value;
  };
  switch (directive.toLowerCase()) {
    case "@problemname":
      header.name = values.join(" ") || fail("expected a name after @problemName");
      return false;
    case "@timestamps":
      header.timeStamps = flag();
      return false;
    case "@univariate":
      if (flag()) header.channels ||= 1;
      return false;
    case "@dimension":
    case "@dimensions":
      header.channels = positive();
      return false;
    case "@equallength":
      header.equalLength = flag();
      return false;
    case "@serieslength":
      header.length = positive();
      return false;
    case "@missing": // Missing values are read wherever they stand, so nothing depends on the announcement.
      flag();
      return false;
    case "@classlabel":
      if (!flag()) return false;
      header.classes = values.slice(1);
      if (header.classes.length === 0) fail("expected the classes after @classLabel true");
      if (new Set(header.classes).size < header.classes.length) fail("@classLabel lists a class twice");
      return false;
    case "@targetlabel":
      header.hasTarget = flag();
      return false;
    case "@data":
      if (header.hasTarget === header.classes.length > 0) {
        fail("expected either @classLabel true and the classes or @targetLabel true before @data");
      }
      return true;
    default:
      return fail(
        `unknown directive ${quote(directive)}; expected @problemName, @timeStamps, @missing, @univariate, ` +
          "@dimensions, @equalLength, @seriesLength, @classLabel, @targetLabel or @data",
      );
  }
}

function parseSeries(line: string, header: Header, fail: Fail): Omit<Series, "name"> {
  // Colons inside parentheses belong to dates.
  const fields = line.split(header.timeStamps ? /:(?![^(]*\))/ : ":");
  const last = fields.pop()!.trim();
  const output = header.hasTarget ? parseTarget(last, fail) : parseClass(last, header, fail);
  header.channels ||= fields.length;
  if (fields.length !== header.channels) {
    fail(
      `expected ${header.channels} channels and a ${
        header.hasTarget ? "target" : "class"
      } between colons, got ${fields.length} channels`,
    );
  }
  const { times, values } = header.timeStamps ? parseStamped(fields, header, fail) : parsePlain(fields, fail);
  if (header.equalLength) {
    header.length ||= times.length;
    if (times.length !== header.length) {
      fail(`expected ${header.length} observations, as @equalLength promises, got ${times.length}`);
    }
  }
  return { times, values, ...output };
}

function parseClass(text: string, { classes }: Header, fail: Fail): Pick<Series, "label"> {
  const label = classes.indexOf(text);
  if (label >= 0) return { label };
  const expected = `one of the classes ${classes.join(", ")}`;
  return fail(`expected ${expected} after the last colon, got ${quote(text)}`, {
    expected,
    fixes: ["add the class to @classLabel, or complete the line"],
  });
}

function parseTarget(text: string, fail: Fail): Pick<Series, "label" | "targets"> {
  const value = isMissing(text) ? NaN : numberOf(text);
  if (isMissing(text) || Math.abs(value) <= maxValue) return { label: -1, targets: Float64Array.of(value) };
  const expected = `a number up to ${maxValue} or ?`;
  return fail(`expected ${expected} after the last colon, got ${quote(text)}`, {
    code: "invalid-cell",
    expected,
    fixes: ["complete the line"],
  });
}

function parsePlain(fields: string[], fail: Fail): Pick<Series, "times" | "values"> {
  const columns = fields.map((field, channel) =>
    field.split(",").map((text, i) => parseValue(text, channel, i, fail))
  );
  const length = columns[0].length;
  const times = Float64Array.from({ length }, (_, i) => i);
  const values = new Float64Array(length * columns.length);
  columns.forEach((column, c) => {
    if (column.length !== length) {
      fail(`channel ${c + 1} has ${column.length} values, expected ${length} as in channel 1`);
    }
    column.forEach((value, t) => values[t * columns.length + c] = value);
  });
  return { times, values };
}

function parseStamped(fields: string[], header: Header, fail: Fail): Pick<Series, "times" | "values"> {
  const columns = fields.map((field, channel) => {
    const column = new Map<number, number>();
    let end = 0;
    for (const match of field.matchAll(/\s*\(([^()]*),([^(),]*)\)\s*(,|$)/gy)) {
      const position = column.size;
      const time = parseTime(match[1], header, channel, position, fail);
      if (column.has(time)) fail(`channel ${channel + 1} has two values at time ${match[1].trim()}`);
      column.set(time, parseValue(match[2], channel, position, fail));
      end = match.index + match[0].length;
    }
    if (end < field.length || column.size === 0) {
      fail(`expected (time,value) pairs in channel ${channel + 1}, got ${quote(field.slice(end))}`);
    }
    return column;
  });
  const times = Float64Array.from(new Set(columns.flatMap((column) => [...column.keys()]))).sort();
  const values = Float64Array.from(
    { length: times.length * columns.length },
    (_, i) => columns[i % columns.length].get(times[Math.floor(i / columns.length)]) ?? NaN,
  );
  return { times, values };
}

function parseValue(text: string, channel: number, position: number, fail: Fail): number {
  const trimmed = text.trim();
  if (isMissing(trimmed)) return NaN;
  const value = numberOf(trimmed);
  if (!(Math.abs(value) <= maxValue)) {
    const expected = `a number up to ${maxValue} or ?`;
    fail(
      `expected ${expected} as value ${position + 1} of channel ${channel + 1}, got ${quote(trimmed)}`,
      { code: "invalid-cell", expected },
    );
  }
  return value;
}

function isMissing(text: string): boolean {
  return text === "?" || text.toLowerCase() === "nan";
}

function parseTime(text: string, header: Header, channel: number, position: number, fail: Fail): number {
  const trimmed = text.trim();
  const kind = header.times ?? timeKindOf([trimmed]);
  const time = timeOf(trimmed, kind);
  if (Number.isNaN(time)) {
    const expected = header.times ? `a ${kind}, as before,` : "a number or a date";
    fail(`expected ${expected} as time ${position + 1} of channel ${channel + 1}, got ${quote(trimmed)}`);
  }
  header.times = kind;
  return time;
}

function quote(text: string | undefined): string {
  if (text === undefined || text === "") return "nothing";
  return `"${text.length > 40 ? `${text.slice(0, 40)}...` : text}"`;
}
