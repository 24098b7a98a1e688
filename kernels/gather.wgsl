// Reads rows at given positions. Declared before this text:
//   Element, input, indices, output, invocations
//   params.outer, params.size, params.inner, params.count    input is (outer, size, inner), indices (count), output (outer, count, inner)
//   params.input_offset, params.indices_offset, params.output_offset
//   params.outside              bits of the value for an index that is out of range
//   params.first_workgroup, params.workgroups    the first workgroup of this dispatch, and the number of all workgroups

// output[o, i, k] = input[o, indices[i], k]
@compute @workgroup_size(invocations)
fn gather(@builtin(global_invocation_id) id: vec3<u32>) {
  let stride = params.workgroups * invocations;
  let total = params.outer * params.count * params.inner;
  for (var position = params.first_workgroup * invocations + id.x; position < total; position += stride) {
    let row = position / params.inner;
    let k = position - row * params.inner;
    let o = row / params.count;
    let index = u32(indices[params.indices_offset + row - o * params.count]);
    var value = bitcast<Element>(params.outside);
    if (index < params.size) {
      value = input[params.input_offset + (o * params.size + index) * params.inner + k];
    }
    output[params.output_offset + position] = value;
  }
}
