export default {
  base: "./",
  build: { outDir: "built", rollupOptions: { input: ["vite.html", "worker.html"] } },
  worker: { format: "es" },
};
