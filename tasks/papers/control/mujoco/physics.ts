/** The physics engine MuJoCo (Todorov, Erez, Tassa, "MuJoCo: A physics engine for model-based control", 2012). */

/**
 * MuJoCo's own package of WebAssembly, fetched the first time. Not a literal at the import: Deno would download it for
 * every user. The tests compare it with the Python package of the same version.
 */
export const physicsVersion = "3.14.0";
const physicsPackage = `npm:@mujoco/mujoco@${physicsVersion}`;

/** An object in the memory of the engine. */
interface Handle {
  delete(): void;
}

/** The state of a simulation: views of the engine's memory, in float64. */
interface PhysicsData extends Handle {
  readonly qpos: Float64Array;
  readonly qvel: Float64Array;
  readonly ctrl: Float64Array;
}

/** The part of the package that is used here. */
interface Engine {
  readonly MjModel: { from_xml_string(xml: string): Handle };
  readonly MjData: new (model: Handle) => PhysicsData;
  mj_resetData(model: Handle, data: PhysicsData): void;
  mj_forward(model: Handle, data: PhysicsData): void;
  mj_step(model: Handle, data: PhysicsData): void;
}

/** Generalized positions and velocities of a system, in meters, radians and seconds. */
export interface PhysicsState {
  readonly positions: readonly number[];
  readonly velocities: readonly number[];
}

/** A simulated system. */
export interface Simulation {
  /** The current state. */
  state(): PhysicsState;
  /**
   * Sets the state to the initial one of the model plus some offsets.
   *
   * @throws {RangeError} If the numbers of offsets are not those of the positions and velocities.
   */
  reset(offsets: PhysicsState): void;
  /**
   * Applies controls for a number of time steps of the model.
   *
   * @param controls Values of the motors. The engine clips them to the range of the model.
   * @throws {RangeError} If the number of controls is not that of the motors, or `steps` is not a positive integer.
   */
  advance(controls: ArrayLike<number>, steps: number): void;
}

let engine: Promise<Engine> | undefined;

/** Options of the package: a function that instantiates the engine's code. */
interface LoadOptions {
  instantiateWasm(
    imports: WebAssembly.Imports,
    done: (instance: WebAssembly.Instance, module: WebAssembly.Module) => void,
  ): void;
}

interface PhysicsPackage {
  readonly default: (options: LoadOptions) => Promise<Engine>;
}

async function loadEngine(): Promise<Engine> {
  try {
    const { default: load }: PhysicsPackage = await import(physicsPackage);
    // An import needs no permission. The package itself would read the file, which `deno task train` may not.
    // @ts-expect-error: TypeScript does not know imports in the source phase.
    const module: WebAssembly.Module = await import.source(`${physicsPackage}/mujoco.wasm`);
    return await load({
      instantiateWasm(imports, done) {
        WebAssembly.instantiate(module, imports).then((instance) => done(instance, module));
      },
    });
  } catch (cause) {
    engine = undefined;
    throw new Error(
      `Simulation: ${physicsPackage} cannot be loaded; the first run needs a connection to registry.npmjs.org`,
      { cause },
    );
  }
}

/**
 * Starts the simulation of a model. The first call of a machine downloads the engine, 10 MB.
 *
 * @param xml The model in MuJoCo's format MJCF.
 * @throws {Error} If the engine cannot be downloaded, or MuJoCo rejects the model.
 */
export async function Simulation(xml: string): Promise<Simulation> {
  engine ??= loadEngine();
  const { MjModel, MjData, mj_resetData, mj_forward, mj_step } = await engine;
  let model: Handle;
  try {
    model = MjModel.from_xml_string(xml);
  } catch (cause) {
    const reason = String(cause instanceof Error ? cause.message : cause).replace(/^.*Loading error: /, "");
    throw new Error(`Simulation: MuJoCo rejects the model: ${reason.replaceAll(/\s+/g, " ").trim()}`, {
      cause,
    });
  }
  const data = new MjData(model);
  const check = (name: string, found: number, wanted: number) => {
    if (found !== wanted) throw new RangeError(`Simulation: ${found} ${name}, expected ${wanted}`);
  };
  return {
    state: () => ({ positions: [...data.qpos], velocities: [...data.qvel] }),
    reset({ positions, velocities }) {
      check("offsets of positions", positions.length, data.qpos.length);
      check("offsets of velocities", velocities.length, data.qvel.length);
      mj_resetData(model, data);
      // The views are read again each time: the engine's memory moves when it grows.
      positions.forEach((offset, i) => data.qpos[i] += offset);
      velocities.forEach((offset, i) => data.qvel[i] += offset);
      mj_forward(model, data);
    },
    advance(controls, steps) {
      check("controls", controls.length, data.ctrl.length);
      if (!(Number.isInteger(steps) && steps > 0)) {
        throw new RangeError(`Simulation: ${steps} time steps, expected a positive integer`);
      }
      data.ctrl.set(controls);
      for (let i = 0; i < steps; i++) mj_step(model, data);
    },
  };
}
