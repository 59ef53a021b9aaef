/** Logs and metrics without an adapter; `log-powertools.ts` and `metrics-powertools.ts` are for composition roots. */
export type { LogLine, Measurement } from './in-memory.ts';
export { recordingLog, recordingMetrics, silentLog, silentMetrics } from './in-memory.ts';
