import type { ProviderAdapter, ProviderRequest, ProviderResult } from '../../shared/providers/index.ts';
import type { AnswerLevel, Profile } from '../../shared/registry/index.ts';
import { CACHE_MS } from '../../shared/registry/index.ts';
import { SealBroken } from '../../shared/sealing/index.ts';
import type { StoredItem } from '../../shared/storage/port.ts';
import type { TableName } from '../../shared/storage/tables.ts';
import { type Push, type PushOptions, startPush } from '../push/rig.ts';
import { echoProfile, register } from '../server/rig.ts';

/** Words that must be found nowhere once they may not be kept; the second is of a kind that patterns find. */
export const MARK = 'planted-marker-7f3a';
export const MAIL = 'planted.marker@secret.example';
export const REDACTED_MAIL = '[EMAIL]';

/** Who says what: the global setting, the profile's own level, the providers' by id. Absent: none of its own. */
export interface Levels {
  readonly global?: AnswerLevel | undefined;
  readonly profile?: AnswerLevel | undefined;
  readonly providers?: Readonly<Record<string, AnswerLevel | undefined>>;
}

export interface Keeping extends Push {
  /** Writes levels (and what else a profile is to be) as an administrator does; they count once `CACHE_MS` have passed. */
  levels(levels: Levels, profile?: Partial<Profile>): Promise<void>;
  /** The same, and lets that time pass. */
  inForce(levels: Levels, profile?: Partial<Profile>): Promise<void>;
  /** Every item of every table. */
  dump(): Promise<Record<TableName, StoredItem[]>>;
  /** Everything sealed that can be opened with what the tables hold, as JSON. */
  readable(): Promise<string[]>;
  /** Where the words are found: in what can be opened, in the tables, in queues and in the log. */
  found(...words: readonly string[]): Promise<string[]>;
}

export interface KeepingOptions extends PushOptions {
  readonly levels?: Levels;
}

const TABLES: readonly TableName[] = ['state', 'view', 'outbox', 'delegation', 'registry'];

/** The server role with webhooks on a clock that only the test moves. The profile `echo` calls the adapters in order. */
export async function startKeeping(options: KeepingOptions = {}): Promise<Keeping> {
  const push = await startPush(options);
  const { store, gateway, clock } = push;
  const ids = Object.keys(options.adapters ?? { echo: undefined });
  const levels: Keeping['levels'] = async ({ global, profile, providers }, changed) => {
    await register(store, {
      profiles: [
        {
          ...{ ...echoProfile, providers: ids, blockingSeconds: 20 },
          ...options.profile,
          ...changed,
          ...(profile ? { answerLevel: profile } : {}),
        },
      ],
      providers: ids.map((id) => {
        const level = providers?.[id];
        return { id, kind: 'echo', timeoutSeconds: 60, ...(level ? { answerLevel: level } : {}) };
      }),
      settings: {
        ...{ requestsPerMinute: 1_000_000, openTasks: 10_000, ...options.settings },
        ...(global ? { answerLevel: global } : {}),
      },
    });
  };
  await levels(options.levels ?? {});
  const dump: Keeping['dump'] = async () => {
    const found = {} as Record<TableName, StoredItem[]>;
    for (const table of TABLES) {
      found[table] = [];
      let after: Readonly<Record<string, string>> | undefined;
      do {
        const page = await store.scan(table, after);
        found[table].push(...page.items);
        after = page.next;
      } while (after);
    }
    return found;
  };
  const readable = async () => openAll(push, await dump());
  return {
    ...push,
    levels,
    async inForce(wanted, changed) {
      await levels(wanted, changed);
      clock.advance(CACHE_MS + 1);
    },
    dump,
    readable,
    async found(...words) {
      const items = await dump();
      const places: [string, unknown][] = [
        ...(await openAll(push, items)).map((text): [string, unknown] => ['opened', text]),
        ...TABLES.flatMap((table) =>
          items[table].map((item): [string, unknown] => [`${table} ${item.pk}`, texts(item)]),
        ),
        ['log', gateway.log.lines],
        ['queues', [gateway.runQueue.messages, gateway.outboxQueue.messages, push.outbox.waiting]],
      ];
      return places.flatMap(([where, what]) =>
        words.some((word) => JSON.stringify(what).includes(word)) ? [where] : [],
      );
    },
  };
}

/** An item with its bytes as text, so that a word in them is found. */
function texts(item: StoredItem): unknown {
  return JSON.parse(
    JSON.stringify(item, (_name, value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('latin1') : value,
    ),
  );
}

interface Key {
  readonly salt: Uint8Array;
  readonly epoch: string;
}

/** Tries every salt that stands anywhere on everything sealed, whoever it belongs to. */
export async function openAll(
  { gateway }: Pick<Push, 'gateway'>,
  items: { readonly state: readonly StoredItem[] },
): Promise<string[]> {
  const salts = items.state.flatMap((item): Key[] => {
    const { work } = item as { work?: Key };
    const own = item['salt'] ? [{ salt: item['salt'] as Uint8Array, epoch: String(item['epoch']) }] : [];
    return work?.salt ? [...own, work] : own;
  });
  const firsts = items.state.filter((item) => item['of'] !== undefined);
  const opened: string[] = [];
  for (const first of firsts) {
    const stem = first.pk.slice(0, -1);
    const slices = Array.from({ length: Number(first['of']) }, (_, slice) =>
      items.state.find(({ pk }) => pk === `${stem}${slice}`),
    ).map((item) => (item?.['content'] ?? new Uint8Array()) as Uint8Array);
    const task = first.pk.split('#')[1]!;
    for (const { salt, epoch } of salts) {
      for (const purpose of ['content', 'working'] as const) {
        const sealer = gateway.services.sealer.forTask({ client: 'alice', task, purpose, epoch, salt });
        const binding = {
          table: 'state',
          key: { pk: first.pk, sk: first.sk },
          attribute: 'content',
        } as const;
        const value = await sealer.open(binding, slices).catch((error: unknown) => {
          if (error instanceof SealBroken) return undefined;
          throw error;
        });
        if (value !== undefined) opened.push(JSON.stringify(value));
      }
    }
  }
  return opened;
}

/** A provider that counts its calls and does what the function says. */
export function scripted(
  run: (request: ProviderRequest) => Promise<ProviderResult> | ProviderResult,
): ProviderAdapter & { readonly requests: ProviderRequest[] } {
  const requests: ProviderRequest[] = [];
  return {
    requests,
    async run(request) {
      requests.push(request);
      return run(request);
    },
  };
}

export const completing = (text: string): ProviderResult => ({
  kind: 'completed',
  artifacts: [{ parts: [{ text }] }],
  message: [{ text: `said: ${text}` }],
});

/** Fails in a way that lets the next provider be tried. */
export const failing: ProviderResult = { kind: 'failed', retryable: true, reason: 'unavailable' };

/** A provider that works until it is released. */
export function held(result: ProviderResult): ReturnType<typeof scripted> & {
  readonly begun: Promise<void>;
  release(): void;
} {
  const begun = Promise.withResolvers<void>();
  const released = Promise.withResolvers<void>();
  const provider = scripted(async () => {
    begun.resolve();
    await released.promise;
    return result;
  });
  return { ...provider, begun: begun.promise, release: released.resolve };
}

/** The reason that a task gives, on Get or in a status update. */
// biome-ignore lint/suspicious/noExplicitAny: the wire is untyped on purpose, tests look into it.
export function told(task: any) {
  return {
    state: task?.status?.state?.replace('TASK_STATE_', ''),
    reason: task?.metadata?.reason,
  };
}
