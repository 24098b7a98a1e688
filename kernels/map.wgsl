// Computes elements independently. Declared before this text: `params.size`, `invocations` and
//   fn element(position: u32)    computes and stores the element at a row-major position
//   params.first_workgroup, params.workgroups    the first workgroup of this dispatch, and the number of all workgroups
@compute @workgroup_size(invocations)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
  let stride = params.workgroups * invocations;
  for (var position = params.first_workgroup * invocations + id.x; position < params.size; position += stride) {
    element(position);
  }
}
