import { defineConfig } from 'vitest/config';

/** Tests of whole hosts, which are timed or busy: each has the machine to itself, after all others. */
const whole = [
  'test/e2e/**/*.test.ts',
  'test/local/{start,host}.test.ts',
  'test/delegation/{two-hosts,chain,a2a-js}.test.ts',
  'test/readme/walk.test.ts',
];

/** Thousands of small worlds: on their own, so that they and the others are not in each other's way. */
const crash = ['test/crash/**/*.test.ts'];
/** Of delegations there are so many that `npm test` would take too long with them: `npm run test:crash` plays those. */
const delegations = ['test/crash/delegation-*.test.ts'];

export default defineConfig({
  test: {
    setupFiles: ['test/only-this-machine.ts'],
    // Only what hangs: a busy machine is no failure, and what must be fast is measured by the test itself.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Two cores: more workers only make the embedded engines starve each other.
    maxWorkers: 2,
    projects: [
      {
        extends: true,
        test: {
          name: 'parts',
          include: ['test/**/*.test.ts'],
          exclude: ['test/interop/**', ...crash, ...whole],
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: { name: 'crash', include: crash, exclude: delegations, sequence: { groupOrder: 1 } },
      },
      {
        extends: true,
        test: { name: 'delegations', include: delegations, sequence: { groupOrder: 1 } },
      },
      {
        extends: true,
        test: { name: 'whole', include: whole, maxWorkers: 1, sequence: { groupOrder: 2 } },
      },
    ],
  },
});
