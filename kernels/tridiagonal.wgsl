// Solves tridiagonal systems by elimination and back substitution (Thomas's algorithm), one invocation per
// system. Rows with a zero diagonal are skipped: their result is zero, and the rows before and after them
// become neighbours. Declared before this text:
//   lower, diagonal, upper, rhs, output, invocations
//   scratch    (n + 2, systems): `upper` after elimination, then a ratio and a value for the next run
//   params.systems, params.n
//   params.first, params.end    range of rows of this run
//   params.lower_offset, params.lower_system, params.lower_step, ...    start of each array except scratch, and
//                                                       distances between systems and between rows
//   params.first_workgroup, params.workgroups    the first workgroup of this dispatch, and the number of all workgroups

// Eliminates the rows from first to end, after earlier runs.
@compute @workgroup_size(invocations)
fn eliminate(@builtin(global_invocation_id) id: vec3<u32>) {
  let stride = params.workgroups * invocations;
  for (var system = params.first_workgroup * invocations + id.x; system < params.systems; system += stride) {
    let lower_at = params.lower_offset + system * params.lower_system;
    let diagonal_at = params.diagonal_offset + system * params.diagonal_system;
    let upper_at = params.upper_offset + system * params.upper_system;
    let rhs_at = params.rhs_offset + system * params.rhs_system;
    let output_at = params.output_offset + system * params.output_system;

    // Of the last row that was not skipped: the upper entry over the pivot, and the eliminated right-hand side.
    var ratio = 0.0;
    var value = 0.0;
    if (params.first > 0u) {
      ratio = scratch[params.n * params.systems + system];
      value = scratch[(params.n + 1u) * params.systems + system];
    }
    for (var i = params.first; i < params.end; i++) {
      let entry = diagonal[diagonal_at + i * params.diagonal_step];
      if (entry == 0.0) {
        output[output_at + i * params.output_step] = 0.0;
        continue;
      }
      var below = 0.0;
      if (i > 0u) {
        below = lower[lower_at + i * params.lower_step];
      }
      let pivot = entry - below * ratio;
      value = (rhs[rhs_at + i * params.rhs_step] - below * value) / pivot;
      output[output_at + i * params.output_step] = value;
      ratio = 0.0;
      if (i + 1u < params.n) {
        ratio = upper[upper_at + i * params.upper_step] / pivot;
      }
      scratch[i * params.systems + system] = ratio;
    }
    scratch[params.n * params.systems + system] = ratio;
    scratch[(params.n + 1u) * params.systems + system] = value;
  }
}

// Substitutes from row end down to row first, after elimination and earlier runs.
@compute @workgroup_size(invocations)
fn substitute(@builtin(global_invocation_id) id: vec3<u32>) {
  let stride = params.workgroups * invocations;
  for (var system = params.first_workgroup * invocations + id.x; system < params.systems; system += stride) {
    let diagonal_at = params.diagonal_offset + system * params.diagonal_system;
    let output_at = params.output_offset + system * params.output_system;
    var value = 0.0;
    if (params.end < params.n) {
      value = scratch[(params.n + 1u) * params.systems + system];
    }
    for (var left = params.end; left > params.first; left--) {
      let i = left - 1u;
      if (diagonal[diagonal_at + i * params.diagonal_step] == 0.0) {
        continue;
      }
      value = output[output_at + i * params.output_step] - scratch[i * params.systems + system] * value;
      output[output_at + i * params.output_step] = value;
    }
    scratch[(params.n + 1u) * params.systems + system] = value;
  }
}
