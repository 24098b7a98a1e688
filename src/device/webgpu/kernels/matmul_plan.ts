/** How a matrix product is divided among the workgroups of a GPU. */

/** The outputs that a workgroup computes, and how its invocations share them. */
export interface Tiling {
  /** Rows of invocations of a workgroup. */
  readonly groupRows: number;
  /** Columns of invocations of a workgroup. */
  readonly groupColumns: number;
  /** Vectors of four rows of an invocation. */
  readonly rowVectors: number;
  /** Vectors of four columns of an invocation. */
  readonly columnVectors: number;
  /** Terms of the sum that are in workgroup memory at a time. */
  readonly depth: number;
}

/**
 * The tilings. An invocation computes 8 x 8 outputs in tiles of 128 x 128 and of 64 x 64, otherwise 4 x 4. Invocations and
 * workgroup memory are within the default limits of WebGPU: 256 and 16 KiB.
 */
export const tilings: readonly Tiling[] = [
  { groupRows: 16, groupColumns: 16, rowVectors: 2, columnVectors: 2, depth: 8 },
  { groupRows: 8, groupColumns: 8, rowVectors: 2, columnVectors: 2, depth: 8 },
  { groupRows: 8, groupColumns: 8, rowVectors: 1, columnVectors: 1, depth: 16 },
  // For few rows, and for few columns: 8 x 128 and 128 x 8 outputs.
  { groupRows: 2, groupColumns: 32, rowVectors: 1, columnVectors: 1, depth: 8 },
  { groupRows: 32, groupColumns: 2, rowVectors: 1, columnVectors: 1, depth: 8 },
];

/** How the workgroups compute a product. */
export interface Plan {
  readonly tiling: Tiling;
  /** Number of segments that the sum is split into. */
  readonly segments: number;
  /** Terms that an invocation reads and adds at once: a divisor of the depth. */
  readonly terms: number;
}

/**
 * Terms at once. Several terms have fewer computations of addresses for each multiply-add, but software GPUs compile long functions
 * slowly.
 */
const termsAtOnce = { hardware: 4, software: 1 };

/** The shape of a product (batch, m, k) x (batch, k, n). */
export interface ProductShape {
  readonly batch: number;
  readonly m: number;
  readonly n: number;
  readonly k: number;
}

/** Maximum terms of a segment, for accuracy. Segments of large outputs are longer, because each has an array of partial results. */
const longestSegment = { default: 2048, largeOutput: 8192 };

/** Minimum elements of a large output. */
const largeOutput = 2 ** 20;

/** Minimum terms of a segment that is split for speed: a partial result is written and read. */
const shortestSegment = 128;

/** Number of invocations that occupy a GPU. */
const gpuInvocations = 65_536;

/** Number of workgroups that occupy the cores of a software GPU. Each core runs a workgroup at a time. */
const softwareWorkgroups = 16;

/**
 * Time of a load compared with a multiply-add: of a vector from workgroup memory, and of an element from global memory with its
 * address. These are estimates for GPUs. On llvmpipe the ratios of the resulting times agree with measured times within 30 %.
 */
const loadTimes = { workgroup: 8, global: 16 };

/** Rows and columns of a tile. */
export function tileSize({ groupRows, groupColumns, rowVectors, columnVectors }: Tiling) {
  return { rows: 4 * groupRows * rowVectors, columns: 4 * groupColumns * columnVectors };
}

/** Number of tiles of a product. */
export function tileCount(tiling: Tiling, { batch, m, n }: ProductShape): number {
  const { rows, columns } = tileSize(tiling);
  return batch * Math.ceil(m / rows) * Math.ceil(n / columns);
}

/**
 * Loads per multiply-add: of vectors from workgroup memory, and of elements from global memory.
 *
 * | outputs of an invocation, of a workgroup | workgroup memory      | global memory |
 * | ---------------------------------------- | --------------------- | ------------- |
 * | 8 x 8, 128 x 128                         | 4 vectors / 64 = 1/16 | 1/64          |
 * | 8 x 8, 64 x 64                           | 1/16                  | 1/32          |
 * | 4 x 4, 32 x 32                           | 2 vectors / 16 = 1/8  | 1/16          |
 * | 4 x 4, 8 x 128                           | 1/8                   | 17/128        |
 */
function loadsPerMultiplyAdd(tiling: Tiling): { workgroup: number; global: number } {
  const { rowVectors, columnVectors } = tiling;
  const { rows, columns } = tileSize(tiling);
  return {
    workgroup: (rowVectors + columnVectors) / (16 * rowVectors * columnVectors),
    global: 1 / rows + 1 / columns,
  };
}

/** Estimated time of a product, in multiply-adds of the entire GPU. */
function timeOf({ tiling, segments }: Plan, shape: ProductShape, isSoftware: boolean): number {
  const { rows, columns } = tileSize(tiling);
  const workgroups = tileCount(tiling, shape) * segments;
  const { workgroup, global } = loadsPerMultiplyAdd(tiling);
  const multiplyAdds = tileCount(tiling, shape) * rows * columns * Math.max(1, shape.k);
  const perMultiplyAdd = 1 + loadTimes.workgroup * workgroup + loadTimes.global * global;
  const occupied = Math.min(1, workgroups / workgroupsOf(tiling, isSoftware));
  // Partial results are written and read.
  const partials = segments === 1 ? 0 : 2 * segments * shape.batch * shape.m * shape.n * loadTimes.global;
  return multiplyAdds * perMultiplyAdd / occupied + partials;
}

/** Number of workgroups that occupy the GPU. */
function workgroupsOf({ groupRows, groupColumns }: Tiling, isSoftware: boolean): number {
  return isSoftware ? softwareWorkgroups : Math.ceil(gpuInvocations / (groupRows * groupColumns));
}

/**
 * Plans a product with a tiling. A long sum is split if the product has few tiles, as in the gradient of a weight, or if the sum
 * would lose accuracy.
 */
export function planWith(tiling: Tiling, shape: ProductShape, isSoftware: boolean): Plan {
  const forSpeed = Math.min(
    Math.ceil(workgroupsOf(tiling, isSoftware) / tileCount(tiling, shape)),
    Math.floor(shape.k / shortestSegment),
  );
  const { batch, m, n, k } = shape;
  const longest = batch * m * n < largeOutput ? longestSegment.default : longestSegment.largeOutput;
  const terms = termsAtOnce[isSoftware ? "software" : "hardware"];
  return { tiling, segments: Math.max(1, forSpeed, Math.ceil(k / longest)), terms };
}

/** The plan with the shortest estimated time. */
export function planProduct(shape: ProductShape, isSoftware: boolean): Plan {
  const plans = tilings.map((tiling) => planWith(tiling, shape, isSoftware));
  const times = plans.map((plan) => timeOf(plan, shape, isSoftware));
  return plans[times.indexOf(Math.min(...times))];
}
