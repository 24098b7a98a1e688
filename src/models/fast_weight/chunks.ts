/**
 * Fast weights of a linear rule along whole sequences, in chunks of time. The rule
 *
 *     W_t = alpha_t W_(t-1) + beta_t (v_t - alpha_t W_(t-1) k_t) (x) k_t,  y_t = W_t q_t
 *
 * is the gated delta rule (Yang, Kautz, Hatamizadeh, "Gated Delta Networks: Improving Mamba2 with Delta Rule",
 * 2024, arXiv 2412.06464, section 3.3). With alpha = 1 it is the delta rule (Yang, Wang, Zhang, Shen, Kim,
 * "Parallelizing Linear Transformers with the Delta Rule over Sequence Length", 2024, arXiv 2406.06484, equations
 * 7 and 8). Without the correction W k it is linear attention (Katharopoulos et al., "Transformers are RNNs",
 * 2020).
 *
 * Let S be W at the start of a chunk, K, V and Q the matrices of its keys, values and queries (a row for each
 * step), and D_ti the product of alpha_j over i < j <= t, zero for i > t. Then
 *
 *     W_t = g_t S + sum over i <= t of D_ti r_i (x) k_i,  g_t = alpha_1 ... alpha_t
 *     r_t = beta_t (v_t - g_t S k_t - sum over i < t of D_ti (k_t . k_i) r_i)
 *
 * The second line is a triangular system. Its solution for all steps of a chunk is the WY representation of the
 * product of all I - beta k (x) k:
 *
 *     R = U - Z S^T,  U = T V,  Z = T diag(g) K,  T = (I + L)^-1 diag(beta)
 *     L_ti = beta_t D_ti (k_t . k_i) for i < t, zero otherwise
 *
 * So the outputs of a chunk and the weights at its end are linear in S: Y = A U + (diag(g) Q - A Z) S^T with
 * A = D * (Q K^T), elementwise, and S' = S (g_C I - Z^T K') + U^T K' with K'_i = D_Ci k_i. All matrices of all
 * chunks are computed at once; only S' depends on the chunk before.
 */
import { scan } from "../../compile/loop/scan.ts";
import { currentDevice } from "../../device/current.ts";
import { arange, eye, ones } from "../../tensor/creation.ts";
import { concatenate, linearRecurrence, stack } from "../../tensor/functions.ts";
import type { Tensor } from "../../tensor/tensor.ts";
import type { HeadSizes } from "./heads.ts";
import type { LinearTerms } from "./rules.ts";

/** Shorter sequences run step by step, with the same digits as single steps. */
const leastLength = 256;

/**
 * Samples that a loop over steps updates in the time of one. On the CPU, eight samples share the lanes of
 * vectors, and two threads have samples each. On a GPU, a workgroup has one sample.
 */
const parallelSamples = { cpu: 16, gpu: 512 };

/** Steps of a chunk: a power of two near the size of the keys, where products within and across chunks balance. */
function chunkLength(keys: number): number {
  return Math.min(64, Math.max(16, 2 ** Math.round(Math.log2(keys))));
}

/** Whether chunks take fewer multiplications than steps, for sequences `(batch, length, ...)`. */
export function areChunksCheaper(x: Tensor, { modelDim, heads }: HeadSizes, corrects: boolean): boolean {
  const [batch, length] = x.shape;
  const n = modelDim / heads;
  const c = chunkLength(n);
  const { kind, software } = currentDevice().info;
  const samples = Math.max(batch, parallelSamples[kind === "webgpu" && !software ? "gpu" : "cpu"]);
  // Multiplications of a head and a step.
  const recurrent = (corrects ? 3 : 2) * n ** 2;
  const chunked = corrects ? 6 * c * n + c ** 2 / 3 + 3 * n ** 2 + n ** 3 / c : 2 * c * n + 2 * n ** 2;
  return length >= leastLength && batch * chunked < samples * recurrent;
}

/**
 * The outputs W_t q_t of all steps, from W_0 = 0: `(batch, length, heads, values)`.
 *
 * @param terms The terms of a linear rule at all steps, `(batch, length, heads, ...)`.
 * @param queries `(batch, length, heads, keys)`.
 * @param corrects Whether the rule subtracts W k.
 * @param size Steps of a chunk: a power of two.
 */
