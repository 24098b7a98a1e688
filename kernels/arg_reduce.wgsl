// The position of the first largest or smallest element along an axis. NaN is chosen before
// any number. Declared before this text:
//   Element, input, output
//   params.outputs, params.stride                   number of results, and distance between elements of a result
//   params.first, params.end                        range of elements of this run, which continues earlier runs
//   params.first_workgroup, params.workgroups    the first workgroup of this dispatch, and the number of all workgroups
//   fn precedes(a: Element, b: Element) -> bool     whether a is strictly better; false if either is NaN
//   fn unordered(a: Element) -> bool                whether a is NaN
//   fn remaining(position: u32) -> array<u32, 2>    start of a result's elements in the input, and its output position
//   columns, lanes, lane_step, invocations, column_of, lane_of, blocks_of    see src/device/webgpu/kernels/workgroup_layout.ts
//   subgroup_lanes                                  neighbouring lanes that exchange values by a subgroup, or 1
//   fn shifted(x: Element, by: u32) -> Element      the value of the lane that is `by` places later in the subgroup
//   fn shifted_position(x: u32, by: u32) -> u32     the same for a position

const none = 0xffffffffu;

struct Candidate {
  value: Element,
  position: u32,
}

fn better(a: Candidate, b: Candidate) -> Candidate {
  if (a.position == none) { return b; }
  if (b.position == none) { return a; }
  let a_unordered = unordered(a.value);
  let b_unordered = unordered(b.value);
  if (a_unordered != b_unordered) {
    if (a_unordered) { return a; }
    return b;
  }
  if (precedes(a.value, b.value)) { return a; }
  if (precedes(b.value, a.value)) { return b; }
  if (a.position < b.position) { return a; }
  return b;
}

fn search(base: u32, place: u32, lane: u32, step: u32) -> Candidate {
  var best = Candidate(input[base], none);
  if (params.first > 0u) {
    let position = u32(output[place]);
    best = Candidate(input[base + position * params.stride], position);
  }
  for (var i = params.first + lane; i < params.end; i += step) {
    best = better(best, Candidate(input[base + i * params.stride], i));
  }
  return best;
}

var<workgroup> shared_values: array<Element, invocations>;
var<workgroup> shared_positions: array<u32, invocations>;

// A workgroup processes `columns` results, with `lanes` invocations each.
@compute @workgroup_size(invocations)
fn main(
  @builtin(local_invocation_index) local: u32,
  @builtin(workgroup_id) group: vec3<u32>,
) {
  let column = column_of(local);
  let lane = lane_of(local);
  let blocks = blocks_of(params.outputs);
  for (var i = params.first_workgroup + group.x; i < blocks; i += params.workgroups) {
    let result = i * columns + column;
    let at = remaining(min(result, params.outputs - 1u));
    var best = search(at[0], at[1], lane, lanes);
    // A tree. Its last levels are within a subgroup.
    if (lanes > subgroup_lanes) {
      shared_values[local] = best.value;
      shared_positions[local] = best.position;
      workgroupBarrier();
      for (var half = lanes / 2u; half >= subgroup_lanes; half /= 2u) {
        if (lane < half) {
          let other = local + half * lane_step;
          best = better(best, Candidate(shared_values[other], shared_positions[other]));
          shared_values[local] = best.value;
          shared_positions[local] = best.position;
        }
        workgroupBarrier();
      }
    }
    for (var half = subgroup_lanes / 2u; half > 0u; half /= 2u) {
      best = better(best, Candidate(shifted(best.value, half), shifted_position(best.position, half)));
    }
    if (lane == 0u && result < params.outputs) {
      output[at[1]] = i32(best.position);
    }
  }
}
