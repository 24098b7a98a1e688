// x[0] = b[0], x[i] = a[i - 1] x[i - 1] + b[i] along an axis: a scan of the maps x -> a x + b. (Blelloch,
// "Prefix sums and their applications", 1990, section 1.4.) If all a are 1, the result is a cumulative sum.
// There is no coefficient for element 0: a[0] belongs to element 1.
// Declared before this text:
//   Number                                           an element, or a complex number as vec2
//   fn product(a: Number, b: Number) -> Number
//   const one: Number, zero: Number
//   fn read_a(place: u32) -> Number, read_b, read_x, fn write_x(place: u32, value: Number)
//   params.lines                                     number of lines along the axis
//   params.first, params.end                         range of elements of this run, which continues earlier runs
//   params.per_lane                                  neighbouring elements of a lane; all elements if a line has one lane
//   params.a_step, params.b_step, params.x_step      distance between elements
//   params.first_workgroup, params.workgroups    the first workgroup of this dispatch, and the number of all workgroups
//   fn line_start(position: u32) -> array<u32, 3>    start of a line in a, b and x
//   columns, lanes, lane_step, invocations, column_of, lane_of, blocks_of    see src/device/webgpu/kernels/workgroup_layout.ts

fn value_before(place: u32) -> Number {
  if (params.first == 0u) { return zero; }
  return read_x(place + (params.first - 1u) * params.x_step);
}

fn coefficient(place: u32, i: u32) -> Number {
  if (i == 0u) { return one; }
  return read_a(place + (i - 1u) * params.a_step);
}

// The value at the end of a range, from the product of its coefficients, the value before it, and the value at its
// end if the value before it were zero. The product times zero is zero, even if the product is infinite.
fn carried(factor: Number, before: Number, value: Number) -> Number {
  return product(select(factor, one, all(before == zero)), before) + value;
}

var<workgroup> shared_factors: array<Number, invocations>;
var<workgroup> shared_values: array<Number, invocations>;

// A workgroup processes `columns` lines with `lanes` invocations each. Every lane combines `params.per_lane` elements
// into one map. A parallel scan combines the maps of the lanes. Every lane then processes its elements again, from
// the value before them.
@compute @workgroup_size(invocations)
fn main(
  @builtin(local_invocation_index) local: u32,
  @builtin(workgroup_id) group: vec3<u32>,
) {
  let column = column_of(local);
  let lane = lane_of(local);
  let last = local + (lanes - 1u - lane) * lane_step;
  let blocks = blocks_of(params.lines);
  for (var block = params.first_workgroup + group.x; block < blocks; block += params.workgroups) {
    let line = block * columns + column;
    let at = line_start(min(line, params.lines - 1u));
    var carry = value_before(at[2]);
    for (var start = params.first; start < params.end; start += lanes * params.per_lane) {
      let first = min(start + lane * params.per_lane, params.end);
      let end = min(first + params.per_lane, params.end);
      var x = carry;
      if (lanes > 1u) {
        var factor = one;
        var value = zero;
        for (var i = first; i < end; i++) {
          let a = coefficient(at[0], i);
          factor = product(a, factor);
          value = product(a, value) + read_b(at[1] + i * params.b_step);
        }
        shared_factors[local] = factor;
        shared_values[local] = value;
        workgroupBarrier();
        for (var distance = 1u; distance < lanes; distance *= 2u) {
          var factor_before = one;
          var before = zero;
          if (lane >= distance) {
            factor_before = shared_factors[local - distance * lane_step];
            before = shared_values[local - distance * lane_step];
          }
          workgroupBarrier();
          value = carried(factor, before, value);
          factor = product(factor, factor_before);
          shared_factors[local] = factor;
          shared_values[local] = value;
          workgroupBarrier();
        }
        if (lane > 0u) {
          x = carried(shared_factors[local - lane_step], carry, shared_values[local - lane_step]);
        }
        carry = carried(shared_factors[last], carry, shared_values[last]);
        workgroupBarrier();
      }
      if (line < params.lines) {
        for (var i = first; i < end; i++) {
          x = product(coefficient(at[0], i), x) + read_b(at[1] + i * params.b_step);
          write_x(at[2] + i * params.x_step, x);
        }
      }
    }
  }
}
