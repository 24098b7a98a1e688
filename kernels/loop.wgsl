// Runs the steps of a loop. A workgroup owns some samples; `lanes` invocations share the elements of each.
// In some of the kernels that `invoke` calls, all invocations of a workgroup share the elements, and an
// invocation computes an element for all samples. Product rows are the rows of the factors of weight gradients.
// Declared before this text:
//   samples, lanes     of a workgroup
//   slot_size          elements of a workgroup's part of the buffer `spill`
//   own_size, spill_size   distance between the slots of the samples: in blocks of the workgroup memory, and in `spill`
//   params.batch, params.first_sample, params.last_sample   samples of this dispatch
//   params.steps, params.first_step, params.count           all steps, steps done before, steps of this dispatch
//   params.first_product_step                               the first step of the product rows
//   params.first_workgroup, params.workgroups    the first workgroup of this dispatch, and the number of all workgroups
//   invocation         index of the invocation in the workgroup
//   lane, own          index of the invocation within its sample, and index of the sample in the workgroup
//   valid              number of samples of the workgroup in this dispatch
//   first_position     position of the first sample of the workgroup in the batch
//   position           position of the sample in the batch
//   row, product_step  row of this step in the inputs and outputs, and in the product rows
//   own_start          start of the sample's slots in the workgroup memory, in blocks
//   spill_start        start of the sample's slots in `spill`
//   first_spill        start of the workgroup's slots in `spill`
//   fn row_of(done: u32) -> u32     the row of a step
//   prologue_end, step_end, epilogue_end   end of the calls of each section: before the steps, of a step, after all steps
//   call_size                       words of a call: its kernel, whether to synchronize before it, its arguments
//   fn argument(i: u32) -> u32      a word of the calls
//   fn invoke(kernel: u32, at: u32) calls a kernel whose arguments begin at a word
//   fn synchronize()                makes the values of the workgroup's invocations visible to each other

fn select_sample(sample: u32) {
  own = sample;
  // An invocation without a sample repeats the last sample, and stores nothing.
  position = first_position + min(own, valid - 1u);
  own_start = own * own_size;
  spill_start = first_spill + own * spill_size;
}

@compute @workgroup_size(samples * lanes)
fn main(@builtin(local_invocation_index) local: u32, @builtin(workgroup_id) group: vec3<u32>) {
  first_position = params.first_sample + (params.first_workgroup + group.x) * samples;
  first_spill = group.x * slot_size;
  valid = min(samples, params.last_sample - first_position);
  invocation = local;
  lane = local % lanes;
  select_sample(local / lanes);
  var done = params.first_step;
  let end = done + params.count;
  // One loop for all sections, because compilers copy the kernels to each place with a call.
  for (var i = 0u; i < epilogue_end; i++) {
    if (i == step_end && done + 1u < end) {
      done++;
      i = prologue_end;
    }
    row = row_of(done);
    product_step = done - params.first_product_step;
    let at = i * call_size;
    if (argument(at + 1u) == 1u) { synchronize(); }
    invoke(argument(at), at + 2u);
  }
}
