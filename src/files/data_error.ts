/**
 * Data of the caller that cannot be used: a table, a series, an observation or a saved state, or the prediction that a model makes
 * of them. The message is about these data alone, so that a server may send it to the client. Other errors are internal.
 */
export class DataError extends Error {
  /** `"DataError"`. */
  override name = "DataError";
}
