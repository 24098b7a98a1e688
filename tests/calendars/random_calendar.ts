/** Random tables whose steps follow a calendar, with their true continuation. It shares no code with the library. */

/** A table of one or more series, and what follows each series. */
export interface CalendarCase {
  readonly seed: number;
  /** Kind of the calendar, for messages. */
  readonly kind: string;
  readonly zone?: string;
  /** Value of the option `calendar`. */
  readonly calendar?: string;
  readonly rows: readonly { readonly series: string; readonly time: string; readonly x: number | null }[];
  /** Times that follow each series, as predictions print them. */
  readonly next: Readonly<Record<string, readonly string[]>>;
  /** Values that follow each series. */
  readonly truth: Readonly<Record<string, readonly number[]>>;
  /** Number of steps of a season of the values, if they repeat exactly. */
  readonly period?: number;
  readonly isConstant: boolean;
  readonly horizon: number;
}

/** Random numbers. */
class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = (seed + 1) * 2654435761 >>> 0;
    for (let i = 0; i < 4; i++) this.unit();
  }

  /** From 0 to below 1 (Mulberry32). */
  unit(): number {
    this.#state = this.#state + 0x6D2B79F5 >>> 0;
    let t = this.#state;
    t = Math.imul(t ^ t >>> 15, t | 1);
    t ^= t + Math.imul(t ^ t >>> 7, t | 61);
    return ((t ^ t >>> 14) >>> 0) / 2 ** 32;
  }

  /** A whole number from `low` to `high`, both included. */
  from(low: number, high: number): number {
    return low + Math.floor(this.unit() * (high - low + 1));
  }

  pick<T>(list: readonly T[]): T {
    return list[this.from(0, list.length - 1)];
  }
}

const zones = [
  "Europe/Berlin",
  "America/New_York",
  "America/Sao_Paulo",
  "Australia/Lord_Howe",
  "Asia/Kolkata",
  "Asia/Beirut",
];

/** Successive times of a calendar: local times, or instants. */
interface Steps {
  readonly kind: string;
  /** The time `step` steps after the start. */
  readonly at: (step: number) => Temporal.PlainDateTime;
  /** Number of rows that is enough to recognise the calendar. */
  readonly rows: readonly [number, number];
  /** Number of steps of a season. */
  readonly season?: number;
  readonly isMonths?: boolean;
  /** Whether the times are instants in UTC, whatever the zone. */
  readonly isElapsed?: boolean;
  /** Notations of the option `calendar` that name these steps. */
  readonly names?: readonly string[];
}

function startOf(random: Random): Temporal.PlainDateTime {
  return new Temporal.PlainDateTime(random.from(2004, 2023), random.from(1, 12), random.from(1, 28));
}

/** Steps that count the open cells of a week, each in minutes since Monday 00:00. */
function weekly(random: Random, cells: readonly number[]): (step: number) => Temporal.PlainDateTime {
  const start = startOf(random);
  const monday = start.subtract({ days: start.dayOfWeek - 1 });
  const first = random.from(0, cells.length - 1);
  return (step) => {
    const place = first + step;
    const week = Math.floor(place / cells.length);
    return monday.add({ days: 7 * week, minutes: cells[place - week * cells.length] });
  };
}

const daySets: readonly { days: readonly number[]; name: string }[] = [
  { days: [0, 1, 2, 3, 4], name: "weekdays" },
  { days: [0, 1, 2, 3, 4], name: "mon-fri" },
  { days: [0, 1, 2, 3, 4, 5], name: "mon-sat" },
  { days: [0, 1, 2, 3, 6], name: "sun-thu" },
  { days: [0, 2, 4], name: "mon,wed,fri" },
  { days: [1, 3], name: "tue, thu" },
];

const hoursOfDay = (minutes: number) =>
  `${Math.floor(minutes / 60)}${minutes % 60 ? `:${`${minutes % 60}`.padStart(2, "0")}` : ""}`;

