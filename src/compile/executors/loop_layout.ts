/** The layout of a loop on a GPU and its work, which `explain` prints. */

/** The slowest memory of some reads. */
export type ReadFrom = "workgroup memory" | "weights" | "rows" | "spilled";

/** Work of a function that runs a chain, for one sample. */
export interface ChainWork {
  /** The kind and the shapes of the first item. */
  readonly name: string;
  /** Scalar operations. */
  readonly operations: number;
  /** Invocations that compute an element. */
  readonly invocations: number;
  /** Elements divided by the elements that all invocations together could compute in the same time, from 0 to 1. */
  readonly lanesBusy: number;
  /** Loop iterations that the busiest invocation runs one after the other. */
  readonly iterations: number;
  /** Iterations whose reads are issued before the first result is used. */
  readonly readsAhead: number;
  /** Instructions of the busiest invocation. */
  readonly instructions: number;
  /** The slowest memory that an iteration reads. */
  readonly readsFrom: ReadFrom;
  /** Tiles that the busiest invocation computes one after the other. */
  readonly rounds: number;
  /** The slowest memory that a tile reads after its iterations. */
  readonly epilogueReadsFrom: ReadFrom | undefined;
  /** Bytes of weights that the invocations of a sample read. */
  readonly weightBytes: number;
  /** Bytes of spilled values that the invocations of a sample read and write. */
  readonly spilledBytes: number;
}

/** Layout of a fused loop on a GPU. */
export interface LoopLayout {
  /** Samples per workgroup. */
  readonly samples: number;
  /** Invocations per sample. */
  readonly lanes: number;
  /** Workgroups of the largest dispatch. */
  readonly workgroups: number;
  /** Maximum steps of a dispatch. */
  readonly steps: number;
  /** Bytes of workgroup memory. */
  readonly workgroupMemory: number;
  /** Bytes of the values of a workgroup that are in storage, because workgroup memory is full. */
  readonly spilled: number;
  /** Function calls in a step. */
  readonly calls: number;
  /** Barriers between the calls of a step. */
  readonly barriers: number;
  /** Scalar operations of a sample and step. */
  readonly operations: number;
  /** Fraction of the lanes in use, 0 to 1: the mean over the functions of a step, weighted by their scalar operations. */
  readonly lanesBusy: number;
  /** Samples that share one read of a weight. */
  readonly samplesPerRead: number;
  /** Bytes of all weights. */
  readonly weights: number;
  /** Bytes of weights that a workgroup reads in a step: several kernels may read a weight. */
  readonly weightBytes: number;
  /** Bytes of spilled values that a sample reads and writes in a step. */
  readonly spilledBytes: number;
  /** Bytes of rows that a sample reads in a step, and of outputs and product rows that it writes. */
  readonly rowBytes: number;
  readonly work: readonly ChainWork[];
}
