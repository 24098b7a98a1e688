/** Series that a model follows while their observations arrive. */
import type { FollowedSeries, Follower } from "../../models/follow.ts";

/** Follows series whose rows are a unit apart, some of them at a time. What is known of a series is JSON. */
export interface Following {
  /** Takes a row of each series with what is known of it, nothing at first: outputs, and what is known now. */
  push(
    rows: readonly number[][],
    known: readonly unknown[],
  ): Promise<{ outputs: number[]; known: unknown }[]>;
  /** Refuses what is not known of a series of this model. @throws {RangeError} */
  check(known: unknown): void;
}

/** Follows series along splines. */
export function following(follower: Follower): Following {
  return {
    async push(rows, known) {
      const next = await follower.push(rows, known as (FollowedSeries | undefined)[]);
      return next.predictions.map((outputs, i) => ({ outputs, known: next.known[i] }));
    },
    check: follower.check,
  };
}

/** The mean of the outputs of several models, which know something each. */
export function followingAll(members: readonly Following[]): Following {
  return {
    async push(rows, known) {
      const all = await Promise.all(
        members.map((member, m) =>
          member.push(rows, known.map((one) => (one as unknown[] | undefined)?.[m]))
        ),
      );
      return rows.map((_, i) => ({
        outputs: all[0][i].outputs.map((_, j) =>
          all.reduce((sum, own) => sum + own[i].outputs[j], 0) / members.length
        ),
        known: all.map((own) => own[i].known),
      }));
    },
    check(known) {
      if (!Array.isArray(known) || known.length !== members.length) {
        throw new RangeError(`expected what each of ${members.length} models knows`);
      }
      members.forEach((member, m) => member.check(known[m]));
    },
  };
}
