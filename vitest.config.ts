import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    exclude: ['test/interop/**'],
    testTimeout: 30_000,
    hookTimeout: 30_000,
    // Two cores: more workers only make the embedded engines starve each other.
    maxWorkers: 2,
  },
});
