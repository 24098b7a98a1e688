import { checkFunction, checkTensor } from "../tensor/checks.ts";
import { checkOptions, namesOf } from "../device/options.ts";
import { scalar, tensor, zeros } from "../tensor/creation.ts";
import { concatenate, stopGradient } from "../tensor/functions.ts";
import { checkResolution } from "../paths/times.ts";
import { derivativeOrder, withoutAnyRecording } from "../tensor/primitive.ts";
import { tidy, tidyLater } from "../tensor/scope.ts";
import type { Tensor } from "../tensor/tensor.ts";
import type { Tree } from "../tensor/tree.ts";
import { isCapturing } from "../device/capture.ts";
import { inEachCall } from "../compile/jit/each_call.ts";
import { tableOf } from "./adaptive/step_table.ts";
import { recordStatistics, runSearch } from "./adaptive/adaptive.ts";
import { columnShape } from "./adaptive/steps.ts";
import { isAdaptive, methodOf, withStageTolerances } from "./methods.ts";
import { checkAdaptiveOptions, checkField } from "./check_arguments.ts";
import { odeDefaults } from "./defaults.ts";
import { checkOptionUse } from "./option_use.ts";
import { moveToEvent } from "./events/event_moves.ts";
import { type EventStates, replayEvents } from "./events/event_replay.ts";
import { checkStart, forEvery, isCount, numbersOf, oneTime } from "./events/event_arguments.ts";
import { type Functions, tracedOf } from "./events/event_functions.ts";
import { requireEvents } from "./events/event_failure.ts";
import type { EventList, EventSteps } from "./events/event_lists.ts";
import { type Events, type EventStart, eventStartOf, searchEvents } from "./events/event_search.ts";
import { normOf, solvePacked } from "./odeint.ts";
import { checkSlope, packField, packState } from "./packed_state.ts";
import { solveOptionNames, type SolveOptions } from "./solve_options.ts";
import type { VectorField } from "./runge_kutta.ts";
import type { ErrorNorm } from "./adaptive/step_control.ts";
import { usesTime } from "./time_origin.ts";

/** The crossings of zero that are events: of increasing numbers, of decreasing numbers, in the direction of the solve, or both. */
export type EventDirection = "up" | "down" | "both";

/** A function of time and state whose crossings of zero are events. */
export type EventFunction<S extends Tree = Tensor> = (t: Tensor, y: S) => Tensor;

/** Options of a solve up to an event. */
export interface EventOptions<S extends Tree = Tree> extends SolveOptions {
  /**
   * Whether time runs backwards.
   *
   * @default {false}
   */
  reverseTime?: boolean;
  /**
   * The crossings of zero that are events: of increasing numbers (`"up"`), of decreasing numbers (`"down"`), in the direction of the
   * solve, or `"both"`; one for all event functions, or one for each. A number that is zero at the start must have a direction: its
   * next crossing in this direction is an event.
   *
   * @default {"both"}
   */
  direction?: EventDirection | readonly EventDirection[];
  /** The last time. If no event ends the solve before it, the solve ends there, and `which` is -1. Gradients flow to a tensor. */
  t1?: Tensor | number;
  /**
   * The number of events after which the solve ends, of all event functions together.
   *
   * @default {1}
   */
  maxEvents?: number;
  /**
   * The number of events of a function after which it ends the solve: one number for all functions, or one for each.
   * By default only `maxEvents` ends the solve.
   */
  terminal?: number | readonly number[];
  /**
   * Returns the state after an event, such as that of a ball with reversed velocity. `which` is the position of
   * the event function, an int32 scalar, or `(batch)` with `norm: "sample"`. By default the state stays the same. The event that
   * ends the solve has no restart.
   */
  restart?: (t: Tensor, y: S, which: Tensor) => S;
}

/** The end of a solve up to an event. With `norm: "sample"`, times and `which` are `(batch)`, otherwise scalars. */
export interface EventResult<S extends Tree> {
  /** The time of the last event, or `t1`. */
  readonly t: Tensor;
  /** The state at this time, of the structure and shapes of `y0`. */
  readonly y: S;
  /** The position of the event function that ended the solve, int32; -1 at `t1`. */
  readonly which: Tensor;
  /** All events, along a first axis of length `maxEvents`. After the last event, times and states are NaN and `which` is -1. */
  readonly events: {
    readonly t: Tensor;
    /** The states at the events, before a restart. */
    readonly y: S;
    readonly which: Tensor;
  };
}

const eventOptionNames = namesOf<EventOptions>()(
  solveOptionNames,
  "reverseTime? direction? t1? maxEvents? terminal? restart?",
);

