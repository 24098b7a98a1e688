// Combines elements along axes. Many elements of one result are split into segments, whose partial results a second run
// combines. Segment s takes the elements s, s + segments, s + 2 segments, ... Declared before this text:
//   Element, input, output
//   params.outputs, params.length    results, and elements of each
//   params.segments                  partial results of segment s lie s * outputs after the first segment's
//   params.identity                  bits of the value that changes nothing
//   fn combine(a: Element, b: Element) -> Element
//   fn kept(position: u32) -> array<u32, 2>       where a result's elements begin in the input, and its own place
//   fn reduced(position: u32) -> array<u32, 1>    an element's distance from there
//   columns, lanes, lane_step, invocations, column_of, lane_of, blocks_of    see src/device/webgpu/spread.ts

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

// A workgroup takes a segment of `columns` results; `lanes` invocations share each.
@compute @workgroup_size(invocations)
fn main(
  @builtin(local_invocation_index) local: u32,
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
) {
  let column = column_of(local);
  let lane = lane_of(local);
  let blocks = blocks_of(params.outputs);
  for (var i = group.x; i < blocks * params.segments; i += groups.x) {
    let segment = i / blocks;
    let result = (i - segment * blocks) * columns + column;
    let at = kept(min(result, params.outputs - 1u));
    var total = accumulate(at[0], segment + lane * params.segments, lanes * params.segments);
    shared_values[local] = total;
    workgroupBarrier();
    for (var half = lanes / 2u; half > 0u; half /= 2u) {
      if (lane < half) {
        total = combine(total, shared_values[local + half * lane_step]);
        shared_values[local] = total;
      }
      workgroupBarrier();
    }
    if (lane == 0u && result < params.outputs) {
      output[at[1] + segment * params.outputs] = total;
    }
  }
}
