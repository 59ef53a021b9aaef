import * as z from 'zod';
import { checkText } from '../guard/index.ts';
import { distinct, whole } from '../registry/index.ts';

/** What an operator may open for a client's webhooks: bounds, and names that a webhook can have at all. */
export const webhookPorts = distinct(z.array(whole(1, 65_535)).max(20));

const anyWebhook = { ownHosts: [], allowedPorts: [], loopback: false };

/** The guard compares names exactly, so one that it refuses by its text would allow nothing. */
const webhookHost = z
  .string()
  .max(253)
  .superRefine((host, context) => {
    const verdict = checkText(`https://${host}/`, anyWebhook);
    if (verdict.verdict === 'refuse') {
      context.addIssue({ code: 'custom', message: `is no host that a webhook can have (${verdict.rule})` });
    } else if (verdict.host !== host.toLowerCase()) {
      context.addIssue({ code: 'custom', message: 'must be a host name and nothing else' });
    }
  })
  .transform((host) => host.toLowerCase());

/** `null`: any host again. An empty list would let none be, which is what disabling a client is for. */
export const webhookHosts = z.nullable(distinct(z.array(webhookHost).min(1).max(100)));
