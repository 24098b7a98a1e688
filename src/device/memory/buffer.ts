/** Buffers: memory of a device with its lifetime. */
import { deferRelease, isAllocationDeferred, isCapturing, registerBuffer, registerUse } from "../capture.ts";
import { reviveBuffer, trackBuffer } from "./buffer_scope.ts";
import { takeFromCollector } from "./collector.ts";
import type { Buffer, KernelDevice } from "../device.ts";
import { currentAccount, type MemoryAccount } from "./memory_account.ts";

let bufferCount = 0;

/** The serial number of the next buffer. */
export function nextSerial(): number {
  return bufferCount;
}

class DeviceBuffer implements Buffer {
  readonly device: KernelDevice;
  readonly byteLength: number;
  readonly serial: number = bufferCount++;
  isLeftToCollector = false;
  isUnreturned = false;
  /** Undefined until the first use, if allocation is deferred. */
  #memory: unknown;
  /** The account that counts the memory. */
  #account: MemoryAccount | undefined;
  #isFreed = false;

  constructor(device: KernelDevice, byteLength: number) {
    this.device = device.base ?? device;
    this.byteLength = byteLength;
    registerBuffer(this);
    if (!isAllocationDeferred()) this.#memory = this.#allocate();
    trackBuffer(this);
  }

  get memory(): unknown {
    if (this.#isFreed) {
      throw new Error(
        "this tensor was freed when the function that made it ended (tidy, grad, valueAndGrad and jit free the tensors that " +
          "their functions make and do not return): return the tensor from the function, or wrap it in keep(...)",
      );
    }
    if (this.isUnreturned) reviveBuffer(this);
    registerUse(this);
    return this.#memory ??= this.#allocate();
  }

  #allocate(): unknown {
    const account = currentAccount();
    account?.charge(this.byteLength);
    this.#account = account;
    return this.device.allocate(this.byteLength);
  }

  get freed(): boolean {
    return this.#isFreed;
  }

  free(): void {
    if (this.#isFreed) return;
    this.#isFreed = true;
    this.isUnreturned = false;
    if (this.isLeftToCollector) takeFromCollector(this);
    if (!deferRelease(this)) this.release();
  }

  reopen(): void {
    this.#isFreed = false;
  }

  release(): void {
    this.#isFreed = true;
    if (this.#memory !== undefined) this.device.release(this.#memory, this.byteLength);
    this.#memory = undefined;
    this.#account?.credit(this.byteLength, isCapturing());
    this.#account = undefined;
  }
}

/** Allocates a buffer in the current scope. `byteLength` is a multiple of four, or zero. */
export function allocateBuffer(device: KernelDevice, byteLength: number): Buffer {
  return new DeviceBuffer(device, byteLength);
}
