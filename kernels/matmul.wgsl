// output[b, i, j] = sum over k of a[b, i, k] * b[b, k, j]. Each invocation computes four rows and four
// columns, and a workgroup a tile of 4 * group_rows by 4 * group_columns. The sum over k may be split into
// segments, whose partial results a reduction adds. Declared before this text:
//   a, b, output
//   params.batch, params.m, params.n, params.k
//   params.segment                       terms of a segment; segment s is stored at s * batch * m * n
//   params.a_row, params.a_step, params.b_step, params.b_column    strides
//   params.output_offset
//   params.first                         the first tile of this run, with one tile per workgroup
//   params.first_workgroup, params.workgroups    the first workgroup of this dispatch, and the number of all workgroups
//   fn matrices(position: u32) -> array<u32, 2>    start of a matrix of the batch in a and b
//   group_rows, group_columns, depth, a_row_first, b_step_first

const rows = 4u * group_rows;
const columns = 4u * group_columns;
const invocations = group_rows * group_columns;

struct Tile {
  segment: u32,
  batch: u32,
  row: u32,
  column: u32,
}

fn tile_at(position: u32) -> Tile {
  let across = (params.n + columns - 1u) / columns;
  let down = (params.m + rows - 1u) / rows;
  let column = position % across;
  let row = position / across % down;
  let matrix = position / across / down;
  return Tile(matrix / params.batch, matrix % params.batch, row * rows, column * columns);
}

fn store(tile: Tile, row: u32, column: u32, values: vec4<f32>) {
  if (row >= params.m) { return; }
  let matrix = (tile.segment * params.batch + tile.batch) * params.m * params.n;
  let start = params.output_offset + matrix + row * params.n;
  if (column < params.n) { output[start + column] = values.x; }
  if (column + group_columns < params.n) { output[start + column + group_columns] = values.y; }
  if (column + 2u * group_columns < params.n) { output[start + column + 2u * group_columns] = values.z; }
  if (column + 3u * group_columns < params.n) { output[start + column + 3u * group_columns] = values.w; }
}

var<workgroup> a_tile: array<f32, depth * rows>;
var<workgroup> b_tile: array<f32, depth * columns>;

// Tiles of both operands are copied to workgroup memory.
@compute @workgroup_size(invocations)
fn main(
  @builtin(local_invocation_index) local: u32,
  @builtin(workgroup_id) group: vec3<u32>,
) {
  let x = local % group_columns;
  let y = local / group_columns;
  let tile = tile_at(params.first + params.first_workgroup + group.x);
  let at = matrices(tile.batch);
  let first = tile.segment * params.segment;
  let end = min(first + params.segment, params.k);
  var c0 = vec4<f32>();
  var c1 = vec4<f32>();
  var c2 = vec4<f32>();
  var c3 = vec4<f32>();
  for (var start = first; start < end; start += depth) {
    for (var i = local; i < depth * rows; i += invocations) {
      var row = i / depth;
      var step = i % depth;
      if (a_row_first) {
        row = i % rows;
        step = i / rows;
      }
      var value = 0.0;
      if (tile.row + row < params.m && start + step < end) {
        value = a[at[0] + (tile.row + row) * params.a_row + (start + step) * params.a_step];
      }
      a_tile[step * rows + row] = value;
    }
    for (var i = local; i < depth * columns; i += invocations) {
      var column = i % columns;
      var step = i / columns;
      if (b_step_first) {
        column = i / depth;
        step = i % depth;
      }
      var value = 0.0;
      if (tile.column + column < params.n && start + step < end) {
        value = b[at[1] + (start + step) * params.b_step + (tile.column + column) * params.b_column];
      }
      b_tile[step * columns + column] = value;
    }
    workgroupBarrier();
    for (var step = 0u; step < depth; step++) {
      let b_at = step * columns + x;
      let right = vec4<f32>(
        b_tile[b_at],
        b_tile[b_at + group_columns],
        b_tile[b_at + 2u * group_columns],
        b_tile[b_at + 3u * group_columns],
      );
      let a_at = step * rows + y;
      c0 = fma(vec4<f32>(a_tile[a_at]), right, c0);
      c1 = fma(vec4<f32>(a_tile[a_at + group_rows]), right, c1);
      c2 = fma(vec4<f32>(a_tile[a_at + 2u * group_rows]), right, c2);
      c3 = fma(vec4<f32>(a_tile[a_at + 3u * group_rows]), right, c3);
    }
    workgroupBarrier();
  }
  store(tile, tile.row + y, tile.column + x, c0);
  store(tile, tile.row + y + group_rows, tile.column + x, c1);
  store(tile, tile.row + y + 2u * group_rows, tile.column + x, c2);
  store(tile, tile.row + y + 3u * group_rows, tile.column + x, c3);
}
