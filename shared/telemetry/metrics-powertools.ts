import { MetricUnit, Metrics as PowertoolsMetrics } from '@aws-lambda-powertools/metrics';
import type { Metrics } from '../runtime/ports.ts';

export interface FlushedMetrics extends Metrics {
  /** Writes what was gathered as one line (EMF); to be called at the end of each invocation. */
  flush(): void;
}

export const METRICS_NAMESPACE = 'Sealpost';

/**
 * CloudWatch metrics by embedded metric format: no request, only lines on stdout. Each has the dimensions `service`
 * and `function`; one with dimensions of its own is a line of its own, written at once. Dimensions are names from a
 * fixed set, never ids and never content. `POWERTOOLS_METRICS_DISABLED=true` silences it.
 */
export function createMetrics(functionName: string): FlushedMetrics {
  const gathered = new PowertoolsMetrics({
    namespace: METRICS_NAMESPACE,
    serviceName: 'sealpost',
    defaultDimensions: { function: functionName },
  });
  const add = (
    name: string,
    unit: (typeof MetricUnit)[keyof typeof MetricUnit],
    value: number,
    dimensions: Readonly<Record<string, string>> = {},
  ) => {
    if (Object.keys(dimensions).length === 0) {
      gathered.addMetric(name, unit, value);
      return;
    }
    const single = gathered.singleMetric();
    for (const [dimension, of] of Object.entries(dimensions)) single.addDimension(dimension, of);
    single.addMetric(name, unit, value);
  };
  return {
    count: (name, value = 1, dimensions) => add(name, MetricUnit.Count, value, dimensions),
    milliseconds: (name, value, dimensions) => add(name, MetricUnit.Milliseconds, value, dimensions),
    flush() {
      if (gathered.hasStoredMetrics()) gathered.publishStoredMetrics();
    },
  };
}
