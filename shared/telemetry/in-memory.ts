import type { Log, Metrics } from '../runtime/ports.ts';

export const silentLog: Log = { info() {}, warn() {}, error() {} };

export interface LogLine {
  readonly level: 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: Readonly<Record<string, string | number | boolean | undefined>>;
}

/** Keeps the lines, for tests on what is logged and what must not be (P10). */
export function recordingLog(): Log & { readonly lines: readonly LogLine[] } {
  const lines: LogLine[] = [];
  const at =
    (level: LogLine['level']): Log['info'] =>
    (message, fields = {}) => {
      lines.push({ level, message, fields });
    };
  return { lines, info: at('info'), warn: at('warn'), error: at('error') };
}

export const silentMetrics: Metrics = { count() {}, milliseconds() {} };

export interface Measurement {
  readonly name: string;
  readonly unit: 'count' | 'milliseconds';
  readonly value: number;
  readonly dimensions: Readonly<Record<string, string>>;
}

/** Keeps the measurements; `total` is the sum of a metric's values over all dimensions. */
export function recordingMetrics(): Metrics & {
  readonly measurements: readonly Measurement[];
  total(name: string): number;
} {
  const measurements: Measurement[] = [];
  return {
    measurements,
    count: (name, value = 1, dimensions = {}) => {
      measurements.push({ name, unit: 'count', value, dimensions });
    },
    milliseconds: (name, value, dimensions = {}) => {
      measurements.push({ name, unit: 'milliseconds', value, dimensions });
    },
    total: (name) => measurements.reduce((sum, m) => (m.name === name ? sum + m.value : sum), 0),
  };
}
