/** Recognises the calendar of dates: months on a day of the month, open days and hours, or local days. */
import { gcd } from "./gcd.ts";
import { localOf } from "../data/format.ts";
import { calendarMonths, commonMonthDay } from "../data/months.ts";
import type { Series, SeriesSet } from "../data/series.ts";
import { OptionError } from "../device/errors.ts";
import { dayOf, daySeconds, weekdayOf, weekOf, weekSeconds, writtenLocal } from "./calendar.ts";
import {
  calendarForms,
  calendarName,
  type GivenCalendar,
  type GivenDays,
  type HourRange,
  type OpenCells,
  parseCalendar,
} from "./calendar_notation.ts";
import type { RecordedCalendar } from "./data_record.ts";
import { typicalGap } from "./pace.ts";
import { selectEvenly } from "./select_evenly.ts";

/** Kind and calendar of the times of a record. */
export interface FoundCalendar {
  readonly kind: SeriesSet["times"];
  readonly calendar?: RecordedCalendar;
}

/** Returns a line about the calendar of a record with dates. */
export function describeCalendar({ kind, calendar }: FoundCalendar): string[] {
  if (!calendar) return [];
  const { name, zone = "UTC", monthDay } = calendar;
  const day = monthDay === undefined
    ? "on the day of the last observation"
    : monthDay === 31
    ? "on the last day"
    : `on day ${monthDay}`;
  const steps = kind === "month"
    ? `months ${day}`
    : name === undefined
    ? `local time of ${zone}`
    : `${name}; other times have no steps`;
  return [`calendar: ${steps}`];
}

/** Minimum step of months, in seconds: 27 days and a half, since clocks may be put forward in February. */
const leastMonth = 27.5 * daySeconds;

/** Maximum number of series to recognise a calendar in. */
const maxSeries = 200;

/**
 * Finds the calendar of a set with dates.
 *
 * @param option Calendar in the notation of the option `calendar`.
 * @throws {OptionError} If the calendar does not fit the series.
 */
export function findCalendar(set: SeriesSet, option = "auto"): FoundCalendar {
  const given = parseCalendar(option)!;
  if (set.times !== "date") {
    if (typeof given !== "string") {
      throw unusable(option, `these times are ${set.times}s`, "give times as dates");
    }
    return { kind: set.times };
  }
  const { zone } = set;
  const observed = observedTimes(set);
  const local = localTimes(observed, zone);
  const timeOfDay = onlyTimeOfDay(local);
  const common = { ...(zone ? { zone } : {}), ...(timeOfDay === undefined ? {} : { timeOfDay }) };
  const months = monthCalendar(set, local, timeOfDay);
  if (months) {
    if (typeof given !== "string") throw unusable(option, "the steps are months", "leave it out");
    return { kind: "month", calendar: { ...common, ...months } };
  }
  const cells = given === "none" ? undefined : openCells(local, given, option);
  if (cells) return { kind: "date", calendar: { ...common, ...recordCells(cells) } };
  return hasLocalSteps(observed, local, zone) ? { kind: "date", calendar: common } : { kind: "date" };
}

function unusable(option: string, reason: string, fix: string): OptionError {
  return new OptionError(
    "unusable-option",
    (write) => `${write("calendar")} ${option} cannot be used: ${reason}`,
    { option: "calendar", expected: calendarForms, fixes: [fix] },
  );
}

/** Times of the rows of each series that have a value to forecast. */
function observedTimes({ series, channels, kinds }: SeriesSet): Float64Array[] {
  const width = channels.length;
  const continued = [...channels.keys()].filter((c) => (kinds?.[c].role ?? "observed") === "observed");
  return series.map(({ times, values }) =>
    times.filter((_, row) => continued.some((channel) => !Number.isNaN(values[row * width + channel])))
  );
}

/** Local times. Of the times that clocks skipped, those at the time of the day of more rows. */
function localTimes(observed: readonly Float64Array[], zone: string | undefined): Float64Array[] {
  if (zone === undefined || zone === "UTC") return [...observed];
  const counts = new Map<number, number>();
  const timeOf = (local: number) => weekdayOf(local).time;
  for (const times of observed) {
    for (const time of times) {
      const of = timeOf(localOf(time, zone));
      counts.set(of, (counts.get(of) ?? 0) + 1);
    }
  }
  const countOf = (local: number) => counts.get(timeOf(local)) ?? 0;
  return observed.map((times) =>
    times.map((time) => {
      const shown = countOf(localOf(time, zone));
      return writtenLocal(time, zone, (local) => countOf(local) > shown);
    })
  );
}

