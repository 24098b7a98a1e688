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
//   fn before(), fn step(), fn after()

@compute @workgroup_size(samples * lanes)
fn main(@builtin(local_invocation_index) local: u32, @builtin(workgroup_id) group: vec3<u32>) {
  let first = params.first_sample + group.x * samples;
  lane = local / samples;
  own = local % samples;
  valid = min(samples, params.last_sample - first);
  // An invocation without a sample does as the last one does, and stores nothing.
  position = first + min(own, valid - 1u);
  spill_start = group.x * slot_size + own;
  before();
  for (var i = 0u; i < params.count; i++) {
    let done = params.first_step + i;
    row = row_of(done);
    product_step = done - params.first_product_step;
    step();
  }
  after();
}
