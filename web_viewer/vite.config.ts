import { defineConfig } from 'vitest/config';

// PLIANT_HTTP: address of a running pliantd, for `npm run dev`.
const server = process.env.PLIANT_HTTP ?? 'http://127.0.0.1:8080';

export default defineConfig({
  base: './',
  build: { target: 'es2022', chunkSizeWarningLimit: 1200, reportCompressedSize: false },
  worker: { format: 'es' },
  test: { setupFiles: ['tests/setup.mjs'] },
  server: {
    // numeric, because a minimal system may not resolve localhost
    host: '127.0.0.1',
    proxy: {
      '/ws': { target: server.replace(/^http/, 'ws'), ws: true },
      '/healthz': server,
    },
  },
});
