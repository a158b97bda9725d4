// Node 18 has Web Crypto, which browsers have as a global, only as a module.
import { webcrypto } from 'node:crypto';

globalThis.crypto ??= webcrypto;
