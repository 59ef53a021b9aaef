import { Duration } from 'aws-cdk-lib';
import { type IMetric, MathExpression, Metric } from 'aws-cdk-lib/aws-cloudwatch';
import type { FunctionName } from '../bundle.ts';

const period = Duration.minutes(5);

/** A metric of our own code, under the dimensions that `shared/telemetry/metrics-powertools.ts` gives it. */
export function ownMetric(
  namespace: string,
  metricName: string,
  by: FunctionName,
  statistic: 'Sum' | 'Maximum' | 'SampleCount',
  dimensions: Readonly<Record<string, string>> = {},
): Metric {
  const dimensionsMap = { service: 'sealpost', function: by, ...dimensions };
  return new Metric({ namespace, metricName, dimensionsMap, statistic, period });
}

/** Over all functions and dimensions of a metric: one series each, which only a query adds up. */
export function overall(namespace: string, metricName: string, label: string): MathExpression {
  return new MathExpression({
    expression: `SELECT SUM(${metricName}) FROM "${namespace}"`,
    usingMetrics: {},
    label,
    period,
  });
}

/** Percent of `bad` in `all`, of at least `least`; below that 0. A series without data counts as 0. */
export function percent(
  label: string,
  least: number,
  all: Readonly<Record<string, IMetric>>,
  bad: readonly string[],
): MathExpression {
  const sum = (names: readonly string[]) => names.map((name) => `FILL(${name}, 0)`).join(' + ');
  const total = sum(Object.keys(all));
  return new MathExpression({
    expression: `IF(${total} >= ${least}, 100 * (${sum(bad)}) / (${total}), 0)`,
    usingMetrics: { ...all },
    label,
    period,
  });
}
