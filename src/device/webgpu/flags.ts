/**
 * Constants of the WebGPU specification. Their global objects are missing where there is no WebGPU, and where it is a package. Plans
 * for a machine's GPU need them there too.
 */

/** Permitted uses of a buffer (`GPUBufferUsage`). */
export const bufferUsage = {
  MAP_READ: 0x1,
  COPY_SRC: 0x4,
  COPY_DST: 0x8,
  UNIFORM: 0x40,
  STORAGE: 0x80,
  QUERY_RESOLVE: 0x200,
} as const;

/** `GPUMapMode.READ` */
export const mapRead = 0x1;

/** `GPUShaderStage.COMPUTE` */
export const computeStage = 0x4;
