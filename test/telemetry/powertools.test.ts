import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createLog } from '../../shared/telemetry/log-powertools.ts';
import { createMetrics } from '../../shared/telemetry/metrics-powertools.ts';

let lines: Record<string, unknown>[];
beforeEach(() => {
  lines = [];
  // The library writes to its own console unless told that it is watched.
  vi.stubEnv('POWERTOOLS_DEV', 'true');
  vi.stubEnv('POWERTOOLS_METRICS_DISABLED', 'false');
  vi.stubEnv('AWS_LAMBDA_FUNCTION_NAME', 'sealpost-rpc');
  for (const method of ['log', 'info', 'warn', 'error'] as const) {
    vi.spyOn(console, method).mockImplementation((line: string) => {
      lines.push(JSON.parse(line));
    });
  }
});
afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

describe('the log', () => {
  it('writes one JSON line with the function, the message and the fields that have a value', () => {
    const log = createLog('rpc');
    log.info('task accepted', { task: 'task-1', revision: 1, blocked: false, reason: undefined });
    log.warn('late');
    log.error('failed', { reason: 'STORE' });
    expect(lines).toMatchObject([
      {
        level: 'INFO',
        service: 'sealpost',
        function: 'rpc',
        message: 'task accepted',
        task: 'task-1',
        revision: 1,
        blocked: false,
      },
      { level: 'WARN', message: 'late' },
      { level: 'ERROR', message: 'failed', reason: 'STORE' },
    ]);
    expect(lines[0]).not.toHaveProperty('reason');
    expect(lines[1]).not.toHaveProperty('task');
  });

  it('is silent when the environment says so', () => {
    vi.stubEnv('POWERTOOLS_LOG_LEVEL', 'SILENT');
    createLog('rpc').error('failed');
    expect(lines).toEqual([]);
  });
});

describe('the metrics', () => {
  it('are gathered, and written once by a flush', () => {
    const metrics = createMetrics('executor');
    metrics.count('RunsStarted');
    metrics.count('RunsStarted', 2);
    metrics.milliseconds('RunDuration', 12.5);
    expect(lines).toEqual([]);
    metrics.flush();
    metrics.flush();
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({
      function: 'executor',
      service: 'sealpost',
      RunsStarted: [1, 2],
      RunDuration: 12.5,
      _aws: {
        CloudWatchMetrics: [
          {
            Namespace: 'Sealpost',
            Dimensions: [['service', 'function']],
            Metrics: [
              { Name: 'RunsStarted', Unit: 'Count' },
              { Name: 'RunDuration', Unit: 'Milliseconds' },
            ],
          },
        ],
      },
    });
  });

  it('with dimensions of their own stand apart, and lend them to no other', () => {
    const metrics = createMetrics('delivery');
    metrics.count('Attempts', 1, { outcome: 'delivered' });
    metrics.count('Attempts', 1, { outcome: 'refused' });
    metrics.count('Leases');
    metrics.flush();
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatchObject({ function: 'delivery', outcome: 'delivered', Attempts: 1 });
    expect(lines[1]).toMatchObject({ function: 'delivery', outcome: 'refused', Attempts: 1 });
    expect(lines[2]).toMatchObject({ function: 'delivery', Leases: 1 });
    expect(lines[2]).not.toHaveProperty('outcome');
  });

  it('may be more in one invocation than fit into one line', () => {
    const metrics = createMetrics('projector');
    for (let n = 0; n < 250; n++) metrics.count('Projected');
    metrics.flush();
    const values = lines.flatMap((line) => line['Projected'] as number | number[]);
    expect(values).toHaveLength(250);
  });

  it('are silent when the environment says so', () => {
    vi.stubEnv('POWERTOOLS_METRICS_DISABLED', 'true');
    const metrics = createMetrics('rpc');
    metrics.count('Requests');
    metrics.count('Requests', 1, { outcome: 'ok' });
    metrics.flush();
    expect(lines).toEqual([]);
  });
});
