/** Sources and expected contents of public data sets. */
import { parseUea, zipEntries } from "@weft/weft/data";
import { parseLongSeries } from "./data/ett.ts";
import { gunzip, parseIdx } from "./data/idx.ts";

/** A file of a data set. */
export interface SourceFile {
  /** Path relative to the data folder. */
  readonly path: string;
  readonly url: string;
  /** Number of bytes, if published. */
  readonly size?: number;
  /** Digest in hexadecimal digits, if published. */
  readonly digest?: { readonly algorithm: "sha256" | "md5"; readonly hex: string };
  /**
   * Describes the content; throws if the content is damaged. @param from Source of the bytes, for messages.
   */
  readonly content?: {
    readonly expected: string;
    find(bytes: Uint8Array, from: string): Promise<string> | string;
  };
}

/** A data set, named as in `deno task download`. */
interface DataSet {
  readonly name: string;
  /** Its size, as text. */
  readonly amount: string;
  readonly files: readonly SourceFile[];
}

/**
 * A problem of the UEA archive, with its name there. The series are checked, not the bytes of the zip file.
 */
function uea(
  name: string,
  problem: string,
  amount: string,
  [series, channels, classes]: readonly [series: number, channels: number, classes: number],
): DataSet {
  const inWords = (series: number, channels: number, classes: number) =>
    `${series} series of ${channels} channels in ${classes} classes`;
  return {
    name,
    amount,
    files: [{
      path: `${problem}.zip`,
      url: `https://timeseriesclassification.com/aeon-toolkit/${problem}.zip`,
      content: {
        expected: inWords(series, channels, classes),
        async find(bytes, from) {
          const set = await parseUea(bytes, from, problem);
          return inWords(set.series.length, set.channels.length, set.classes.length);
        },
      },
    }],
  };
}

/** Four files of images and labels, with the MD5 of each. */
function images(name: string, amount: string, url: string, md5: readonly string[]): DataSet {
  const parts = [
    ["train-images-idx3-ubyte", "60000 by 28 by 28"],
    ["train-labels-idx1-ubyte", "60000"],
    ["t10k-images-idx3-ubyte", "10000 by 28 by 28"],
    ["t10k-labels-idx1-ubyte", "10000"],
  ];
  return {
    name,
    amount,
    files: parts.map(([file, expected], i): SourceFile => ({
      path: `${name}/${file}.gz`,
      url: `${url}/${file}.gz`,
      digest: { algorithm: "md5", hex: md5[i] },
      content: {
        expected: `an array of ${expected}`,
        find: (bytes, from) => `an array of ${parseIdx(gunzip(bytes, from), from).shape.join(" by ")}`,
      },
    })),
  };
}

/** Two years of data of one transformer. */
function ett(file: string, amount: string, rows: number): DataSet {
  return {
    name: file.toLowerCase(),
    amount,
    files: [{
      path: `${file}.csv`,
      url: `https://raw.githubusercontent.com/zhouhaoyi/ETDataset/main/ETT-small/${file}.csv`,
      content: {
        expected: `${rows} rows of 7 channels`,
        find(bytes, from) {
          const { times, columns } = parseLongSeries(new TextDecoder().decode(bytes), from);
          return `${times.length} rows of ${columns.length} channels`;
        },
      },
    }],
  };
}

/** Patient stays of one of two hospitals. */
function stays(archive: string, count: number): SourceFile {
  return {
    path: `sepsis/${archive}.zip`,
    url: `https://archive.physionet.org/users/shared/challenge-2019/${archive}.zip`,
    content: {
      expected: `${count} stays`,
      find(bytes, from) {
        const files = zipEntries(bytes, from).filter(({ name }) => /(^|\/)p\d+\.psv$/.test(name));
        return `${files.length} stays`;
      },
    },
  };
}

/** Every data set that can be downloaded. */
export const dataSets: readonly DataSet[] = [
  uea("character-trajectories", "CharacterTrajectories", "3.5 MB", [2858, 3, 20]),
  uea("japanese-vowels", "JapaneseVowels", "0.5 MB", [640, 12, 9]),
  uea("basic-motions", "BasicMotions", "0.2 MB", [80, 6, 4]),
  uea("eigenworms", "EigenWorms", "28 million numbers", [259, 6, 5]),
  uea("ethanol-concentration", "EthanolConcentration", "3 million numbers", [524, 3, 4]),
  uea("heartbeat", "Heartbeat", "10 million numbers", [409, 61, 2]),
  uea("motor-imagery", "MotorImagery", "73 million numbers", [378, 64, 2]),
  uea("self-regulation-scp1", "SelfRegulationSCP1", "3 million numbers", [561, 6, 2]),
  uea("self-regulation-scp2", "SelfRegulationSCP2", "3 million numbers", [380, 7, 2]),
  {
    name: "speech-commands",
    amount: "2429 MB",
    files: [{
      path: "speech_commands_v0.02.tar.gz",
      url: "https://storage.googleapis.com/download.tensorflow.org/data/speech_commands_v0.02.tar.gz",
      size: 2_428_923_189,
      digest: {
        algorithm: "sha256",
        hex: "af14739ee7dc311471de98f5f9d2c9191b18aedfe957f4a6ff791c709868ff58",
      },
    }],
  },
  {
    name: "sepsis",
    amount: "60 million numbers",
    files: [stays("training_setA", 20_336), stays("training_setB", 20_000)],
  },
  images("mnist", "11.6 MB", "https://ossci-datasets.s3.amazonaws.com/mnist", [
    "f68b3c2dcbeaaa9fbdd348bbdeb94873",
    "d53e105ee54ea40749a09fcbcd1e9432",
    "9fb629c4189551a2d022fa330f9573f3",
    "ec29112dd5afa0611ce80d1b7f02629c",
  ]),
  images(
    "fashion-mnist",
    "31 MB",
    "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion",
    [
      "8d4fb7e6c68d591d4c3dfef9ec88bf0d",
      "25c81989df183df01b3e8a0aad5dffbe",
      "bef4ecab320f06d8554ea6380940ec79",
      "bb300cfdad3c16e7a12a480ee83cd310",
    ],
  ),
  ett("ETTh1", "2.6 MB", 17_420),
  ett("ETTh2", "2.4 MB", 17_420),
  ett("ETTm1", "10 MB", 69_680),
  ett("ETTm2", "10 MB", 69_680),
];
