import assert from "node:assert/strict";
import { init } from "../../mod.ts";
import { findAdapter, openGlMessage } from "../../src/device/webgpu/adapter.ts";

/** Information that adapters report, by driver. */
const adapters = {
  "llvmpipe through OpenGL": ["llvmpipe (LLVM 15.0.6, 256 bits)", "0", 4, 128],
  "llvmpipe through Vulkan": ["llvmpipe (LLVM 15.0.6, 256 bits)", "0", 8, 8],
  "a GPU through OpenGL": ["NVIDIA GeForce RTX 3060/PCIe/SSE2", "0", 4, 128],
  "a GPU through Vulkan": ["NVIDIA GeForce RTX 3060", "9476", 32, 32],
  "a GPU through Vulkan whose subgroups are unknown": ["Adreno (TM) 630", "101", 4, 128],
  "a GPU through Metal": ["Apple M1", "0", 4, 64],
} as const;

for (const [name, [description, device, subgroupMinSize, subgroupMaxSize]] of Object.entries(adapters)) {
  Deno.test(`${name} is described as such`, async () => {
    const info = { vendor: "", architecture: "", description, device, subgroupMinSize, subgroupMaxSize };
    const gpu = { requestAdapter: () => Promise.resolve({ info }) };
    const before = Object.getOwnPropertyDescriptor(navigator, "gpu");
    Object.defineProperty(navigator, "gpu", { value: gpu, configurable: true });
    try {
      const found = (await findAdapter("native"))!;
      assert.equal(found.openGl, name.endsWith("OpenGL"));
      assert.equal(found.software, name.startsWith("llvmpipe"));
      assert.equal(found.description.includes("through OpenGL"), found.openGl);
    } finally {
      if (before) Object.defineProperty(navigator, "gpu", before);
      else Reflect.deleteProperty(navigator, "gpu");
    }
  });
}

const present = await findAdapter("native");

Deno.test({
  name: "init names an adapter that is reached through OpenGL, and warns once [webgpu]",
  ignore: !present?.openGl,
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const { warn } = console;
    const warnings: string[] = [];
    console.warn = (message: string) => warnings.push(message);
    try {
      for (let i = 0; i < 2; i++) {
        const { info } = await init({ device: "webgpu" });
        assert.match(info.description, /through OpenGL/);
      }
    } finally {
      console.warn = warn;
      await init({ device: "cpu" });
    }
    assert.deepEqual(warnings, [`weft: the only GPU is ${openGlMessage(present!)}`]);
  },
});
