import { createGuard, type Guard } from '../../shared/guard/index.ts';
import { deliver } from '../../shared/push/deliver.ts';
import type { DeliveryServices, OutboxMessage } from '../../shared/push/services.ts';
import { createAuthority } from '../guard/certificates.ts';
import { type Answering, type Receiver, scriptedResolver, startReceiver } from '../guard/receiver.ts';
import type { Gateway } from '../server/rig.ts';

export const WEBHOOK_HOST = 'hooks.example.com';

export interface Webhooks extends AsyncDisposable {
  readonly receiver: Receiver;
  readonly guard: Guard;
  url(path?: string): string;
  /** Takes every message off the outbox queue, with its delivery to its end. */
  deliverAll(gateway: Gateway): Promise<void>;
  services(gateway: Gateway): DeliveryServices;
}

/** A real HTTPS receiver behind the real guard: a name that a scripted resolver sends to this machine. */
export async function startWebhooks(answer?: Answering): Promise<Webhooks> {
  const authority = await createAuthority();
  const receiver = await startReceiver(await authority.issue([WEBHOOK_HOST]), answer);
  const guard = createGuard({
    ownHosts: [],
    ca: [authority.ca],
    loopbackNames: [WEBHOOK_HOST],
    resolver: scriptedResolver({ [WEBHOOK_HOST]: [['127.0.0.1']] }),
  });
  const services = (gateway: Gateway): DeliveryServices => ({
    ...gateway.services,
    outboxQueue: gateway.outboxQueue,
    guard,
    policyOf: async () => ({ purpose: 'webhook', allowedPorts: [receiver.port] }),
  });
  return {
    receiver,
    guard,
    url: (path = '/hook') => `https://${WEBHOOK_HOST}:${receiver.port}${path}`,
    services,
    async deliverAll(gateway) {
      const messages = gateway.outboxQueue.messages.splice(0);
      for (const message of messages) await deliverOne(services(gateway), message);
    },
    [Symbol.asyncDispose]: () => receiver.close(),
  };
}

export async function deliverOne(services: DeliveryServices, message: OutboxMessage): Promise<void> {
  if (message.retry) await deliver(services, message, services.clock.now() + 600_000);
  else await deliver(services, message, services.clock.now() + 600_000);
}
