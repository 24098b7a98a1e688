// Solves tridiagonal systems by parallel cyclic reduction: every round eliminates the neighbours of each row,
// which doubles the distance to the remaining neighbours, until no neighbours remain. (Hockney, "A fast
// direct solution of Poisson's equation using Fourier analysis", 1965; for all rows at once: Hockney,
// Jesshope, "Parallel Computers", 1981.) One invocation per row. Rows with a zero diagonal are skipped: their
// result is zero, and the rows before and after them become neighbours. Declared before this text:
//   lower, diagonal, upper, rhs, output, invocations
//   rows, next    (systems, n) rows before and after a round
//   params.systems, params.n
//   params.lower_offset, params.lower_system, params.lower_step, ...    start of each array except rows and next, and
//                                                       distances between systems and between rows
//   params.first_workgroup, params.workgroups    the first workgroup of this dispatch, and the number of all workgroups

const none = 0xffffffffu;

// below * x[before] + x + above * x[after] = value
struct Row {
  below: f32,
  above: f32,
  value: f32,
  before: u32,
  after: u32,
}

// Divides each row by its diagonal, and finds its nearest neighbours that are not skipped.
@compute @workgroup_size(invocations)
fn begin(@builtin(global_invocation_id) id: vec3<u32>) {
  let place = params.first_workgroup * invocations + id.x;
  if (place >= params.systems * params.n) {
    return;
  }
  let system = place / params.n;
  let i = place % params.n;
  let diagonal_at = params.diagonal_offset + system * params.diagonal_system;
  let pivot = diagonal[diagonal_at + i * params.diagonal_step];
  var row = Row(0.0, 0.0, 0.0, none, none);
  if (pivot != 0.0) {
    for (var j = i; j > 0u; j--) {
      if (diagonal[diagonal_at + (j - 1u) * params.diagonal_step] != 0.0) {
        row.before = j - 1u;
        row.below = lower[params.lower_offset + system * params.lower_system + i * params.lower_step] / pivot;
        break;
      }
    }
    for (var j = i + 1u; j < params.n; j++) {
      if (diagonal[diagonal_at + j * params.diagonal_step] != 0.0) {
        row.after = j;
        row.above = upper[params.upper_offset + system * params.upper_system + i * params.upper_step] / pivot;
        break;
      }
    }
    row.value = rhs[params.rhs_offset + system * params.rhs_system + i * params.rhs_step] / pivot;
  }
  next[place] = row;
}

@compute @workgroup_size(invocations)
fn reduce(@builtin(global_invocation_id) id: vec3<u32>) {
  let place = params.first_workgroup * invocations + id.x;
  if (place >= params.systems * params.n) {
    return;
  }
  let first = place - place % params.n;
  let row = rows[place];
  var pivot = 1.0;
  var reduced = Row(0.0, 0.0, row.value, none, none);
  if (row.before != none) {
    let other = rows[first + row.before];
    pivot -= row.below * other.above;
    reduced.value -= row.below * other.value;
    reduced.below = -row.below * other.below;
    reduced.before = other.before;
  }
  if (row.after != none) {
    let other = rows[first + row.after];
    pivot -= row.above * other.below;
    reduced.value -= row.above * other.value;
    reduced.above = -row.above * other.above;
    reduced.after = other.after;
  }
  reduced.below /= pivot;
  reduced.above /= pivot;
  reduced.value /= pivot;
  next[place] = reduced;
}

@compute @workgroup_size(invocations)
fn finish(@builtin(global_invocation_id) id: vec3<u32>) {
  let place = params.first_workgroup * invocations + id.x;
  if (place >= params.systems * params.n) {
    return;
  }
  let system = place / params.n;
  let i = place % params.n;
  output[params.output_offset + system * params.output_system + i * params.output_step] = rows[place].value;
}