export function runInChunks(
  { keys, values, rate, logDecay }: LinearTerms,
  queries: Tensor,
  corrects: boolean,
  size = chunkLength(keys.shape[3]),
): Tensor {
  const [batch, length, heads] = keys.shape;
  const chunks = Math.ceil(length / size);
  // (batch, length, heads, n) to (chunks, batch * heads, size, n). Zeros after the end change no earlier output.
  const split = (x: Tensor) =>
    x.pad([[0, 0], [0, chunks * size - length], [0, 0], [0, 0]])
      .reshape([batch, chunks, size, heads, x.shape[3]]).permute([1, 0, 3, 2, 4])
      .reshape([chunks, batch * heads, size, x.shape[3]]);
  const [k, v, q] = [keys, values, queries].map(split);
  const beta = rate && split(rate);
  const decay = logDecay && decays(split(logDecay));
  const mul = (x: Tensor, factors?: Tensor) => factors ? x.mul(factors) : x;

  const last = mul(k, decay?.toEnd);
  const scores = lower(mul(q.matmul(k.mT), decay?.between), 0);
  // Without correction: U = diag(beta) V and Z = 0.
  let u = mul(v, beta);
  let readers = mul(q, decay?.fromStart);
  let kept = decay?.whole;
  if (corrects) {
    const inverse = inverseOfUnitLower(lower(mul(mul(k.matmul(k.mT), decay?.between), beta), -1));
    const t = mul(inverse, beta?.mT);
    const z = t.matmul(mul(k, decay?.fromStart));
    u = t.matmul(v);
    readers = readers.sub(scores.matmul(z));
    kept = mul(eye(k.shape[3], { dtype: k.dtype }), kept).sub(z.mT.matmul(last));
  }
  let y = scores.matmul(u);
  if (chunks > 1) y = y.add(readers.matmul(startsOf(kept, u.mT.matmul(last)).mT));
  return y.reshape([chunks, batch, heads, size, y.shape[3]]).permute([1, 0, 3, 2, 4])
    .reshape([batch, chunks * size, heads, y.shape[3]]).slice(1, 0, length);
}

/** Products of decays within chunks, of logarithms `(..., size, 1)`. */
function decays(logarithms: Tensor) {
  const [size] = logarithms.shape.slice(-2);
  const fromStart = logarithms.cumsum(-2).exp();
  // Sums over i < j <= t. Differences of the sums from the start would lose digits.
  const between = lower(logarithms.broadcastTo([...logarithms.shape.slice(0, -1), size]), -1).cumsum(-2)
    .exp();
  return {
    /** g_t, `(..., size, 1)`. */
    fromStart,
    /** D_ti in row t and column i <= t, `(..., size, size)`. */
    between,
    /** D_Ci, `(..., size, 1)`. */
    toEnd: between.slice(-2, size - 1).mT,
    /** g_C, `(..., 1, 1)`. */
    whole: fromStart.slice(-2, size - 1),
  };
}

/** Matrices `(..., n, n)` with zeros above a diagonal: 0 is the main one, -1 the one below. */
function lower(x: Tensor, diagonal: 0 | -1): Tensor {
  const positions = arange(x.shape.at(-1)!);
  const rows = positions.add(diagonal).expandDims(1);
  return rows.greaterEqual(positions).where(x, 0);
}

/**
 * S at the start of each chunk, zero for the first: S' = S M + N.
 *
 * @param kept M `(chunks, rows, keys, keys)`, or `(chunks, rows, 1, 1)` for a multiple of the identity. Without
 * it, M is the identity.
 * @param added N `(chunks, rows, values, keys)`.
 */
function startsOf(kept: Tensor | undefined, added: Tensor): Tensor {
  const n = added.slice(0, 0, -1);
  const zero = added.slice(0, 0, 1).zerosLike();
  const m = kept?.slice(0, 0, -1) ?? ones([1, 1, 1, 1], { dtype: n.dtype });
  if (m.shape[3] === 1) return concatenate([zero, linearRecurrence(m, n)]);
  const [, ends] = scan(
    (s: Tensor, [m, n]: [Tensor, Tensor]) => {
      const next = s.matmul(m).add(n);
      return [next, next];
    },
    zero.squeeze(0),
    [m, n],
  );
  return concatenate([zero, ends]);
}

/**
 * (I + L)^-1 of strictly lower triangular matrices L `(..., n, n)`, n a power of two, by halves:
 *
 *     [A 0; B D]^-1 = [A^-1 0; -D^-1 B A^-1 D^-1]
 *
 * The products (I - L)(I + L^2)(I + L^4)... are simpler, but powers of L can be large although the inverse is small.
 */
function inverseOfUnitLower(l: Tensor): Tensor {
  const n = l.shape.at(-1)!;
  if (n <= 2) return eye(n, { dtype: l.dtype }).sub(l);
  const [top, bottom] = [l.slice(-2, 0, n / 2), l.slice(-2, n / 2)];
  const blocks = stack([top.slice(-1, 0, n / 2), bottom.slice(-1, n / 2)]);
  const inverses = inverseOfUnitLower(blocks);
  const [a, d] = [inverses.select(0, 0), inverses.select(0, 1)];
  const corner = d.matmul(bottom.slice(-1, 0, n / 2).matmul(a)).neg();
  return concatenate([concatenate([a, a.zerosLike()], -1), concatenate([corner, d], -1)], -2);
}
