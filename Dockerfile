# A server of a trained run on port 8000: docs/guides/serving.md.
FROM denoland/deno:2.9.6
WORKDIR /weft
COPY deno.json deno.lock mod.ts ./
COPY src src
COPY kernels kernels
COPY tasks tasks
RUN deno install --quiet --entrypoint tasks/serve.ts tasks/serve_worker.ts
USER deno
# Memory that is free after a peak returns to the system.
ENV DENO_USR2_MEMORY_TRIM=1 MALLOC_ARENA_MAX=1
EXPOSE 8000
HEALTHCHECK --start-period=20s CMD ["deno", "eval", "Deno.exit((await fetch('http://127.0.0.1:8000/health')).ok ? 0 : 1)"]
ENTRYPOINT ["deno", "run", "--quiet", "--no-prompt", "--cached-only", "-P=serve", "tasks/serve.ts", "--host", "0.0.0.0"]
CMD ["/run"]
