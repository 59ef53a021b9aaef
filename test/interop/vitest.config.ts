import { defineConfig } from 'vitest/config';

/** Apart from `npm test`: it needs Python, and a package index once (`prepare.ts`). */
export default defineConfig({
  test: {
    include: ['test/interop/**/*.test.ts'],
    setupFiles: ['test/only-this-machine.ts'],
    env: { POWERTOOLS_LOG_LEVEL: 'SILENT', POWERTOOLS_METRICS_DISABLED: 'true' },
    testTimeout: 120_000,
    hookTimeout: 60_000,
    maxWorkers: 1,
  },
});
