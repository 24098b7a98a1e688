// Computes elements independently. Declared before this text: `params.size`, `invocations` and
//   fn element(position: u32)    computes and stores the element at a row-major position
@compute @workgroup_size(invocations)
fn main(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
  let stride = groups.x * invocations;
  for (var position = id.x; position < params.size; position += stride) {
    element(position);
  }
}
