/** Node's assertions for browsers. */
import assert from "assert";

export default assert.strict;
