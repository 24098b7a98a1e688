/**
 * Recognises the open days and hours of a week. A day is divided into cells of `step` seconds that start `phase` seconds after
 * midnight. Weekday 0 is Monday. A cell is open if the series have rows in it.
 */
import { OptionError } from "../../device/errors.ts";
import {
  dayOf,
  daySeconds,
  type RecordedCalendar,
  weekdayOf,
  weekOf,
  weekSeconds,
} from "../record/calendar.ts";
import {
  calendarForms,
  calendarName,
  type CalendarOption,
  type DayHours,
  type HourRange,
  type OpenCells,
} from "../record/calendar_notation.ts";
import { gcd } from "../math/gcd.ts";
import { selectEvenly } from "../math/select_evenly.ts";

/** Maximum number of series to recognise a calendar in. */
const maxSeries = 200;

/** Minimum length of a cell in seconds. */
const leastCell = 60;

/** Cells with fewer observations, as a fraction of their weeks or days, count as closed. */
const rare = 0.05;

/** Maximum fraction of the rows outside of a recognised calendar. */
const maxOutside = 0.02;

/** Minimum fraction of the possible observations in other cells, to decide that cells without observations are closed. */
const minFilled = 0.6;

/** Maximum probability that a cell that is always missing is open. */
const maxChance = 0.02;

/**
 * Open cells of a week. Undefined if all are open, and, unless they are given, if the series have no grid or too many rows in
 * closed cells.
 *
 * @param all Local times of each series, in seconds since 1970.
 * @param option Name of the option of the calendar, for errors.
 */
export function openCells(
  all: readonly Float64Array[],
  days: CalendarOption,
  option: string,
): OpenCells | undefined {
  const local = selectEvenly(all.filter(({ length }) => length > 0), maxSeries);
  const isExplicit = typeof days !== "string";
  const parts: readonly DayHours[] = isExplicit ? days : [{}];
  const step = cellOf(local);
  const hasHours = parts.some(({ hours }) => hours !== undefined);
  if (step === undefined || step === daySeconds && hasHours) {
    if (hasHours) {
      const actual = step === undefined ? "steps of less than a minute or without a grid" : "steps of a day";
      throw unusable(
        option,
        `its hours need steps of 1 minute to 12 hours, and the series have ${actual}`,
        "leave it out",
      );
    }
    if (!isExplicit) return undefined;
  }
  const length = step ?? daySeconds;
  const first = local[0]?.[0] ?? 0;
  const grid = { step: length, phase: length === daySeconds ? 0 : weekdayOf(first).time % length };
  const cells = cellsOf(local, grid, parts);
  // One time of the day, and few rows at others: the steps are days.
  const areDays = !hasHours && cells.isOpen.every((day) => day.filter(Boolean).length <= 1);
  const { isOpen, inside, ...used } = areDays ? cellsOf(local, { step: daySeconds, phase: 0 }, parts) : cells;
  if (isOpen.every((day) => day.every(Boolean))) return undefined;
  if (isExplicit && inside === 0) {
    throw unusable(
      option,
      "all times of the series are outside of the calendar",
      "choose other days or hours",
    );
  }
  return isExplicit || used.rows - inside <= maxOutside * used.rows ? { ...used.grid, isOpen } : undefined;
}

