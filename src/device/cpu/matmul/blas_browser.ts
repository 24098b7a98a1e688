/** Replaces `blas.ts` in applications for browsers: see `replacedInBrowsers` in `tasks/pack.ts`. */

/** Browsers cannot call native libraries, so `init` rejects `blas` before this call. */
export function openBlas(): never {
  throw new Error("init: browsers cannot call a native library");
}