const makers: Readonly<Record<string, (random: Random) => Steps>> = {
  daily(random) {
    const start = startOf(random).add({ minutes: random.pick([0, 0, 90, 1080]) });
    return {
      kind: "daily",
      at: (step) => start.add({ days: step }),
      rows: [40, 120],
      season: 7,
      names: ["none"],
    };
  },
  days(random) {
    const { days, name } = random.pick(daySets);
    const minute = random.pick([0, 0, 0, 1020]);
    return {
      kind: name,
      at: weekly(random, days.map((day) => 1440 * day + minute)),
      rows: [6 * days.length, 16 * days.length],
      season: days.length,
      names: [name],
    };
  },
  hours(random) {
    const gap = random.pick([30, 60, 60, 120]);
    const [from, count] = [random.pick([420, 480, 510, 570]), random.from(4, 8)];
    const { days, name } = random.pick([{ days: [0, 1, 2, 3, 4, 5, 6], name: "" }, daySets[0], daySets[2]]);
    const cells = days.flatMap((day) => Array.from({ length: count }, (_, i) => 1440 * day + from + i * gap));
    const hours = `hours ${hoursOfDay(from)}-${hoursOfDay(from + (count - 1) * gap)}`;
    return {
      kind: `${name} ${hours}`.trim(),
      at: weekly(random, cells),
      rows: [3 * cells.length, 5 * cells.length],
      season: cells.length,
      names: [`${name} ${hours}`.trim(), ...(name === "" ? [] : [name])],
    };
  },
  shop(random) {
    const count = random.from(6, 9);
    const cells = [0, 1, 2, 3, 4, 5].flatMap((day) =>
      Array.from({ length: day === 5 ? 3 : count }, (_, i) => 1440 * day + 540 + i * 60)
    );
    return {
      kind: "shop",
      at: weekly(random, cells),
      rows: [4 * cells.length, 6 * cells.length],
      season: cells.length,
      names: [`weekdays hours 9-${8 + count}; sat hours 9-11`],
    };
  },
  thrice(random) {
    const minutes = random.pick([[480, 720, 1080], [420, 780, 1140], [360, 1320], [480, 540, 1200]]);
    const cells = Array.from({ length: 7 }, (_, day) => minutes.map((minute) => 1440 * day + minute)).flat();
    return {
      kind: `at ${minutes.map(hoursOfDay)}`,
      at: weekly(random, cells),
      rows: [3 * cells.length, 6 * cells.length],
      season: cells.length,
    };
  },
  hourly(random) {
    const start = startOf(random);
    const hours = random.pick([1, 1, 3, 6]);
    return {
      kind: `${hours} hours`,
      at: (step) => start.add({ hours: hours * step }),
      rows: [5 * 24 / hours, 10 * 24 / hours],
      season: 7 * 24 / hours,
      isElapsed: true,
    };
  },
  weekly(random) {
    const start = startOf(random);
    const weeks = random.pick([1, 1, 2, 4]);
    return { kind: `${weeks} weeks`, at: (step) => start.add({ weeks: weeks * step }), rows: [30, 80] };
  },
  months(random) {
    const months = random.pick([1, 1, 1, 3, 6, 12]);
    const day = random.from(1, 31);
    const first = startOf(random).with({ day: 1 });
    return {
      kind: `${months} months on day ${day}`,
      at: (step) => {
        const month = first.add({ months: months * step });
        return month.with({ day: Math.min(day, month.daysInMonth) });
      },
      rows: months === 12 ? [16, 30] : [24, 60],
      season: months === 12 ? undefined : 12 / months,
      isMonths: true,
    };
  },
};