/**
 * Solves dy/dt = f(t, y) until functions of the state cross zero, as torchdiffeq's `odeint_event` and Diffrax's `Event`. Gradients
 * flow through the states and the times of the events, by the implicit function theorem. (Chen, Amos, Nickel, "Learning Neural
 * Event Functions for Ordinary Differential Equations", 2021.)
 *
 * The time and the state have the accuracy of a solve whose last step ends at the event. Interpolated states are not used, because
 * `bosh3` and `dopri8` interpolate less accurately than their tolerances. For an oscillation, a decay and logistic growth with
 * `rtol` and `atol` from 1e-4 to 1e-10, the error of the time is at most 1 times the tolerance with `dopri8`, 4 times with
 * `tsit5`, 12 times with `dopri5` and 45 times with `bosh3`.
 *
 * @example
 * ```ts
 * import { odeintEvent, stack, type Tensor, tensor } from "@weft/weft";
 *
 * // A ball falls from 10 m: when does it reach the ground?
 * const fall = (_t: unknown, y: Tensor) => stack([y.select(0, 1), y.select(0, 1).zerosLike().add(-9.81)]);
 * const { t } = odeintEvent(fall, tensor([10, 0]), 0, (_t, y) => y.select(0, 0));
 * console.log(await t.item()); // 1.43
 * ```
 *
 * @example A ball that bounces
 * ```ts
 * import { odeintEvent, stack, type Tensor, tensor } from "@weft/weft";
 *
 * const fall = (_t: unknown, y: Tensor) => stack([y.select(0, 1), y.select(0, 1).zerosLike().add(-9.81)]);
 * const { events } = odeintEvent(fall, tensor([10, 0]), 0, (_t, y) => y.select(0, 0), {
 *   direction: "down",
 *   maxEvents: 3,
 *   restart: (_t, y) => y.mul(tensor([1, -0.8])),
 * });
 * console.log(await events.t.data()); // 1.43, 3.71, 5.54
 * ```
 *
 * @param y0 The state at `t0`: a tensor or a tree of tensors, as in {@linkcode odeint}.
 * @param t0 The time of `y0`. If it is a tensor, first-order gradients flow to it.
 * @param event Returns numbers, or several such functions. A number that crosses zero is an event. Inside `vmap`, and for each sample
 * with `norm: "sample"`, each has its own events; then the functions return `(batch, ...)`. Signs are compared at the ends of
 * steps: two sign changes within one step are not seen, unless `jumpTimes` end a step between them.
 * @param options The method must be adaptive; `"dopri5"` by default.
 * @returns Time, state and position of the event at which the solve ends, and those of all events.
 * @throws {RangeError} If the method is not adaptive, `steps` is given, a time is infinite or NaN, an event function is zero at the
 * start and has no `direction`, no event is found within `maxSteps` steps, or the type of the state cannot distinguish the time of
 * the event from the start.
 * @throws {ShapeError} If an event function returns an empty tensor, or one of another batch, or `t0` is not a single time.
 * @throws {TypeError} If an event function returns bool.
 * @throws {Error} If gradients of an order above four are requested, or `t0` differs between examples of `vmap`.
 */
