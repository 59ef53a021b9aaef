import { afterEach } from 'vitest';
import { takeRefused } from './loopback-only.ts';

// Node processes that tests start are held to it, too.
const flag = `--import ${new URL('./loopback-only.ts', import.meta.url).href}`;
const given = process.env['NODE_OPTIONS'] ?? '';
if (!given.includes(flag)) process.env['NODE_OPTIONS'] = `${given} ${flag}`.trim();

afterEach(() => {
  const refused = takeRefused();
  if (refused.length > 0) throw new Error(`A test tried to reach ${refused.join(', ')}.`);
});
