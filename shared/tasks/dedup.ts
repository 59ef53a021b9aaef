import { createHmac } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { Message, TaskPushNotificationConfig } from '../protocol/index.ts';
import { dedupDigest, keys } from '../storage/keys.ts';
import type { Action, StoredItem } from '../storage/port.ts';
import { FORMAT } from './formats.ts';
import { readHead } from './read-head.ts';
import type { TaskServices } from './services.ts';

/** What makes two sends the same: tenant, message and push config (design §5, dedup). */
export interface SentMessage {
  readonly client: string;
  readonly tenant: string;
  readonly message: Message;
  readonly push?: TaskPushNotificationConfig | undefined;
}

export interface DedupFound {
  readonly kind: 'same' | 'different';
  readonly task: string;
}

/** Looks a message up by its id; `undefined`: not sent before, as far as the store knows, or its task was purged. */
export async function findSent(services: TaskServices, sent: SentMessage): Promise<DedupFound | undefined> {
  const item = await services.store.get('state', keys.dedup(sent.client, sent.message.messageId), {
    consistent: true,
  });
  const found = item && (await compareSent(services, sent, item));
  return found && (await readHead(services, found.task)) ? found : undefined;
}

/** Compares with a dedup item, also one that stood in the way of a transaction. */
export async function compareSent(
  services: Pick<TaskServices, 'keyring'>,
  sent: SentMessage,
  item: StoredItem,
): Promise<DedupFound> {
  const key = await services.keyring.get(sent.client, 'dedup', String(item['epoch']));
  return { kind: item['hash'] === digest(key, sent) ? 'same' : 'different', task: String(item['task']) };
}

/**
 * The put that claims the message id for a task, in the transaction that accepts the message. The hash is keyed, so
 * that the item tells nobody what was sent; the key's epoch stands beside it. `replaces`: the entry of a purged task
 * may stand there.
 */
export async function dedupAction(
  services: TaskServices,
  sent: SentMessage,
  task: string,
  replaces?: string,
): Promise<{ readonly action: Action; readonly digest: string }> {
  const { epoch, key } = await services.keyring.current(sent.client, 'dedup');
  const place = keys.dedup(sent.client, sent.message.messageId);
  return {
    digest: dedupDigest(place),
    action: {
      kind: 'put',
      table: 'state',
      item: { ...place, v: FORMAT, task, epoch, hash: digest(key, sent) },
      when: [
        replaces === undefined
          ? { attribute: 'pk', is: 'absent' }
          : {
              any: [
                { attribute: 'pk', is: 'absent' },
                { attribute: 'task', is: '=', value: replaces },
              ],
            },
      ],
    },
  };
}

function digest(key: Uint8Array, sent: SentMessage): string {
  const text = canonicalize({ tenant: sent.tenant, message: sent.message, push: sent.push ?? null });
  return createHmac('sha256', key).update(String(text)).digest('base64url');
}
