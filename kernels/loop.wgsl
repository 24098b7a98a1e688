// Runs the steps of a loop. A workgroup owns some samples; `lanes` invocations share the elements of each. Declared before
// this text:
//   samples, lanes     of a workgroup
//   slot_size          elements of a workgroup's part of the buffer `spill`
//   params.batch, params.first_sample, params.last_sample   the samples of this dispatch
//   params.steps, params.first_step, params.count           steps in all, those done before, those of this dispatch
//   params.first_product_step                               the step that the product rows begin with
//   lane, own          which invocation of a sample this is, and which of the workgroup's samples is its own
//   valid              samples that the workgroup has
//   position           the sample's place in the batch
//   row, product_step  the row of this step in the inputs and outputs, and in the product rows
//   spill_start        where the sample's slots in `spill` begin
//   fn row_of(done: u32) -> u32     the row that belongs to a step
//   prologue_end, step_end, epilogue_end   numbers of calls to the end of each section: before the steps, of a step, after all
//   call_size                       words of a call: its kernel, whether to wait for the others before it, its arguments
//   fn argument(i: u32) -> u32      a word of the calls
//   fn invoke(kernel: u32, at: u32) calls a kernel with the arguments that begin at a word
//   fn synchronize()                waits until the workgroup's invocations see each other's values

@compute @workgroup_size(samples * lanes)
fn main(@builtin(local_invocation_index) local: u32, @builtin(workgroup_id) group: vec3<u32>) {
  let first = params.first_sample + group.x * samples;
  lane = local / samples;
  own = local % samples;
  valid = min(samples, params.last_sample - first);
  // An invocation without a sample does as the last one does, and stores nothing.
  position = first + min(own, valid - 1u);
  spill_start = group.x * slot_size + own;
  var done = params.first_step;
  let end = done + params.count;
  // One loop through all sections: compilers copy the kernels to each place that calls them.
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
