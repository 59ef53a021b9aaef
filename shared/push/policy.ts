import type { WebhookPolicy } from '../guard/index.ts';
import type { Client } from '../registry/index.ts';

/**
 * Where webhooks of a client may lead: port 443 and those an administrator opened to it, on any host or on its own list.
 * `undefined` while it is disabled: nothing is sent for it then.
 */
export function webhookPolicyOf(
  client: Pick<Client, 'disabled' | 'webhookPorts' | 'webhookHosts'> | undefined,
): WebhookPolicy | undefined {
  if (client?.disabled) return undefined;
  return {
    purpose: 'webhook',
    allowedPorts: client?.webhookPorts ?? [],
    ...(client?.webhookHosts ? { allowHosts: client.webhookHosts } : {}),
  };
}
