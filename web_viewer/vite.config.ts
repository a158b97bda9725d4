import { defineConfig } from 'vite';

// PLIANT_HTTP: where a running pliantd listens, for `npm run dev`.
const server = process.env.PLIANT_HTTP ?? 'http://127.0.0.1:8080';

export default defineConfig({
  base: './',
  build: { target: 'es2022', chunkSizeWarningLimit: 1200, reportCompressedSize: false },
  worker: { format: 'es' },
  server: {
    // by number: a bare system need not know the name localhost
    host: '127.0.0.1',
    proxy: {
      '/ws': { target: server.replace(/^http/, 'ws'), ws: true },
      '/healthz': server,
    },
  },
});
