// Generates src/gen from proto/ with protoc (Debian: protobuf-compiler, libprotobuf-dev).
// PROTOC selects another compiler. Unchanged files are not rewritten.
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative } from 'node:path';
import { fileURLToPath } from 'node:url';

const viewer = dirname(dirname(fileURLToPath(import.meta.url)));
const protos = join(dirname(viewer), 'proto');
const out = join(viewer, 'src', 'gen');
const plugin = join(viewer, 'node_modules', '.bin', 'protoc-gen-es');

// all files of the API
const sources = [
  ...readdirSync(join(protos, 'pliant', 'v1')).map((name) => `pliant/v1/${name}`),
  'google/rpc/status.proto',
];

const fresh = mkdtempSync(join(tmpdir(), 'pliant-proto-'));
try {
  const protoc = process.env.PROTOC ?? 'protoc';
  const run = spawnSync(
    protoc,
    ['-I', protos, `--plugin=protoc-gen-es=${plugin}`, `--es_out=${fresh}`, '--es_opt=target=ts', ...sources],
    { stdio: 'inherit' },
  );
  if (run.error) {
    console.error(`${protoc}: ${run.error.message}. Install protobuf-compiler and libprotobuf-dev, or set PROTOC.`);
    process.exit(1);
  }
  if (run.status !== 0) process.exit(run.status ?? 1);

  for (const file of walk(fresh)) {
    const target = join(out, relative(fresh, file));
    const text = readFileSync(file);
    if (same(target, text)) continue;
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
  }
} finally {
  rmSync(fresh, { recursive: true, force: true });
}

function walk(folder) {
  return readdirSync(folder).flatMap((name) => {
    const path = join(folder, name);
    return statSync(path).isDirectory() ? walk(path) : [path];
  });
}

function same(path, text) {
  try {
    return readFileSync(path).equals(text);
  } catch {
    return false;
  }
}
