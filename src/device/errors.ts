/** Errors with a code and fields for programs. */
import { printable } from "./printable.ts";

/**
 * Code of a {@linkcode WeftError}. Codes do not change between versions; messages may. The comment of a code has the meaning, then
 * the way out.
 */
export type ErrorCode =
  // Options.
  /** An option does not exist. Use one of the names in `expected`. */
  | "unknown-option"
  /** A required option is missing. Set `option`. */
  | "missing-option"
  /** The value of an option is not valid. Use one of the values in `expected`. */
  | "invalid-option"
  /** An option, a command or a model cannot be used in this combination. Omit it, or choose another model or method. */
  | "unusable-option"
  /** Two options exclude each other. Omit one of the two. */
  | "conflicting-options"
  /**
   * An experiment does not exist in this program. Use one of the names in `expected`, or run the program that defines the
   * experiment.
   */
  | "unknown-experiment"
  /** A model does not exist. Use one of the names in `expected`. */
  | "unknown-model"
  // Tables.
  /** A table lacks a column. Add `column`, or set `option` to the name of the column in the table. */
  | "missing-column"
  /** A table has a column that the model does not read, or a column without a name. Remove or rename the column. */
  | "unknown-column"
  /** Two columns have one name. Rename one of the two. */
  | "conflicting-columns"
  /** A value of a table is not valid. Correct the value of `column` in `row`, or leave the cell empty if the value is missing. */
  | "invalid-cell"
  /** A row is not valid, such as one with too few fields. Correct `row`. */
  | "invalid-row"
  /** Two rows of a series contradict each other. Remove one of the two, or set `duplicates`. */
  | "conflicting-rows"
  /** A file or a folder has no rows. Give a table with rows. */
  | "empty-table"
  /** There are too many fields, columns, categories, observations or unpacked bytes. Send fewer, or split the data. */
  | "too-large"
  /** There are too few series, classes or observations. Give more data, or lower `option`. */
  | "too-small"
  // Series, observations and predictions.
  /** A series has no value, or no true value to compare predictions with. Leave out the series. */
  | "empty-series"
  /** The model does not know a class. Rename the label to one in `expected`, or leave out its series. */
  | "unknown-label"
  /**
   * An observation of a stream is not valid, or too large for float32. Correct the observation, and send observations in the order
   * of time.
   */
  | "invalid-observation"
  /** A saved state does not belong to the model. Start the stream without the state. */
  | "invalid-state"
  /**
   * The model has no finite prediction, or the forecast is too far ahead. Request earlier times, or train with a longer
   * horizon.
   */
  | "no-prediction"
  // Files.
  /** A file does not exist, or cannot be read. Correct the path or the permissions. */
  | "unreadable-file"
  /** A file is truncated or damaged, or has another encoding. Fetch the file again, or name its encoding. */
  | "damaged-file"
  /** The format of a table is not supported. Save the table as CSV, JSON lines or Parquet. */
  | "unsupported-format"
  /** Another version of Weft wrote a run. Use the version in `expected`, or train again. */
  | "unsupported-version"
  /**
   * Saved weights belong to another model. Use the files of one run, or make the model with the options of the saved
   * one.
   */
  | "mismatched-weights";

/** Formats the name of an option. */
export type OptionWriter = (option: string) => string;

/** Text of an error, or a function that returns the text and receives a formatter for the names of options. */
export type ErrorText = string | ((write: OptionWriter) => string);

/** Fields of an error, for programs. */
export interface ErrorFields {
  /** Name of the option that is wrong, or that corrects the error, such as `"learningRate"`. */
  readonly option?: string;
  /** Line of a text table, or row of another table, from 1. */
  readonly row?: number;
  /** Name of the column. */
  readonly column?: string;
  /** Valid values. */
  readonly expected?: string;
}

/** Fields, and ways to correct the error. The ways are the end of the message. */
export interface ErrorDetails extends ErrorFields {
  /** Ways to correct the error. */
  readonly fixes?: readonly ErrorText[];
}

/** Message of an error, and the end of it that says how to correct the error. */
export interface WrittenError {
  /** The whole message, in one line. */
  readonly message: string;
  /** Ways to correct the error, if the message has some. */
  readonly fix?: string;
}

/** An error that the caller can correct. The message has one line. */
export class WeftError extends Error implements ErrorFields {
  /** Name of the class. */
  override name = "WeftError";
  /** Kind of the error, for programs. */
  readonly code: ErrorCode;
  /** Name of the option that is wrong, or that corrects the error, such as `"learningRate"`. */
  readonly option?: string;
  /** Line of a text table, or row of another table, from 1. */
  readonly row?: number;
  /** Name of the column. */
  readonly column?: string;
  /** Valid values. */
  readonly expected?: string;
  /** Ways to correct the error. The message ends with them. */
  readonly fix?: string;
  readonly #text: ErrorText;
  readonly #fixes: readonly ErrorText[];

  /**
   * Makes an error.
   *
   * @param text The fault.
   * @param write Formats the names of options in the message.
   */
  constructor(
    code: ErrorCode,
    text: ErrorText,
    details: ErrorDetails & ErrorOptions = {},
    write: OptionWriter = (option) => `the option ${option}`,
  ) {
    const { fixes = [], option, row, column, expected, ...cause } = details;
    const { message, fix } = written(text, fixes, write);
    super(message, cause);
    this.code = code;
    this.option = option;
    this.row = row;
    this.column = column;
    this.expected = expected;
    this.fix = fix;
    this.#text = text;
    this.#fixes = fixes;
  }

  /**
   * The message for readers who set options in another way, such as by flags.
   *
   * @param write Formats the name of an option. Returns `undefined` for an option that the readers cannot
   * set; the message then lacks the fixes with this option.
   */
  writtenWith(write: (option: string) => string | undefined): WrittenError {
    return written(this.#text, this.#fixes, write);
  }
}

/** An option, or a combination of options, that is rejected. */
export class OptionError extends WeftError {
  /** `"OptionError"`. */
  override name = "OptionError";

  /** Makes an error about an option. @param text The fault. */
  constructor(code: ErrorCode, text: ErrorText, details?: ErrorDetails) {
    super(code, text, details, (option) => option);
  }
}

/**
 * Invalid data from the caller: a table, a series, an observation, a saved state, or the resulting prediction
 * of a model. The message is only about these data, so a server may send it to the client. All other errors
 * are internal.
 */
export class DataError extends WeftError {
  /** `"DataError"`. */
  override name = "DataError";
}

function written(
  text: ErrorText,
  fixes: readonly ErrorText[],
  write: (option: string) => string | undefined,
): WrittenError {
  const possible = fixes.flatMap((fix) => {
    let isPossible = true;
    const result = render(fix, (option) => {
      const name = write(option);
      if (name === undefined) isPossible = false;
      return name ?? option;
    });
    return isPossible ? [result] : [];
  });
  const problem = render(text, (option) => write(option) ?? option);
  return {
    message: [problem, ...possible].join("; "),
    ...(possible.length > 0 ? { fix: possible.join("; ") } : {}),
  };
}

/** A text whose control characters are escaped. Quoted names and values may contain them. */
function render(text: ErrorText, write: OptionWriter): string {
  return printable(typeof text === "string" ? text : text(write));
}
