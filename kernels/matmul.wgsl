// output[b, i, j] = sum over k of a[b, i, k] * b[b, k, j]. A workgroup computes a tile of `rows` by `columns`
// outputs. It copies tiles of a and b to workgroup memory, as vectors of four rows and of four columns. An
// invocation adds the products of its vectors. The sum over k may be split into segments, whose partial
// results a reduction adds.
//
// `repeatLines` repeats lines with term, row, part, column, a_load or b_load in braces: for the terms of a round,
// the row vectors of an invocation, the four components of a vector, its column vectors, and the vectors of a and
// of b that it copies. Compilers keep numbered variables in registers, but arrays that a loop indexes in slow memory.
// Declared before this text:
//   a, b, output
//   params.batch, params.m, params.n, params.k
//   params.segment                       terms of a segment; segment s is stored at s * batch * m * n
//   params.a_row, params.a_step, params.b_step, params.b_column    strides
//   params.output_offset
//   params.first                         the first tile of this run: a tile per workgroup, in one or several dispatches
//   params.first_workgroup, params.workgroups    the first workgroup of this dispatch, and the number of all workgroups
//   fn matrices(position: u32) -> array<u32, 2>    start of a matrix of the batch in a and b
//   group_rows, group_columns            invocations of a workgroup
//   row_vectors, column_vectors          vectors of an invocation
//   depth                                terms in workgroup memory
//   terms                                terms of a round: a divisor of depth
//   a_row_first, b_step_first            whether adjacent elements in memory are rows of a, and terms of b

const invocations = group_rows * group_columns;
// Vector i of a tile has the rows (or columns) i, i + vectors, i + 2 * vectors and i + 3 * vectors, so that
// adjacent invocations read and write adjacent elements.
const a_vectors = group_rows * row_vectors;
const b_vectors = group_columns * column_vectors;
const rows = 4u * a_vectors;
const columns = 4u * b_vectors;
// The vectors of consecutive terms are a block of workgroup memory: compilers check its index once. A block has an
// odd number of vectors, so that adjacent invocations use different banks.
const block = terms | 1u;

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

// The vector of a tile that an invocation copies, the term k from the start of the tile (`step`), and whether the
// vector is inside the tile: there can be more invocations than vectors.
struct Place {
  vector: u32,
  step: u32,
  is_inside: bool,
}

fn place_at(position: u32, vectors: u32, vector_first: bool) -> Place {
  let is_inside = vectors * depth % invocations == 0u || position < vectors * depth;
  if (vector_first) { return Place(position % vectors, position / vectors, is_inside); }
  return Place(position / depth, position % depth, is_inside);
}

// The memory positions of a vector's elements for k = 0 of the sum over k. Rows (or columns) outside the matrix
// become the last one: their products are not stored.
fn addresses(start: u32, first: u32, vectors: u32, length: u32, stride: u32) -> vec4<u32> {
  let positions = first + vec4<u32>(0u, vectors, 2u * vectors, 3u * vectors);
  return start + min(positions, vec4<u32>(length - 1u)) * stride;
}

// A vector for one k: zero after the end of the segment.
fn read_a(at: vec4<u32>, step: u32, end: u32) -> vec4<f32> {
  let i = at + min(step, end - 1u) * params.a_step;
  return select(vec4<f32>(), vec4<f32>(a[i.x], a[i.y], a[i.z], a[i.w]), step < end);
}

fn read_b(at: vec4<u32>, step: u32, end: u32) -> vec4<f32> {
  let i = at + min(step, end - 1u) * params.b_step;
  return select(vec4<f32>(), vec4<f32>(b[i.x], b[i.y], b[i.z], b[i.w]), step < end);
}

var<workgroup> a_tile: array<array<vec4<f32>, block>, depth / terms * a_vectors>;
var<workgroup> b_tile: array<array<vec4<f32>, block>, depth / terms * b_vectors>;

fn keep_a(place: Place, values: vec4<f32>) {
  if (place.is_inside) { a_tile[place.step / terms * a_vectors + place.vector][place.step % terms] = values; }
}

fn keep_b(place: Place, values: vec4<f32>) {
  if (place.is_inside) { b_tile[place.step / terms * b_vectors + place.vector][place.step % terms] = values; }
}

fn store(tile: Tile, a_vector: u32, part: u32, b_vector: u32, values: vec4<f32>) {
  let row = tile.row + a_vector + part * a_vectors;
  let column = tile.column + b_vector;
  if (row >= params.m) { return; }
  let matrix = (tile.segment * params.batch + tile.batch) * params.m * params.n;
  let start = params.output_offset + matrix + row * params.n;
  if (column < params.n) { output[start + column] = values.x; }
  if (column + b_vectors < params.n) { output[start + column + b_vectors] = values.y; }
  if (column + 2u * b_vectors < params.n) { output[start + column + 2u * b_vectors] = values.z; }
  if (column + 3u * b_vectors < params.n) { output[start + column + 3u * b_vectors] = values.w; }
}

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

  let a_place_{a_load} = place_at(local + {a_load}u * invocations, a_vectors, a_row_first);
  let a_row_{a_load} = tile.row + a_place_{a_load}.vector;
  let a_at_{a_load} = addresses(at[0], a_row_{a_load}, a_vectors, params.m, params.a_row);
  var a_next_{a_load} = vec4<f32>();

  let b_place_{b_load} = place_at(local + {b_load}u * invocations, b_vectors, !b_step_first);
  let b_column_{b_load} = tile.column + b_place_{b_load}.vector;
  let b_at_{b_load} = addresses(at[1], b_column_{b_load}, b_vectors, params.n, params.b_column);
  var b_next_{b_load} = vec4<f32>();

  var c_{row}_{part}_{column} = vec4<f32>();

  // Number of terms in workgroup memory. The next tiles are read while these are multiplied.
  var held = 0u;
  for (var start = first; ; start += depth) {
    if (start < end) {
      a_next_{a_load} = read_a(a_at_{a_load}, start + a_place_{a_load}.step, end);
      b_next_{b_load} = read_b(b_at_{b_load}, start + b_place_{b_load}.step, end);
    }
    // The terms after the last one are zero.
    for (var round = 0u; round * terms < held; round++) {
      let b_{column}_{term} = b_tile[round * b_vectors + x + {column}u * group_columns][{term}];
      let a_{row}_{term} = a_tile[round * a_vectors + y + {row}u * group_rows][{term}];
      c_{row}_{part}_{column} = fma(vec4<f32>(a_{row}_{term}[{part}]), b_{column}_{term}, c_{row}_{part}_{column});
    }
    if (start >= end) { break; }
    workgroupBarrier();
    keep_a(a_place_{a_load}, a_next_{a_load});
    keep_b(b_place_{b_load}, b_next_{b_load});
    workgroupBarrier();
    held = min(depth, end - start);
  }
  store(tile, y + {row}u * group_rows, {part}u, x + {column}u * group_columns, c_{row}_{part}_{column});
}