/** Seconds since midnight of all times, if they are equal. */
function onlyTimeOfDay(local: readonly Float64Array[]): number | undefined {
  const first = local.find(({ length }) => length > 0)?.[0];
  if (first === undefined) return undefined;
  const { time } = weekdayOf(first);
  return local.every((times) => times.every((one) => weekdayOf(one).time === time)) ? time : undefined;
}

/** Gaps between consecutive times of all series. */
function gapsOf(times: readonly Float64Array[]): number[] {
  return times.flatMap((one) => Array.from(one.subarray(1), (time, i) => time - one[i]));
}

/** Whether all gaps are multiples of the shortest gap. */
function areMultiples(gaps: readonly number[]): boolean {
  const least = gaps.reduce((least, gap) => Math.min(least, gap), Infinity);
  return gaps.every((gap) => Math.abs(gap / least - Math.round(gap / least)) < 1e-6);
}

/** Days of the month of series whose steps are months. */
function monthCalendar(
  { series }: SeriesSet,
  local: readonly Float64Array[],
  timeOfDay: number | undefined,
): Pick<RecordedCalendar, "monthDay" | "monthDays"> | undefined {
  const gaps = gapsOf(local);
  if (gaps.length === 0 || gaps.some((gap) => gap < leastMonth)) return undefined;
  const days = local.map((times) => times.length > 0 ? commonMonthDay(times) : undefined);
  if (timeOfDay === undefined || days.some((day, i) => day === undefined && local[i].length > 0)) {
    const isMonth = calendarMonths(typicalGap({ series: local.map((times) => ({ times }) as Series) }));
    return isMonth && !areMultiples(gaps) ? {} : undefined;
  }
  const counts = Map.groupBy(days.filter((day) => day !== undefined), (day) => day);
  const monthDay = [...counts].reduce((most, one) => one[1].length > most[1].length ? one : most)[0];
  const others = series.flatMap(({ name }, i) =>
    days[i] === undefined || days[i] === monthDay ? [] : [[name, days[i]] as const]
  );
  return { monthDay, ...(others.length > 0 ? { monthDays: Object.fromEntries(others) } : {}) };
}

/**
 * Whether steps are equal in local time, and not between instants: steps of days, or of hours that clocks that
 * change lengthen and shorten.
 */
function hasLocalSteps(
  observed: readonly Float64Array[],
  local: readonly Float64Array[],
  zone: string | undefined,
): boolean {
  if (zone === undefined || zone === "UTC") return false;
  const gaps = gapsOf(local);
  if (gaps.length === 0 || gaps.some((gap) => gap <= 0)) return false;
  if (onlyTimeOfDay(local) !== undefined) return true;
  return areMultiples(gaps) && !areMultiples(gapsOf(observed));
}

/** Minimum length of a cell in seconds. */
const leastCell = 60;

/** Cells with fewer observations, as a fraction of their weeks or days, count as closed. */
const rare = 0.05;

/** Maximum fraction of the rows outside of a recognised calendar, and minimum fraction of its cells with rows. */
const [mostOutside, leastFilled] = [0.02, 0.5];

/** Maximum probability that a cell that is always missing is open. */
const leastProbable = 0.02;

/** Open cells of a week, or undefined if all are open. */
function openCells(
  all: readonly Float64Array[],
  given: GivenCalendar,
  option: string,
): OpenCells | undefined {
  const local = selectEvenly(all.filter(({ length }) => length > 0), maxSeries);
  const isGiven = typeof given !== "string";
  const parts: readonly GivenDays[] = isGiven ? given : [{}];
  const step = cellOf(local);
  const hasHours = parts.some(({ hours }) => hours !== undefined);
  if (step === undefined || step === daySeconds && hasHours) {
    if (hasHours) {
      const found = step === undefined ? "steps of less than a minute or without a grid" : "steps of a day";
      throw unusable(
        option,
        `its hours need steps of 1 minute to 12 hours, and the series have ${found}`,
        "leave it out",
      );
    }
    if (!isGiven) return undefined;
  }
  const length = step ?? daySeconds;
  const first = local.find((times) => times.length > 0)?.[0] ?? 0;
  const grid = { step: length, phase: length === daySeconds ? 0 : weekdayOf(first).time % length };
  const counts = new CellCounts(local, grid);
  const days = parts[0].days ?? (hasHours && parts.length > 1 ? allDays : openDays(counts));
  const isOpen = parts.length > 1
    ? allDays.map((day) => {
      const part = parts.find((part) => part.days!.includes(day));
      return part ? cellsIn(part.hours!, grid) : cellsIn([], grid);
    })
    : product(days, parts[0].hours ? cellsIn(parts[0].hours, grid) : openHours(counts, days));
  if (!hasHours) closeRareCells(counts, isOpen, days);
  if (isOpen.every((cells) => cells.every(Boolean))) return undefined;
  if (!isOpen.some((cells) => cells.includes(true))) {
    throw unusable(option, "no time of the series is within it", "choose other days or hours");
  }
  if (isGiven) return { ...grid, isOpen };
  const inside = counts.countIn(isOpen);
  return counts.rows - inside <= mostOutside * counts.rows ? { ...grid, isOpen } : undefined;
}

