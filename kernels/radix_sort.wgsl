// Sorts positions by their keys, stably: one pass of a radix sort, for one digit. (Satish et al.,
// "Designing efficient sorting algorithms for manycore GPUs", 2009.) Each invocation processes a block of
// neighbouring positions, so the result does not depend on the order of invocations. Declared before this
// text:
//   fn key_of(position: u32) -> u32
//   input                                            positions before this pass; not read in the first pass
//   counts                                           written by count_digits; move_positions reads cumulative sums
//   output                                           positions after this pass, modulo params.modulus. The modulus
//                                                  is params.count. In the last pass it may be the length of a
//                                                  row, so that positions count from the start of the row
//   invocations, block_length
//   digits                                           number of values of a digit
//   params.count, params.blocks                      number of positions, and of blocks of block_length positions
//   params.shift                                     the lowest bit of the digit
//   params.is_first                                  1 in the first pass
//   params.output_offset
//   params.first_workgroup, params.workgroups    the first workgroup of this dispatch, and the number of all workgroups

fn position_at(place: u32) -> u32 {
  if (params.is_first == 1u) { return place; }
  return u32(input[place]);
}

fn digit_of(position: u32) -> u32 {
  return (key_of(position) >> params.shift) % digits;
}

// counts[digit * blocks + block]: number of positions with a digit in a block.
@compute @workgroup_size(invocations)
fn count_digits(@builtin(global_invocation_id) id: vec3<u32>) {
  let stride = params.workgroups * invocations;
  for (var block = params.first_workgroup * invocations + id.x; block < params.blocks; block += stride) {
    var found: array<i32, digits>;
    let end = min((block + 1u) * block_length, params.count);
    for (var place = block * block_length; place < end; place++) {
      found[digit_of(position_at(place))] += 1;
    }
    for (var digit = 0u; digit < digits; digit++) {
      counts[digit * params.blocks + block] = found[digit];
    }
  }
}

// Here `counts` has cumulative sums: where the output of each digit and block ends.
@compute @workgroup_size(invocations)
fn move_positions(@builtin(global_invocation_id) id: vec3<u32>) {
  let stride = params.workgroups * invocations;
  for (var block = params.first_workgroup * invocations + id.x; block < params.blocks; block += stride) {
    var ends: array<i32, digits>;
    for (var digit = 0u; digit < digits; digit++) {
      ends[digit] = counts[digit * params.blocks + block];
    }
    let start = block * block_length;
    for (var place = min(start + block_length, params.count); place > start; place--) {
      let position = position_at(place - 1u);
      let digit = digit_of(position);
      ends[digit] -= 1;
      output[params.output_offset + u32(ends[digit])] = i32(position % params.modulus);
    }
  }
}
