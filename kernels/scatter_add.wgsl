// output[o, indices[i], k] += input[o, i, k]. `order` has the positions i, sorted by their indices, so that
// the updates of an element are adjacent, in the order of i. The invocation of the first update adds all of them.
// Declared before this text:
//   Element, input, indices, order, output, invocations
//   params.outer, params.size, params.inner, params.count    input is (outer, count, inner), indices (count), output (outer, size, inner)
//   params.input_offset, params.indices_offset, params.output_offset
//   params.first, params.end                                 range of `order` of this run, which continues earlier runs
//   params.first_workgroup, params.workgroups    the first workgroup of this dispatch, and the number of all workgroups

fn index_at(place: u32) -> u32 {
  return u32(indices[params.indices_offset + u32(order[place])]);
}

@compute @workgroup_size(invocations)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let stride = params.workgroups * invocations;
  let length = params.end - params.first;
  let total = params.outer * length * params.inner;
  for (var item = params.first_workgroup * invocations + id.x; item < total; item += stride) {
    let row = item / params.inner;
    let k = item - row * params.inner;
    let o = row / length;
    let first = params.first + row - o * length;
    let index = index_at(first);
    if (index >= params.size) { continue; }
    if (first > params.first && index_at(first - 1u) == index) { continue; }
    let target_place = params.output_offset + (o * params.size + index) * params.inner + k;
    let base = params.input_offset + o * params.count * params.inner + k;
    var sum = output[target_place];
    for (var place = first; place < params.end && index_at(place) == index; place++) {
      sum += input[base + u32(order[place]) * params.inner];
    }
    output[target_place] = sum;
  }
}
