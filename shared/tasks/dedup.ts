import { createHmac } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Message, TaskPushNotificationConfig } from '../protocol/index.ts';
import { keys } from '../storage/keys.ts';
import type { Action, StoredItem } from '../storage/port.ts';
import { FORMAT } from './formats.ts';
import type { TaskServices } from './services.ts';

/** What makes two sends the same: tenant, message and push config (design §5, dedup). */
export interface SentMessage {
  readonly client: string;
  readonly tenant: string;
  readonly message: Message;
  readonly push?: TaskPushNotificationConfig | undefined;
}

export type DedupFound = { readonly kind: 'same'; readonly task: string } | { readonly kind: 'different' };

/** Looks a message up by its id; `undefined`: not sent before, as far as the store knows. */
export async function findSent(services: TaskServices, sent: SentMessage): Promise<DedupFound | undefined> {
  const item = await services.store.get('state', keys.dedup(sent.client, sent.message.messageId), {
    consistent: true,
  });
  return item && (await compareSent(services, sent, item));
}

/** Compares with a dedup item, also one that stood in the way of a transaction. */
export async function compareSent(
  services: TaskServices,
  sent: SentMessage,
  item: StoredItem,
): Promise<DedupFound | undefined> {
  if (item['gone'] === true) return undefined;
  const epoch = String(item['epoch']);
  const key = await services.keyring.get(sent.client, 'dedup', epoch);
  return item['hash'] === digest(key, sent)
    ? { kind: 'same', task: String(item['task']) }
    : { kind: 'different' };
}

/**
 * The put that claims the message id for a task, in the transaction that accepts the message. The hash is keyed, so
 * that the item tells nobody what was sent; the key's epoch stands beside it.
 */
export async function dedupAction(services: TaskServices, sent: SentMessage, task: string): Promise<Action> {
  const { epoch, key } = await services.keyring.current(sent.client, 'dedup');
  return {
    kind: 'put',
    table: 'state',
    item: {
      ...keys.dedup(sent.client, sent.message.messageId),
      v: FORMAT,
      task,
      epoch,
      hash: digest(key, sent),
    },
    when: [
      {
        any: [
          { attribute: 'pk', is: 'absent' },
          { attribute: 'gone', is: '=', value: true },
        ],
      },
    ],
  };
}

function digest(key: Uint8Array, sent: SentMessage): string {
  const text = canonicalize({ tenant: sent.tenant, message: sent.message, push: sent.push ?? null });
  return createHmac('sha256', key).update(String(text)).digest('base64url');
}
