import { expect, it } from 'vitest';
import { recordingLog, recordingMetrics } from '../../shared/telemetry/index.ts';

it('recorded lines and measurements are kept as they were given', () => {
  const log = recordingLog();
  log.warn('late', { task: 'task-1' });
  log.error('failed');
  expect(log.lines).toEqual([
    { level: 'warn', message: 'late', fields: { task: 'task-1' } },
    { level: 'error', message: 'failed', fields: {} },
  ]);
  const metrics = recordingMetrics();
  metrics.count('Attempts', 2, { outcome: 'refused' });
  metrics.count('Attempts');
  metrics.milliseconds('Duration', 3);
  expect(metrics.total('Attempts')).toBe(3);
  expect(metrics.measurements).toHaveLength(3);
});
