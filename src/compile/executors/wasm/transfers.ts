/** Copies between rows of samples in memory and slots. */
import type { FunctionBuilder, Local } from "../../../device/cpu/assembler/wasm.ts";
import type { Tile } from "./tile.ts";

/** Copies a slot: (to, from, size). */
export function copier(tile: Tile): FunctionBuilder {
  return tile.function("copy", ["address", "address", "i32"], (f) => {
    const [to, from, left] = f.params;
    f.doWhile(() => {
      f.storeVectors(to, tile.forVectors((v) => () => f.load("v128.load", from, 16 * v)));
      f.increment(to, tile.unit);
      f.increment(from, tile.unit);
    }, () => f.tee(left, () => f.op("i32.sub", left, 1)));
  });
}

/** Fills a slot with zeros: (address, size). */
export function zeroer(tile: Tile): FunctionBuilder {
  return tile.function("zero", ["address", "i32"], (f) => {
    const [to, left] = f.params;
    f.doWhile(() => {
      f.storeVectors(to, tile.forVectors(() => () => f.i32x4(0)));
      f.increment(to, tile.unit);
    }, () => f.tee(left, () => f.op("i32.sub", left, 1)));
  });
}

/**
 * Loads rows of samples into a slot: (slot, address, size, valid). Padding lanes repeat the last valid sample, so that they do
 * not overflow, or are zero, so that they add nothing to sums.
 */
export function loader(tile: Tile, memoryBytes: 4 | 8, padding: "repeat" | "zero"): FunctionBuilder {
  return tile.function(`load ${memoryBytes} ${padding}`, ["address", "address", "i32", "i32"], (f) => {
    const [to, from, size, valid] = f.params;
    const rows = f.locals("address", tile.samples);
    const rowBytes = f.local("address");
    f.set(rowBytes, () => f.op("address.mul", size, memoryBytes));
    const lastRow = f.local("i32");
    f.set(lastRow, () => f.op("i32.sub", valid, 1));
    const sample = f.local("i32");
    const left = f.local("i32");
    rows.forEach((row, lane) => {
      f.set(sample, () => f.op("select", lane, lastRow, () => f.op("i32.gt_u", valid, lane)));
      f.set(row, () => f.op("address.add", from, () => f.op("address.mul", sample, rowBytes)));
    });
    const masks = f.locals("v128", tile.vectors);
    if (padding === "zero") {
      masks.forEach((mask, v) => {
        const lanes = Array.from(
          { length: 4 },
          (_, i) => v * tile.lanes + (tile.lanes === 2 ? i >> 1 : i),
        );
        f.set(
          mask,
          () =>
            f.op(
              "i32x4.lt_u",
              () => f.i32x4(lanes[0], lanes[1], lanes[2], lanes[3]),
              () => f.op("i32x4.splat", valid),
            ),
        );
      });
    }
    const finish = (v: number) => {
      if (padding === "zero") f.op("v128.and", masks[v]);
    };
    const one = () => {
      for (let v = 0; v < tile.vectors; v++) {
        f.store("v128.store", to, () => {
          f.i32x4(0);
          for (let lane = 0; lane < tile.lanes; lane++) {
            const vector = f.local("v128");
            f.set(vector);
            const name = memoryBytes === 4 ? "v128.load32_lane" : "v128.load64_lane";
            f.laneMemory(name, lane, rows[v * tile.lanes + lane], vector);
          }
          finish(v);
        }, 16 * v);
      }
      rows.forEach((row) => f.increment(row, memoryBytes));
      f.increment(to, tile.unit);
    };
    const many = tile.lanes;
    f.set(left, size);
    if (memoryBytes === tile.bytes) {
      /** Loads `many` elements of each row, transposes them in registers, and stores some of them. */
      const several = (store: (element: number, act: () => void) => void) => {
        for (let v = 0; v < tile.vectors; v++) {
          const vectors = Array.from({ length: many }, (_, lane) => {
            const vector = f.local("v128");
            f.set(vector, () => f.load("v128.load", rows[v * many + lane]));
            return vector;
          });
          transposed(f, vectors).forEach((push, element) =>
            store(element, () =>
              f.store("v128.store", to, () => {
                push();
                finish(v);
              }, element * tile.unit + 16 * v))
          );
        }
      };
      f.while(() => f.op("i32.ge_s", left, many), () => {
        several((_, act) => act());
        rows.forEach((row) => f.increment(row, many * memoryBytes));
        f.increment(to, many * tile.unit);
        f.increment(left, -many);
      });
      // Elements past the end of a row are read but not stored. Memory is readable past its last block.
      f.if(
        () => f.op("i32.gt_s", left, 0),
        () =>
          several((element, act) => {
            if (element === 0) act();
            else if (element < many - 1) f.if(() => f.op("i32.gt_s", left, element), act);
          }),
      );
      return;
    }
    f.while(() => f.op("i32.gt_s", left, 0), () => {
      one();
      f.increment(left, -1);
    });
  });
}