/** Makes a random case. The same seed gives the same case. */
export function randomCalendar(seed: number): CalendarCase {
  const random = new Random(seed);
  const steps = makers[random.pick(Object.keys(makers))](random);
  const zone = random.unit() < 0.4 ? random.pick(zones) : undefined;
  const write = writer(random, steps, zone);
  const valueOf = values(random, steps);
  const names = random.pick([["only"], ["a", "b"], ["a", "b", "c"]]);
  const dropped = random.pick([0, 0, 0.03, 0.06]);
  const areEmpty = random.unit() < 0.3;
  const rows: { series: string; time: string; x: number | null }[] = [];
  const next: Record<string, string[]> = {};
  const truth: Record<string, number[]> = {};
  const most = Math.round(random.from(...steps.rows));
  // The parts to validate and to test need a horizon each.
  const horizon = random.from(2, Math.max(2, Math.min(12, Math.floor(most / 10))));
  names.forEach((series, i) => {
    // Series may start late and end early.
    const from = i > 0 && random.unit() < 0.5 ? random.from(0, Math.floor(most / 4)) : 0;
    const length = most - (i > 0 && random.unit() < 0.3 ? random.from(0, 3) : 0);
    for (let step = from; step < length; step++) {
      const isMissing = step > from && step < length - 1 && random.unit() < dropped;
      if (isMissing && !areEmpty) continue;
      rows.push({ series, time: write.table(step), x: isMissing ? null : valueOf(step, i) });
    }
    const following = Array.from({ length: horizon }, (_, h) => length + h);
    next[series] = following.map(write.printed);
    truth[series] = following.map((step) => valueOf(step, i));
  });
  const calendar = random.unit() < 0.25 && steps.names ? random.pick(steps.names) : undefined;
  return {
    ...{ seed, kind: steps.kind, rows, next, truth, horizon },
    ...{ isConstant: valueOf.isConstant, period: valueOf.period },
    ...(zone ? { zone } : {}),
    ...(calendar ? { calendar } : {}),
  };
}

/** How the times are written in the table, and in predictions. */
function writer(random: Random, { at, isMonths, isElapsed }: Steps, zone = "UTC") {
  const isWhole = Array.from({ length: 40 }, (_, step) => at(step)).every(({ hour, minute }) =>
    hour + minute === 0
  );
  const instant = (step: number) => at(step).toZonedDateTime(isElapsed ? "UTC" : zone);
  const form = random.from(0, 3);
  const isFirst = isMonths && Array.from({ length: 40 }, (_, step) => at(step)).every(({ day }) => day === 1);
  const table = (step: number): string => {
    if (isElapsed) return instant(step).withTimeZone(zone).toString({ timeZoneName: "never" });
    const date = at(step);
    const [day, time] = date.toString({ smallestUnit: "minute" }).split("T");
    if (isFirst && form === 3) return day.slice(0, 7).replace("-", "");
    if (isWhole && form === 1) return day;
    if (isWhole && form === 2) return day.replaceAll("-", "/");
    if (isWhole && form === 3 && zone === "UTC") {
      // The end of the day before.
      return `${date.subtract({ days: 1 }).toPlainDate()} 24:00`;
    }
    return form % 2 ? `${day}T${time}` : `${day} ${time}:00`;
  };
  const printed = (step: number): string => {
    const day = at(step).toPlainDate();
    if (isMonths) return day.day === 1 ? `${day}`.slice(0, 7) : `${day}`;
    return instant(step).toInstant().toString();
  };
  return { table, printed };
}

/** Values of each step and series. */
function values(random: Random, { season }: Steps) {
  const form = random.pick(["constant", "line", "season", "season", "both", "noise"] as const);
  const period = season ?? 1;
  const shape = Array.from({ length: period }, () => random.from(-40, 40) / 4 + 20);
  shape[0] += 1;
  const noise = new Random(random.from(0, 1e9));
  const known = new Map<string, number>();
  const at = (step: number, series: number): number => {
    const scale = 10 ** series;
    if (form === "constant") return 7 * scale;
    const line = 100 + step;
    if (form === "line") return line * scale;
    const seasonal = shape[step % period];
    if (form === "season") return seasonal * scale;
    if (form === "both") return (line + seasonal) * scale;
    const key = `${step} ${series}`;
    if (!known.has(key)) known.set(key, (10 + noise.unit()) * scale);
    return known.get(key)!;
  };
  const repeats = form === "constant" || form === "season" && season !== undefined;
  return Object.assign(at, {
    isConstant: form === "constant" || form === "season" && new Set(shape).size === 1,
    period: repeats ? period : undefined,
  });
}