const allDays = [0, 1, 2, 3, 4, 5, 6] as const;

function product(days: readonly number[], cells: readonly boolean[]): boolean[][] {
  return allDays.map((day) => cells.map((isOpen) => isOpen && days.includes(day)));
}

/** Cells of a day whose start is within some hours. */
function cellsIn(hours: readonly HourRange[], { step, phase }: Pick<OpenCells, "step" | "phase">): boolean[] {
  return Array.from({ length: Math.round(daySeconds / step) }, (_, cell) => {
    const start = phase + cell * step;
    return hours.some(([from, to]) => start >= from - 1e-6 && start <= to + 1e-6);
  });
}

/**
 * Length of a cell: a day if all times are at one time of the day, or else the greatest common divisor of the times of
 * the day. Undefined if it is below a minute.
 */
function cellOf(local: readonly Float64Array[]): number | undefined {
  const millisecond = (time: number) => Math.round(1000 * weekdayOf(time).time);
  let [first, step] = [NaN, 1000 * daySeconds];
  for (const times of local) {
    for (const time of times) {
      const at = millisecond(time);
      if (Number.isNaN(first)) first = at;
      step = gcd(step, Math.abs(at - first));
      if (step < 1000 * leastCell) return undefined;
    }
  }
  return step / 1000;
}

/** Counts of observations in the cells of a week. */
class CellCounts {
  /** Number of cells of a day. */
  readonly cells: number;
  /** Number of rows. */
  rows = 0;
  /** Days between the first and the last row, in weeks with rows; days with rows. By weekday. */
  readonly possible = allDays.map(() => 0);
  readonly active = allDays.map(() => 0);
  /** Rows of each cell. Shape (7, cells). */
  readonly #counts: Float64Array[];

  constructor(local: readonly Float64Array[], { step, phase }: Pick<OpenCells, "step" | "phase">) {
    this.cells = Math.round(daySeconds / step);
    this.#counts = allDays.map(() => new Float64Array(this.cells));
    for (const times of local) {
      // A cell that begins before midnight belongs to that day.
      const days = new Set<number>();
      for (const time of times) {
        const start = time - (step === daySeconds ? 0 : phase);
        const { weekday, time: inDay } = weekdayOf(start);
        this.#counts[weekday][Math.min(this.cells - 1, Math.floor(inDay / step + 1e-9))]++;
        days.add(dayOf(start));
      }
      this.rows += times.length;
      const sorted = [...days].sort((a, b) => a - b);
      for (const day of sorted) this.active[(day + 3) % 7]++;
      const weeks = new Set(sorted.map(weekOf));
      for (let week = weekOf(sorted[0]); week <= weekOf(sorted[sorted.length - 1]); week++) {
        if (!weeks.has(week)) continue;
        for (const weekday of allDays) {
          const day = 7 * week - 3 + weekday;
          if (day >= sorted[0] && day <= sorted[sorted.length - 1]) this.possible[weekday]++;
        }
      }
    }
  }

  /** Number of rows of a cell of a weekday. */
  at(weekday: number, cell: number): number {
    return this.#counts[weekday][cell];
  }

  /** Number of rows in open cells. */
  countIn(isOpen: OpenCells["isOpen"]): number {
    return sum(
      allDays,
      (day) => this.#counts[day].reduce((sum, count, cell) => sum + (isOpen[day][cell] ? count : 0), 0),
    );
  }
}

function sum(list: readonly number[], of: (one: number) => number): number {
  return list.reduce((total, one) => total + of(one), 0);
}