export function odeintEvent<S extends Tree>(
  f: VectorField<S>,
  y0: S,
  t0: Tensor | number,
  event: EventFunction<S> | readonly EventFunction<S>[],
  options: EventOptions<S> = {},
): EventResult<S> {
  checkFunction("odeintEvent", "f", f);
  const functions = typeof event === "function" ? [event] : event;
  if (!Array.isArray(functions) || functions.length === 0) checkFunction("odeintEvent", "event", event);
  functions.forEach((event) => checkFunction("odeintEvent", "event", event));
  checkOptions("odeintEvent", options, eventOptionNames);
  const { reverseTime, direction = "both", t1, maxEvents = 1, terminal, restart, ...others } = options;
  const { method = odeDefaults.method, adjoint = "direct", statistics } = others;
  const tableau = methodOf(method);
  if (!isAdaptive(tableau)) {
    throw new RangeError(
      `odeintEvent: ${tableau.name} has fixed steps; use an adaptive method, such as dopri5`,
    );
  }
  if (others.steps) {
    throw new RangeError(
      "odeintEvent: steps is not supported: odeintEvent finds the steps and the time of the event itself; omit the option",
    );
  }
  if (others.controller?.kind === "fixed" && others.controller.grid) {
    throw new RangeError(
      "odeintEvent: a controller of stepTo has no steps after its last time; use constantStepSize, or integralController with stepTimes",
    );
  }
  checkOptionUse(tableau, { ...others, method });
  const [count, words] = [functions.length, ["up", "down", "both"]];
  const isWord = (word: EventDirection) => words.includes(word);
  const directions = forEvery("direction", direction, count, isWord, '"up", "down" or "both"');
  const ends = forEvery("terminal", terminal ?? Infinity, count, isCount, "a whole number of at least 1");
  if (!isCount(maxEvents) || maxEvents === Infinity) {
    throw new RangeError(`odeintEvent: maxEvents is ${maxEvents}, expected a whole number of at least 1`);
  }
  if (restart !== undefined) checkFunction("odeintEvent", "restart", restart);
  const isOwn = adjoint === "direct" || adjoint === "checkpoint";
  if (!isOwn && (maxEvents > 1 || others.norm === "sample")) {
    throw new RangeError(
      `odeintEvent: the adjoint "${adjoint}" supports one event of all samples; use "direct" or "checkpoint"`,
    );
  }
  const state = packState(y0, "odeintEvent", normOf(options));
  const { dtype } = state.y0;
  const adaptive = checkAdaptiveOptions(options, state, 0, odeDefaults);
  const isSample = adaptive.norm === "sample";
  const start = oneTime(t0, "t0");
  const end = t1 === undefined ? undefined : oneTime(t1, "t1");
  if (
    end && (end.host === start.host || reverseTime !== undefined && reverseTime !== end.host < start.host)
  ) {
    throw new RangeError(
      `odeintEvent: t1 is ${end.host}, expected a time ${
        reverseTime ? "before" : "after"
      } t0, which is ${start.host}`,
    );
  }
  const way = reverseTime || end && end.host < start.host ? -1 : 1;
  const interval = [start.host, end?.host ?? way * Infinity] as const;
  const column = isSample ? columnShape(state.y0) : [];
  const lead = column.slice(0, 1);
  const owners: number[] = [];
  const valuesOf = (t: Tensor, y: Tensor) => {
    const [time, tree] = [state.timeOf(t), state.unpack(y)];
    const all = functions.map((event) => numbersOf(event(time, tree), state.y0, lead));
    if (owners.length === 0) owners.push(...all.flatMap((x, i) => Array<number>(x.shape.at(-1)!).fill(i)));
    return concatenate(all, -1);
  };
  const field = packField(state, f);
  const next = restart &&
    ((t: Tensor, y: Tensor, which: Tensor) =>
      checkedState(state.pack(restart(state.timeOf(t), state.unpack(y), which)), y));
  const zero = scalar(0, dtype);
  const moves = [start, end].map((time) => time?.move?.cast(dtype) ?? zero);
  const jumpMoves = adaptive.watchedJumps?.sub(stopGradient(adaptive.watchedJumps)).cast(dtype);
  const isMoving = end?.move !== undefined || jumpMoves !== undefined;

  const eventsOf = ({ values, restart, closure }: Functions): Events => ({
    ...{ values, owners, terminal: ends, maxEvents, restart, closure },
    // The owners are known when the functions have run once.
    get directions() {
      return owners.map((i) => ({ up: 1, down: -1, both: 0 })[directions[i]]);
    },
  });
  const solver = withStageTolerances(tableau, adaptive);
  const { compile } = options;
  const optionsWith = ({ measure }: Functions) => ({ ...adaptive, measure });
  const startAt = (y0: Tensor, functions: Functions) =>
    eventStartOf(solver, checkField(functions.f), y0, interval, optionsWith(functions), eventsOf(functions));
  const solve = (
    [y0, ofStart, ofEnd, ofJumps]: readonly Tensor[],
    functions: Functions,
    from: EventStart,
  ) => {
    const field = checkField(functions.f);
    const eventSteps = withoutAnyRecording(() =>
      tidy(() => {
        checkStart(from.values, owners, directions);
        const events = eventsOf(functions);
        const searched = { ...optionsWith(functions), compile };
        return runSearch(searchEvents(solver, field, y0, interval, searched, events, from));
      })
    );
    requireEvents(eventSteps, tableau.name, start.host, adaptive, dtype);
    recordStatistics(statistics, eventSteps);
    for (const { ends } of eventSteps.lists) {
      checkResolution([start.host, ends.at(-1)!], dtype, "odeintEvent: the start and the event");
    }
    const times = [adaptive.jumps ?? [], adaptive.stops ?? []].flatMap((list) => Array.from(list));
    const still = zeros([times.length - (ofJumps?.size ?? 0)], { dtype });
    const moves = [...ofJumps ? [ofJumps] : [], still, ...end ? [ofEnd.reshape([1])] : []];
    const { t, y, ts, ys } = isOwn
      ? replayEvents(
        solver,
        field,
        y0,
        start.host,
        way,
        eventSteps,
        eventsOf(functions),
        {
          values: [...times, ...end ? [end.host] : []],
          moves: isMoving ? concatenate(moves) : undefined,
          start: start.move && ofStart,
        },
        from.slope[0],
        { ...others, compile, checkpoint: adjoint === "checkpoint" },
      )
      : solveElsewhere([y0, ofStart, ofEnd], functions, eventSteps);
    return [t, y, ts, ys, ...whichOf(eventSteps, owners, maxEvents, column, dtype)];
  };
  /** A solve with another adjoint, up to its first event. */
  const solveElsewhere = (
    [y0, ofStart, ofEnd]: readonly Tensor[],
    { f, values }: Functions,
    eventSteps: EventSteps,
  ): EventStates => {
    const times = eventSteps.lists.map((list) => list.ends.at(-1)!);
    const last = times.reduce((a, b) => Math.abs(b - start.host) > Math.abs(a - start.host) ? b : a);
    const steps = { method, interval: [start.host, last] as const, origin: 0, accepted: eventSteps };
    const shifted = { origin: 0, f, usesTime: (norm: ErrorNorm) => usesTime(f, y0, norm) };
    // A later start begins at a point that the solution left before.
    const first = start.move ? y0.sub(stopGradient(f(scalar(start.host, dtype), y0)).mul(ofStart)) : y0;
    const chosen = { ...others, method, steps, statistics: undefined };
    const host = Float64Array.of(start.host, last);
    const y = solvePacked(shifted, { ...state, y0: first }, host, chosen, odeDefaults).y.select(0, 1);
    const table = (of: (list: EventList) => number) =>
      tableOf(eventSteps, 1, [], (list) => of(list), dtype).squeeze(0);
    const t = table(({ ends }) => ends.at(-1)!);
    const kind = table(({ crossed }) => crossed.at(-1)!);
    const orders = derivativeOrder();
    if (orders === 0) return { t, y, ts: t.expandDims(0), ys: y.expandDims(0) };
    const index = tensor(owners.map((_, i) => i), { dtype });
    const atEnd = { t, shift: zero, y, slope: f(t, y) };
    const moved = moveToEvent(f, values, index, atEnd, kind, orders, ofEnd);
    const time = t.add(moved.shift);
    return { t: time, y: moved.y, ts: time.expandDims(0), ys: moved.y.expandDims(0) };
  };

  const inputs = [state.y0, ...moves, ...jumpMoves ? [jumpMoves] : []];
  const all = { f: field, values: valuesOf, restart: next, measure: adaptive.measure };
  const traced = tracedOf(all, state.y0, adaptive.norm);
  const functionsNow = traced ? traced.with(traced.tensors) : all;
  const { result: from, release } = tidyLater(() => startAt(state.y0, functionsNow));
  const results = traced && isCapturing()
    ? inEachCall(
      [...from.slope, from.size, from.values, from.signs, ...inputs, ...traced.tensors],
      ([slope, size, values, signs, ...rest]) => {
        const functions = traced.with(rest.slice(inputs.length));
        return solve(rest.slice(0, inputs.length), functions, { slope: [slope], size, values, signs });
      },
    )
    : solve(inputs, functionsNow, from);
  release(results);
  const [t, y, ts, ys, which, whichAll] = results;
  return {
    t: t.reshape(lead),
    y: state.unpack(y),
    which: which.reshape(lead).cast("int32"),
    events: {
      t: ts.reshape([maxEvents, ...lead]),
      y: state.unpack(ys, 1),
      which: whichAll.reshape([maxEvents, ...lead]).cast("int32"),
    },
  };
}

function checkedState(next: Tensor, y: Tensor): Tensor {
  checkTensor("odeintEvent: the result of restart", next);
  checkSlope(next, y, "", "odeintEvent: restart");
  return next;
}

/** The position of the event function of the last event, a column, and of all events along a first axis; -1 without. */
function whichOf(
  eventSteps: EventSteps,
  owners: readonly number[],
  maxEvents: number,
  column: readonly number[],
  dtype: Tensor["dtype"],
): [Tensor, Tensor] {
  const crossed = eventSteps.lists.map(({ crossed }) => crossed.filter((number) => number >= 0));
  const ownerOf = (number: number | undefined) => number === undefined ? -1 : owners[number];
  const last = tableOf(eventSteps, 1, column, ({ crossed }) => owners[crossed.at(-1)!] ?? -1, dtype);
  return [
    last.squeeze(0),
    tableOf(eventSteps, maxEvents, column, (_, k, i) => ownerOf(crossed[i][k]), dtype),
  ];
}
