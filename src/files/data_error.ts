/**
 * Invalid data from the caller: a table, a series, an observation, a saved state, or the resulting prediction
 * of a model. The message is only about these data, so a server may send it to the client. All other errors
 * are internal.
 */
export class DataError extends Error {
  /** `"DataError"`. */
  override name = "DataError";
}