/** Code that pushes the columns of a square of vectors. */
export function transposed(f: FunctionBuilder, rows: readonly Local[]): (() => void)[] {
  if (rows.length === 2) {
    return [() => f.shuffle64([0, 2], rows[0], rows[1]), () => f.shuffle64([1, 3], rows[0], rows[1])];
  }
  const [a, b, c, d] = rows;
  const halves = f.locals("v128", 4);
  f.set(halves[0], () => f.shuffle32([0, 4, 1, 5], a, b));
  f.set(halves[1], () => f.shuffle32([2, 6, 3, 7], a, b));
  f.set(halves[2], () => f.shuffle32([0, 4, 1, 5], c, d));
  f.set(halves[3], () => f.shuffle32([2, 6, 3, 7], c, d));
  return [0, 1, 2, 3].map((column) => () =>
    f.shuffle64(column % 2 === 0 ? [0, 2] : [1, 3], halves[column >> 1], halves[2 + (column >> 1)])
  );
}

/** Stores a slot as rows of samples: (address, slot, size, valid). */
export function storer(tile: Tile): FunctionBuilder {
  return tile.function("store", ["address", "address", "i32", "i32"], (f) => {
    const [to, from, size, valid] = f.params;
    const left = f.local("i32");
    const [element, row] = f.locals("address", 2);
    const many = tile.lanes;
    const rowBytes = () => f.op("address.mul", size, tile.bytes);
    f.set(left, size);
    f.if(() => f.op("i32.eq", valid, tile.samples), () => {
      f.while(() => f.op("i32.ge_s", left, many), () => {
        f.set(row, to);
        for (let v = 0; v < tile.vectors; v++) {
          const vectors = Array.from({ length: many }, (_, i) => {
            const vector = f.local("v128");
            f.set(vector, () => f.load("v128.load", from, i * tile.unit + 16 * v));
            return vector;
          });
          for (const push of transposed(f, vectors)) {
            f.store("v128.store", row, push);
            f.increment(row, rowBytes);
          }
        }
        f.increment(to, many * tile.bytes);
        f.increment(from, many * tile.unit);
        f.increment(left, -many);
      });
    });
    // The remaining elements, one by one.
    const [lane, rest] = f.locals("i32", 2);
    f.set(lane, 0);
    f.while(() => f.op("i32.lt_u", lane, valid), () => {
      f.set(row, () => f.op("address.add", to, () => f.op("address.mul", lane, rowBytes)));
      f.set(element, () => f.op("address.add", from, () => f.op("address.mul", lane, tile.bytes)));
      f.set(rest, left);
      f.while(() => f.op("i32.gt_s", rest, 0), () => {
        const [load, store] = tile.bytes === 4
          ? ["i32.load", "i32.store"] as const
          : ["i64.load", "i64.store"] as const;
        f.store(store, row, () => f.load(load, element));
        f.increment(row, tile.bytes);
        f.increment(element, tile.unit);
        f.increment(rest, -1);
      });
      f.increment(lane, 1);
    });
  });
}

/** Adds the sums over the lanes of a slot: (address, slot, size). */
export function laneSum(tile: Tile): FunctionBuilder {
  return tile.function("lane sum", ["address", "address", "i32"], (f) => {
    const [to, from, left] = f.params;
    const sum = f.local("v128");
    const scalar = tile.bytes === 4 ? "f32" : "f64";
    f.while(() => f.op("i32.gt_s", left, 0), () => {
      f.set(sum, () => f.load("v128.load", from));
      for (let v = 1; v < tile.vectors; v++) {
        f.set(sum, () => f.op(`${tile.floats}.add`, sum, () => f.load("v128.load", from, 16 * v)));
      }
      f.store(`${scalar}.store`, to, () => {
        f.load(`${scalar}.load`, to);
        for (let lane = 0; lane < tile.lanes; lane++) {
          f.lane(`${tile.floats}.extract_lane`, lane, sum);
          f.op(`${scalar}.add`);
        }
      });
      f.increment(to, tile.bytes);
      f.increment(from, tile.unit);
      f.increment(left, -1);
    });
  });
}
