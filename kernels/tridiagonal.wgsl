// Solves tridiagonal systems by elimination and back substitution (Thomas's algorithm), one invocation a system.
// Declared before this text:
//   lower, diagonal, upper, rhs, output, ratios, invocations    ratios is scratch, (n, systems)
//   params.systems, params.n
//   params.lower_offset, params.lower_system, params.lower_step, ...    of each array but ratios where it begins, and
//                                                       from one system and from one row to the next

@compute @workgroup_size(invocations)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let stride = groups.x * invocations;
  for (var system = id.x; system < params.systems; system += stride) {
    let lower_at = params.lower_offset + system * params.lower_system;
    let diagonal_at = params.diagonal_offset + system * params.diagonal_system;
    let upper_at = params.upper_offset + system * params.upper_system;
    let rhs_at = params.rhs_offset + system * params.rhs_system;
    let output_at = params.output_offset + system * params.output_system;

    // A row whose diagonal is zero is left out: ratio and value stay those of the row before it.
    var ratio = 0.0;
    var value = 0.0;
    for (var i = 0u; i < params.n; i++) {
      let own = diagonal[diagonal_at + i * params.diagonal_step];
      if (own == 0.0) {
        output[output_at + i * params.output_step] = 0.0;
        continue;
      }
      var below = 0.0;
      if (i > 0u) {
        below = lower[lower_at + i * params.lower_step];
      }
      let pivot = own - below * ratio;
      value = (rhs[rhs_at + i * params.rhs_step] - below * value) / pivot;
      output[output_at + i * params.output_step] = value;
      ratio = 0.0;
      if (i + 1u < params.n) {
        ratio = upper[upper_at + i * params.upper_step] / pivot;
      }
      ratios[i * params.systems + system] = ratio;
    }
    value = 0.0;
    for (var left = params.n; left > 0u; left--) {
      let i = left - 1u;
      if (diagonal[diagonal_at + i * params.diagonal_step] == 0.0) {
        continue;
      }
      value = output[output_at + i * params.output_step] - ratios[i * params.systems + system] * value;
      output[output_at + i * params.output_step] = value;
    }
  }
}
