/** Notation of calendars: `weekdays`, `hours 8-17`, `mon-sat hours 9-12,14-18`, `mon-fri hours 9-17; sat hours 9-12`. */

/** Names of the days, from Monday. */
const dayNames = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/** Forms of calendars, for messages. */
export const calendarForms = "auto, none, or days and hours such as weekdays, hours 8-17, or " +
  "mon-fri hours 9:30-16:00; sat hours 9-12";

/** First and last time of a day with an observation, in seconds since midnight. */
export type HourRange = readonly [from: number, to: number];

/** Days with the same hours. */
export interface DayHours {
  /** Weekdays from 0 for Monday; all recognised ones by default. */
  readonly days?: readonly number[];
  /** Hours; all recognised ones by default. */
  readonly hours?: readonly HourRange[];
}

/** Calendar of the option `calendar`. */
export type CalendarOption = "auto" | "none" | readonly DayHours[];

/** Parses a calendar. Returns undefined for any other text. */
export function parseCalendar(text: string): CalendarOption | undefined {
  const lower = text.trim().toLowerCase().replace(/\s+/g, " ");
  if (lower === "auto" || lower === "none") return lower;
  const parts = lower.split(";").map((part) => parsePart(part.trim()));
  if (parts.some((part) => part === undefined)) return undefined;
  const periods = parts as DayHours[];
  const all = periods.flatMap(({ days }) => days ?? []);
  // Several parts have to name their days and hours, and a day belongs to one part.
  const areDistinct = new Set(all).size === all.length;
  const isOne = periods.length === 1;
  return areDistinct && (isOne || periods.every(({ days, hours }) => days && hours)) ? periods : undefined;
}

function parsePart(text: string): DayHours | undefined {
  const match = /^([a-z, -]*?)\s*(?:\bhours ?([\d:, -]+))?$/.exec(text);
  if (!match || text === "") return undefined;
  const days = match[1] === "" ? undefined : daysIn(match[1]);
  const hours = match[2] === undefined ? undefined : hoursIn(match[2]);
  if (match[1] !== "" && !days || match[2] !== undefined && !hours) return undefined;
  return { ...(days ? { days } : {}), ...(hours ? { hours } : {}) };
}

function daysIn(text: string): number[] | undefined {
  if (text === "weekdays") return [0, 1, 2, 3, 4];
  const days = text.split(",").flatMap((part) => {
    const [from, to = from, ...rest] = part.trim().split("-").map((name) =>
      dayNames.indexOf(name.trim().slice(0, 3))
    );
    if (from < 0 || to < 0 || rest.length > 0) return [NaN];
    return Array.from({ length: (to - from + 7) % 7 + 1 }, (_, i) => (from + i) % 7);
  });
  if (days.some(Number.isNaN) || new Set(days).size < days.length) return undefined;
  return days.toSorted((a, b) => a - b);
}

function hoursIn(text: string): HourRange[] | undefined {
  const ranges = text.split(",").map((part): HourRange => {
    const [from, to = from, ...rest] = part.trim().split("-").map((time) => secondsOfTime(time.trim()));
    return rest.length > 0 ? [NaN, NaN] : [from, to];
  });
  const areOrdered = ranges.every(([from, to], i) => from <= to && (i === 0 || from > ranges[i - 1][1]));
  return areOrdered ? ranges : undefined;
}

/** Seconds since midnight of `9`, `9:30` or `24`; NaN for any other text. */
function secondsOfTime(text: string): number {
  const [, hours, minutes = "0"] = /^(\d\d?)(?::([0-5]\d))?$/.exec(text) ?? [];
  const seconds = 3600 * Number(hours) + 60 * Number(minutes);
  return seconds <= 86_400 ? seconds : NaN;
}

/** Open cells of a week: whether each cell of each weekday from Monday has observations. */
export interface OpenCells {
  /** Length of a cell in seconds: a day, or a divisor of a day. */
  readonly step: number;
  /** Start of the first cell of a day, in seconds since midnight. */
  readonly phase: number;
  /** Shape (7, cells of a day). */
  readonly isOpen: readonly (readonly boolean[])[];
}

/** Notation of open cells. */
export function calendarName({ step, phase, isOpen }: OpenCells): string {
  const openDays = [...isOpen.keys()].filter((day) => isOpen[day].includes(true));
  const areWhole = openDays.every((day) => isOpen[day].every(Boolean));
  const hours = isOpen.map((cells) => areWhole ? "" : `hours ${hoursName(cells, step, phase)}`);
  const groups = Map.groupBy(openDays, (day) => hours[day]);
  return [...groups].map(([text, days]) =>
    [days.length === 7 ? "" : daysName(days), text].filter((part) => part !== "").join(" ")
  ).join("; ");
}

function daysName(days: readonly number[]): string {
  if (days.join() === "0,1,2,3,4") return "weekdays";
  // A range may begin at the end of the week, such as sun-thu.
  const start = days.length === 7 ? 0 : days.find((day) => !days.includes((day + 6) % 7))!;
  const order = days.toSorted((a, b) => (a - start + 7) % 7 - (b - start + 7) % 7);
  return rangesOf(order, (a, b) => (b - a + 7) % 7 === 1)
    .map(([from, to]) =>
      from === to
        ? dayNames[from]
        : `${dayNames[from]}${(to - from + 7) % 7 === 1 ? "," : "-"}${dayNames[to]}`
    ).join(",");
}

function hoursName(cells: readonly boolean[], step: number, phase: number): string {
  const open = [...cells.keys()].filter((cell) => cells[cell]);
  const time = (cell: number) => {
    const minutes = Math.round((phase + cell * step) / 60);
    const rest = minutes % 60;
    return `${Math.floor(minutes / 60)}${rest === 0 ? "" : `:${`${rest}`.padStart(2, "0")}`}`;
  };
  return rangesOf(open, (a, b) => b === a + 1)
    .map(([from, to]) => from === to ? time(from) : `${time(from)}-${time(to)}`).join(",");
}

/** First and last member of each run of successive members. */
function rangesOf(list: readonly number[], isNext: (a: number, b: number) => boolean): [number, number][] {
  const ranges: [number, number][] = [];
  list.forEach((value, i) => {
    if (i > 0 && isNext(list[i - 1], value)) ranges[ranges.length - 1][1] = value;
    else ranges.push([value, value]);
  });
  return ranges;
}