/** Open cells of a grid, and the number of rows in them and of all rows. */
function cellsOf(
  local: readonly Float64Array[],
  grid: Pick<OpenCells, "step" | "phase">,
  parts: readonly DayHours[],
): { grid: Pick<OpenCells, "step" | "phase">; isOpen: boolean[][]; inside: number; rows: number } {
  const hasHours = parts.some(({ hours }) => hours !== undefined);
  const counts = new CellCounts(local, grid);
  const days = parts[0].days ?? (hasHours && parts.length > 1 ? allDays : openDays(counts));
  const isOpen = parts.length > 1
    ? allDays.map((day) => {
      const part = parts.find((part) => part.days!.includes(day));
      return part ? cellsIn(part.hours!, grid) : cellsIn([], grid);
    })
    : product(days, parts[0].hours ? cellsIn(parts[0].hours, grid) : openHours(counts, days));
  if (!hasHours) closeRareCells(counts, isOpen, days);
  return { grid, isOpen, inside: counts.countIn(isOpen), rows: counts.rows };
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
  /** Days between the first and the last row, in weeks with rows; days with rows. By weekday, over all series. */
  readonly possible = allDays.map(() => 0);
  readonly active = allDays.map(() => 0);
  /** As `possible` and `active`, of the series with the most: series are often missing at the same times. */
  readonly mostPossible = allDays.map(() => 0);
  readonly mostActive = allDays.map(() => 0);
  /** Rows of each cell. Shape (7, cells). */
  readonly #counts: Float64Array[];

  constructor(local: readonly Float64Array[], { step, phase }: Pick<OpenCells, "step" | "phase">) {
    this.cells = Math.round(daySeconds / step);
    this.#counts = allDays.map(() => new Float64Array(this.cells));
    for (const times of local) {
      // A cell that begins before midnight belongs to that day.
      const days = new Set<number>();
      const [possible, active] = [allDays.map(() => 0), allDays.map(() => 0)];
      for (const time of times) {
        const start = time - (step === daySeconds ? 0 : phase);
        const { weekday, time: inDay } = weekdayOf(start);
        this.#counts[weekday][Math.min(this.cells - 1, Math.floor(inDay / step + 1e-9))]++;
        days.add(dayOf(start));
      }
      this.rows += times.length;
      const sorted = [...days].sort((a, b) => a - b);
      for (const day of sorted) active[weekdayOf(day * daySeconds).weekday]++;
      const weeks = new Set(sorted.map(weekOf));
      for (let week = weekOf(sorted[0]); week <= weekOf(sorted[sorted.length - 1]); week++) {
        if (!weeks.has(week)) continue;
        for (const weekday of allDays) {
          // 1970-01-01 was a Thursday.
          const day = 7 * week - 3 + weekday;
          if (day >= sorted[0] && day <= sorted[sorted.length - 1]) possible[weekday]++;
        }
      }
      for (const weekday of allDays) {
        this.possible[weekday] += possible[weekday];
        this.active[weekday] += active[weekday];
        this.mostPossible[weekday] = Math.max(this.mostPossible[weekday], possible[weekday]);
        this.mostActive[weekday] = Math.max(this.mostActive[weekday], active[weekday]);
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
 * @param missed Number of times that the cells were missing.
 * @param choices Number of calendars that could be chosen, which multiplies the probability (Bonferroni correction).
 */
function areClosed(possible: number, seen: number, missed: number, choices: number): boolean {
  const missing = Math.max(0, possible - seen);
  return seen >= minFilled * possible &&
    choices * ((missing + 1) / (possible + 2)) ** missed < maxChance;
}

/** Number of calendars to choose from, by their closed days: 1 or 10 for common weekends, 100 for other days. */
const weekends: Readonly<Record<string, number>> = { "5,6": 1, "6": 10, "4,5": 10 };

/** Minimum number of weeks without observations on unusual closed days. */
const leastWeeks = 2;

/** Weekdays with observations; all of them unless the others are clearly closed. */
function openDays({ possible, active, mostPossible }: CellCounts): readonly number[] {
  const isClosed = (day: number) => possible[day] > 0 && active[day] <= rare * possible[day];
  const closed = allDays.filter(isClosed);
  const open = allDays.filter((day) => !isClosed(day));
  if (closed.length === 0 || open.length < 2) return allDays;
  const choices = weekends[closed.join()] ?? 100;
  const weeks = Math.min(...closed.map((day) => mostPossible[day]));
  const isClear = areClosed(
    sum(open, (day) => possible[day]),
    sum(open, (day) => active[day]),
    sum(closed, (day) => mostPossible[day]),
    choices,
  );
  return isClear && (choices === 1 || weeks >= leastWeeks) ? open : allDays;
}

/** Minimum number of days, or weeks, on which a closed hour is missing. */
const leastTimes = 3;

/** Cells of a day with observations; all of them unless the others are clearly closed. */
function openHours(counts: CellCounts, days: readonly number[]): readonly boolean[] {
  const cells = Array.from({ length: counts.cells }, (_, cell) => cell);
  const whole = cells.map(() => true);
  const active = sum(days, (day) => counts.active[day]);
  const seen = cells.map((cell) => sum(days, (day) => counts.at(day, cell)));
  const isOpen = seen.map((count) => count > rare * active);
  const open = cells.filter((cell) => isOpen[cell]);
  const times = sum(days, (day) => counts.mostActive[day]);
  if (open.length === cells.length || times < leastTimes) return whole;
  const isClear = areClosed(active * open.length, sum(open, (cell) => seen[cell]), times, cells.length);
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
    const times = counts.mostActive[day];
    if (times >= leastTimes && areClosed(possible, seen, times, cells.length)) isOpen[day][cell] = false;
  }
}

/** Open hours of a week, for a record. */
export function recordCells(cells: OpenCells): Pick<RecordedCalendar, "name" | "open" | "equalDays"> {
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

/** Error of a calendar that does not fit the series. */
export function unusable(option: string, reason: string, fix: string): OptionError {
  return new OptionError(
    "unusable-option",
    (write) => `${write("calendar")} ${option} cannot be used: ${reason}`,
    { option: "calendar", expected: calendarForms, fixes: [fix] },
  );
}
