import { describe, vi } from 'vitest';
import { startHost } from '../../infra/local/host.ts';
import { startCommand } from './command.ts';
import { provesAStockClient } from './stock-suite.ts';

vi.stubEnv('POWERTOOLS_LOG_LEVEL', 'SILENT');
vi.stubEnv('POWERTOOLS_METRICS_DISABLED', 'true');

describe('a stock client and a host in this process', () => {
  provesAStockClient((functionModules) => startHost({ functionModules, graceMs: 500 }));
});

describe('a stock client and `npm start`', () => {
  provesAStockClient(async (functions) => {
    const flags = Object.entries(functions).flatMap(([name, path]) => ['--function', `${name}=${path}`]);
    const command = await startCommand(flags);
    return { ...command, stop: command.interrupt };
  });
});
