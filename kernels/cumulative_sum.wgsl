// Sums of the elements up to and with each one, along an axis. Declared before this text:
//   Element, input, output
//   params.lines                                     lines along the axis
//   params.first, params.end                         elements of each that this run sums, going on from those before
//   params.input_stride, params.output_stride        from one element to the next
//   fn line_start(position: u32) -> array<u32, 2>    where a line begins in the input and in the output
//   columns, lanes, column_step, lane_step, invocations

fn sum_before(place: u32) -> Element {
  if (params.first == 0u) { return Element(0); }
  return output[place + (params.first - 1u) * params.output_stride];
}

// One invocation a line.
@compute @workgroup_size(invocations)
fn serial(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let stride = groups.x * invocations;
  for (var line = id.x; line < params.lines; line += stride) {
    let at = line_start(line);
    var sum = sum_before(at[1]);
    for (var i = params.first; i < params.end; i++) {
      sum += input[at[0] + i * params.input_stride];
      output[at[1] + i * params.output_stride] = sum;
    }
  }
}

var<workgroup> shared_values: array<Element, invocations>;

// A workgroup takes `columns` lines; `lanes` invocations sum a stretch of each by doubling, then go on to the next.
@compute @workgroup_size(invocations)
fn cooperative(
  @builtin(local_invocation_index) local: u32,
  @builtin(workgroup_id) group: vec3<u32>,
  @builtin(num_workgroups) groups: vec3<u32>,
) {
  let column = local / column_step % columns;
  let lane = local / lane_step % lanes;
  let blocks = (params.lines + columns - 1u) / columns;
  for (var block = group.x; block < blocks; block += groups.x) {
    let line = block * columns + column;
    let at = line_start(min(line, params.lines - 1u));
    var carry = sum_before(at[1]);
    for (var start = params.first; start < params.end; start += lanes) {
      let i = start + lane;
      var sum = Element(0);
      if (i < params.end) {
        sum = input[at[0] + i * params.input_stride];
      }
      shared_values[local] = sum;
      workgroupBarrier();
      for (var distance = 1u; distance < lanes; distance *= 2u) {
        var before = Element(0);
        if (lane >= distance) {
          before = shared_values[local - distance * lane_step];
        }
        workgroupBarrier();
        sum += before;
        shared_values[local] = sum;
        workgroupBarrier();
      }
      if (i < params.end && line < params.lines) {
        output[at[1] + i * params.output_stride] = carry + sum;
      }
      carry += shared_values[local + (lanes - 1u - lane) * lane_step];
      workgroupBarrier();
    }
  }
}
