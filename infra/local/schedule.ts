import { randomUUID } from 'node:crypto';
import type { ScheduledEvent } from 'aws-lambda';
import { type Invocable, invoke, type OnError, type Poller } from './invoker.ts';
import { localAccount, localRegion } from './local-client.ts';

/**
 * EventBridge calling a function at a fixed rate, the first time one interval after the start. An invocation that is
 * still running is not joined by a second one.
 */
export function schedule(target: Invocable, intervalMs: number, onError?: OnError): Poller {
  let running: Promise<void> | undefined;
  const timer = setInterval(() => {
    running ??= invoke(target, scheduledEvent(target.name))
      .then(() => {})
      .catch((error: unknown) => onError?.(target.name, error))
      .finally(() => {
        running = undefined;
      });
  }, intervalMs);
  return {
    running: () => (running ? 1 : 0),
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}

function scheduledEvent(name: string): ScheduledEvent {
  return {
    version: '0',
    id: randomUUID(),
    'detail-type': 'Scheduled Event',
    source: 'aws.events',
    account: localAccount,
    time: new Date().toISOString().replace(/\.\d{3}Z$/, 'Z'),
    region: localRegion,
    resources: [`arn:aws:events:${localRegion}:${localAccount}:rule/${name}`],
    detail: {},
  };
}
