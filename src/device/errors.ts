/** Errors with a code and fields for programs. */
import { printable } from "./printable.ts";

/** Code of a {@linkcode WeftError}. Codes do not change between versions; messages may. */
export type ErrorCode =
  // Options.
  | "unknown-option"
  | "missing-option"
  | "invalid-option"
  | "unusable-option"
  | "conflicting-options"
  | "unknown-experiment"
  | "unknown-model"
  // Tables.
  | "missing-column"
  | "unknown-column"
  | "conflicting-columns"
  | "invalid-cell"
  | "invalid-row"
  | "conflicting-rows"
  | "empty-table"
  | "too-large"
  | "too-small"
  // Series, observations and predictions.
  | "empty-series"
  | "unknown-label"
  | "invalid-observation"
  | "invalid-state"
  | "no-prediction"
  // Files.
  | "unreadable-file"
  | "damaged-file"
  | "unsupported-format"
  | "unsupported-version"
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
   * @param text What is wrong.
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

  /** Makes an error about an option. @param text What is wrong. */
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
