// Positions that sort rows, by Batcher's bitonic network. (Batcher, "Sorting networks and their applications", 1968.) Equal
// elements are ordered by their positions, so that the order is total and the sort is stable. Declared before this text:
//   input, order, positions, invocations
//   fn key_of(value: Element) -> u32    orders elements as unsigned numbers
//   params.rows, params.length          shape of input and positions
//   params.width                        the smallest power of two >= length: the length of a row of `order`
//   params.input_offset, params.output_offset
//   params.inverted                     all bits for a descending order, else zero
//   params.block, params.distance       a step of the network

@compute @workgroup_size(invocations)
fn fill(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let total = params.rows * params.width;
  for (var i = id.x; i < total; i += groups.x * invocations) { order[i] = i % params.width; }
}

fn is_before(row: u32, a: u32, b: u32) -> bool {
  // Padding positions, after the end of a row, are sorted last.
  if (max(a, b) >= params.length) { return a < b; }
  let start = params.input_offset + row * params.length;
  let first = key_of(input[start + a]) ^ params.inverted;
  let second = key_of(input[start + b]) ^ params.inverted;
  return first < second || (first == second && a < b);
}

@compute @workgroup_size(invocations)
fn exchange(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let pairs = params.width / 2u;
  let total = params.rows * pairs;
  for (var pair = id.x; pair < total; pair += groups.x * invocations) {
    let row = pair / pairs;
    let inner = pair - row * pairs;
    let i = inner / params.distance * 2u * params.distance + inner % params.distance;
    let place = row * params.width + i;
    let a = order[place];
    let b = order[place + params.distance];
    if (is_before(row, b, a) == ((i & params.block) == 0u)) {
      order[place] = b;
      order[place + params.distance] = a;
    }
  }
}

@compute @workgroup_size(invocations)
fn finish(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let total = params.rows * params.length;
  for (var i = id.x; i < total; i += groups.x * invocations) {
    let row = i / params.length;
    positions[params.output_offset + i] = i32(order[row * params.width + i - row * params.length]);
  }
}
