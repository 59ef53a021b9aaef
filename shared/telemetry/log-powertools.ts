import { Logger } from '@aws-lambda-powertools/logger';
import type { Log } from '../runtime/ports.ts';

/**
 * Structured lines on stdout. What may stand in them is the caller's promise (P10): ids, states, reasons, counts; the
 * event of an invocation is never logged. `POWERTOOLS_LOG_LEVEL=SILENT` silences it.
 */
export function createLog(functionName: string): Log {
  const logger = new Logger({ serviceName: 'sealpost', persistentKeys: { function: functionName } });
  return {
    info: (message, fields = {}) => logger.info(message, fields),
    warn: (message, fields = {}) => logger.warn(message, fields),
    error: (message, fields = {}) => logger.error(message, fields),
  };
}
