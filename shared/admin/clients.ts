import * as z from 'zod';
import {
  type Client,
  clientInput,
  type Decision,
  type Deed,
  grants,
  mintToken,
  readRecord,
  readRecords,
} from '../registry/index.ts';
import type { Random } from '../runtime/ports.ts';
import type { Store } from '../storage/port.ts';
import type { AdminFailure } from './failures.ts';
import {
  anId,
  answerEdit,
  done,
  failed,
  isoTime,
  isPossible,
  notFound,
  type OperationParts,
  type Operations,
  operation,
} from './operation.ts';
import { webhookHosts, webhookPorts } from './webhooks.ts';

const aClient = z.strictObject({ id: anId });
const someGrants = z.strictObject({
  id: anId,
  profiles: grants.refine((profiles) => profiles.length > 0, { error: 'must name at least one' }),
});
const webhooks = z.strictObject({
  id: anId,
  ports: z.exactOptional(webhookPorts),
  hosts: z.exactOptional(webhookHosts),
});
const rotation = z.strictObject({ id: anId, dropOld: z.boolean().default(false) });

const MOST_GRANTS = 200;

export function clientOperations({ store, clock, random, editor, log }: OperationParts): Operations {
  /** An edit of a client that must be there. */
  const editClient = (id: string, deed: Deed, change: (client: Client) => Client | AdminFailure) =>
    isPossible('client', id)
      ? editor.edit<'client', AdminFailure>('client', id, deed, (current) =>
          current ? decide(change(current.value)) : { kind: 'refuse', failure: notFound('client', id) },
        )
      : Promise.resolve({ kind: 'refused' as const, failure: notFound('client', id) });

  const shown = ({ value }: { readonly value: Client }) => ({ client: showClient(value) });

  return {
    'client.add': operation(clientInput, async (input, deed) => {
      const missing = await unknownProfile(store, input.profiles);
      if (missing) return failed(missing);
      const id = input.id ?? newClientId(random);
      const { token, hash } = mintToken(id, random);
      const createdAt = clock.now();
      const added: Client = {
        id,
        name: input.name,
        disabled: false,
        tokens: [{ hash, createdAt }],
        profiles: input.profiles,
        createdAt,
      };
      const edit = editor.edit<'client', AdminFailure>('client', id, deed, (current) =>
        current
          ? { kind: 'refuse', failure: { kind: 'exists', subject: 'client', id } }
          : { kind: 'save', value: added },
      );
      return answerEdit(edit, (saved) => ({ ...shown(saved), token }));
    }),

    'client.list': operation(z.strictObject({}), async () => {
      const clients = await readRecords(store, 'client', log);
      return done({ clients: clients.map(({ value }) => showClient(value)) });
    }),

    'client.disable': operation(aClient, ({ id }, deed) =>
      answerEdit(
        editClient(id, deed, (client) => ({ ...client, disabled: true })),
        shown,
      ),
    ),

    'client.enable': operation(aClient, ({ id }, deed) =>
      answerEdit(
        editClient(id, deed, (client) => ({ ...client, disabled: false })),
        shown,
      ),
    ),

    'client.grant': operation(someGrants, async ({ id, profiles }, deed) => {
      const missing = await unknownProfile(store, profiles);
      if (missing) return failed(missing);
      const edit = editClient(id, deed, (client) => {
        const granted = [...new Set([...client.profiles, ...profiles])];
        return granted.length <= MOST_GRANTS
          ? { ...client, profiles: granted }
          : {
              kind: 'refused',
              field: 'profiles',
              message: `profiles: a client has at most ${MOST_GRANTS}; grant * instead`,
            };
      });
      return answerEdit(edit, shown);
    }),

    'client.revoke': operation(someGrants, ({ id, profiles }, deed) => {
      const edit = editClient(id, deed, (client) => {
        const ungranted = profiles.findIndex((profile) => !client.profiles.includes(profile));
        if (ungranted >= 0) {
          const field = `profiles[${ungranted}]`;
          return {
            kind: 'refused',
            field,
            message: `${field}: "${profiles[ungranted]}" is not granted to the client`,
          };
        }
        return { ...client, profiles: client.profiles.filter((profile) => !profiles.includes(profile)) };
      });
      return answerEdit(edit, shown);
    }),

    /**
     * What its webhooks may be (guard, rule 1): ports besides 443, and the only hosts, null for any. What is absent stays.
     * Holds for configs that stand already: they are checked before each attempt.
     */
    'client.webhooks': operation(webhooks, async ({ id, ports, hosts }, deed) => {
      const edit = editClient(id, deed, ({ webhookPorts, webhookHosts, ...client }) => {
        const opened = ports?.filter((port) => port !== 443) ?? webhookPorts ?? [];
        const only = hosts === undefined ? webhookHosts : (hosts ?? undefined);
        return {
          ...client,
          ...(opened.length > 0 ? { webhookPorts: opened } : {}),
          ...(only ? { webhookHosts: only } : {}),
        };
      });
      return answerEdit(edit, shown);
    }),

    /** Without a gap: a second token beside the first, then, once the client uses it, the older one is dropped. */
    'client.rotate': operation(rotation, ({ id, dropOld }, deed) => {
      if (dropOld) return answerEdit(editClient(id, deed, dropOlderToken), shown);
      const { token, hash } = mintToken(id, random);
      const createdAt = clock.now();
      const edit = editClient(id, deed, (client) => {
        if (client.tokens.length >= 2)
          return {
            kind: 'refused',
            message: 'the client has two tokens already; drop the older one first (--drop-old)',
          };
        return { ...client, tokens: [...client.tokens, { hash, createdAt }] };
      });
      return answerEdit(edit, (saved) => ({ ...shown(saved), token }));
    }),
  };
}

/** A client as administrators see it: how many tokens, of when, never their hashes. */
function showClient(client: Client): object {
  return {
    id: client.id,
    name: client.name,
    disabled: client.disabled,
    profiles: client.profiles,
    ...(client.webhookPorts ? { webhookPorts: client.webhookPorts } : {}),
    ...(client.webhookHosts ? { webhookHosts: client.webhookHosts } : {}),
    tokens: client.tokens.map(({ createdAt }) => ({ createdAt: isoTime(createdAt) })),
    createdAt: isoTime(client.createdAt),
  };
}

function decide(outcome: Client | AdminFailure): Decision<Client, AdminFailure> {
  return 'kind' in outcome ? { kind: 'refuse', failure: outcome } : { kind: 'save', value: outcome };
}

/** The newest token stands last. */
function dropOlderToken(client: Client): Client | AdminFailure {
  return client.tokens.length < 2
    ? { kind: 'refused', message: 'the client has one token only; rotate it first' }
    : { ...client, tokens: client.tokens.slice(-1) };
}

async function unknownProfile(store: Store, profiles: readonly string[]): Promise<AdminFailure | undefined> {
  for (const [index, profile] of profiles.entries()) {
    if (profile === '*' || (await readRecord(store, 'profile', profile))) continue;
    const field = `profiles[${index}]`;
    return { kind: 'refused', field, message: `${field}: there is no profile "${profile}"` };
  }
  return undefined;
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';
/** Not a secret, only unlikely to be taken: 10 characters. */
function newClientId(random: Random): string {
  return [...random.bytes(10)].map((byte) => alphabet[byte % alphabet.length]).join('');
}
