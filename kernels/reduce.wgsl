// Combines elements along axes. If a result has many elements, they are split into segments, whose partial
// results a second run combines. Segment s has the elements s, s + segments, s + 2 segments, ... Declared
// before this text:
//   Element, input, output
//   params.outputs, params.length    number of results, and of elements per result
//   params.segments                  the partial results of segment s are stored from s * outputs on
//   params.identity                  bits of the neutral element
//   params.combines                  1 if results are combined with the values of the output, else 0
//   params.first_workgroup, params.workgroups    the first workgroup of this dispatch, and the number of all workgroups
//   fn combine(a: Element, b: Element) -> Element
//   fn remaining(position: u32) -> array<u32, 2>  start of a result's elements in the input, and its output position
//   fn reduced(position: u32) -> array<u32, 1>    distance of an element from that start
//   columns, lanes, lane_step, invocations, column_of, lane_of, blocks_of    see src/device/webgpu/kernels/workgroup_layout.ts
//   subgroup_lanes                                neighbouring lanes that exchange values by a subgroup, or 1
//   fn shifted(x: Element, by: u32) -> Element    the value of the lane that is `by` places later in the subgroup

fn accumulate(base: u32, first: u32, step: u32) -> Element {
  let identity = bitcast<Element>(params.identity);
  var even = identity;
  var odd = identity;
  var i = first;
  for (; i + step < params.length; i += 2u * step) {
    even = combine(even, input[base + reduced(i)[0]]);
    odd = combine(odd, input[base + reduced(i + step)[0]]);
  }
  if (i < params.length) {
    even = combine(even, input[base + reduced(i)[0]]);
  }
  return combine(even, odd);
}

var<workgroup> shared_values: array<Element, invocations>;

// A workgroup processes a segment of `columns` results, with `lanes` invocations each.
@compute @workgroup_size(invocations)
fn main(
  @builtin(local_invocation_index) local: u32,
  @builtin(workgroup_id) group: vec3<u32>,
) {
  let column = column_of(local);
  let lane = lane_of(local);
  let blocks = blocks_of(params.outputs);
  for (var i = params.first_workgroup + group.x; i < blocks * params.segments; i += params.workgroups) {
    let segment = i / blocks;
    let result = (i - segment * blocks) * columns + column;
    let at = remaining(min(result, params.outputs - 1u));
    var total = accumulate(at[0], segment + lane * params.segments, lanes * params.segments);
    // A tree. Its last levels are within a subgroup.
    if (lanes > subgroup_lanes) {
      shared_values[local] = total;
      workgroupBarrier();
      for (var half = lanes / 2u; half >= subgroup_lanes; half /= 2u) {
        if (lane < half) {
          total = combine(total, shared_values[local + half * lane_step]);
          shared_values[local] = total;
        }
        workgroupBarrier();
      }
    }
    for (var half = subgroup_lanes / 2u; half > 0u; half /= 2u) {
      total = combine(total, shifted(total, half));
    }
    if (lane == 0u && result < params.outputs) {
      let place = at[1] + segment * params.outputs;
      if (params.combines == 1u) { total = combine(output[place], total); }
      output[place] = total;
    }
  }
}