/**
 * Whether cells without observations are closed, and not missing by chance.
 *
 * @param possible Number of possible observations in the other cells.
 * @param seen Number of observations in the other cells.
 * @param times Number of times that the cells were missing.
 * @param choices Number of calendars that are as probable.
 */
function areClosed(possible: number, seen: number, times: number, choices: number): boolean {
  const missing = Math.max(0, possible - seen);
  return seen >= leastFilled * possible &&
    choices * ((missing + 1) / (possible + 2)) ** times < leastProbable;
}

/** Closed days that are more probable than others, with the number of calendars of their kind. */
const usualClosed: Readonly<Record<string, number>> = { "5,6": 1, "6": 10, "4,5": 10 };

/** Minimum number of weeks without observations on unusual closed days. */
const leastWeeks = 2;

/** Weekdays with observations; all of them unless the others are clearly closed. */
function openDays({ possible, active }: CellCounts): readonly number[] {
  const isClosed = (day: number) => possible[day] > 0 && active[day] <= rare * possible[day];
  const closed = allDays.filter(isClosed);
  const open = allDays.filter((day) => !isClosed(day));
  if (closed.length === 0 || open.length < 2) return allDays;
  const choices = usualClosed[closed.join()] ?? 100;
  const weeks = Math.min(...closed.map((day) => possible[day]));
  const isClear = areClosed(
    sum(open, (day) => possible[day]),
    sum(open, (day) => active[day]),
    sum(closed, (day) => possible[day]),
    choices,
  );
  return isClear && (choices === 1 || weeks >= leastWeeks) ? open : allDays;
}

/** Cells of a day with observations; all of them unless the others are clearly closed. */
function openHours(counts: CellCounts, days: readonly number[]): readonly boolean[] {
  const cells = Array.from({ length: counts.cells }, (_, cell) => cell);
  const whole = cells.map(() => true);
  const active = sum(days, (day) => counts.active[day]);
  const seen = cells.map((cell) => sum(days, (day) => counts.at(day, cell)));
  const isOpen = seen.map((count) => count > rare * active);
  const open = cells.filter((cell) => isOpen[cell]);
  if (open.length === cells.length || active < 3) return whole;
  const isClear = areClosed(active * open.length, sum(open, (cell) => seen[cell]), active, cells.length);
  return isClear ? isOpen : whole;
}

/** Closes the cells of single weekdays that have no observations, such as the afternoons of Saturdays. */
function closeRareCells(counts: CellCounts, isOpen: boolean[][], days: readonly number[]): void {
  const cells = days.flatMap((day) => isOpen[day].flatMap((open, cell) => open ? [{ day, cell }] : []));
  const isRare = ({ day, cell }: { day: number; cell: number }) =>
    counts.at(day, cell) <= rare * counts.active[day];
  const rareCells = cells.filter(isRare);
  if (rareCells.length === 0 || counts.cells === 1) return;
  const others = cells.filter((cell) => !isRare(cell));
  const possible = others.reduce((total, { day }) => total + counts.active[day], 0);
  const seen = others.reduce((total, { day, cell }) => total + counts.at(day, cell), 0);
  for (const { day, cell } of rareCells) {
    if (areClosed(possible, seen, counts.active[day], cells.length)) isOpen[day][cell] = false;
  }
}

/** Open hours of a week, for a record. */
function recordCells(cells: OpenCells): Pick<RecordedCalendar, "name" | "open" | "equalDays"> {
  const { step, phase, isOpen } = cells;
  const starts = isOpen.flatMap((day, weekday) =>
    day.flatMap((open, cell) => open ? [weekday * daySeconds + phase + cell * step] : [])
  );
  const open: [number, number][] = [];
  const add = (from: number, to: number) => {
    if (open.at(-1)?.[1] === from) open.at(-1)![1] = to;
    else open.push([from, to]);
  };
  // The last cell of Sunday may end on Monday.
  const late = starts.filter((start) => start + step > weekSeconds);
  for (const start of late) add(Math.max(0, start - weekSeconds), start + step - weekSeconds);
  for (const start of starts) if (start < weekSeconds) add(start, Math.min(weekSeconds, start + step));
  const counts = isOpen.map((day) => day.filter(Boolean).length).filter((count) => count > 0);
  return {
    name: calendarName(cells),
    open,
    ...(new Set(counts).size === 1 ? { equalDays: counts.length } : {}),
  };
}
