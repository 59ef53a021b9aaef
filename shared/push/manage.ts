import { isTerminal, type TaskPushNotificationConfig } from '../protocol/index.ts';
import { keys, timeKey } from '../storage/keys.ts';
import type { Action, Value } from '../storage/port.ts';
import type { ConfigRef, Head } from '../tasks/formats.ts';
import { readHead } from '../tasks/read-head.ts';
import type { TaskServices } from '../tasks/services.ts';
import { type Config, type ConfigSecret, configItem, configOf, MAX_CONFIGS, UNTRIED } from './formats.ts';
import { openSecret, sealSecret, secretOf, shownConfig } from './secret.ts';

/** A config that is about to be written together with something else. */
export interface PreparedConfig {
  readonly ref: ConfigRef;
  readonly action: Action;
  readonly shown: TaskPushNotificationConfig;
}

/**
 * A new config for a task: its internal id, its sealed content, its fence. Id given or generated; progress starts behind
 * the fence (design §6).
 */
export async function prepareConfig(
  services: TaskServices,
  task: string,
  client: string,
  fence: number,
  wanted: TaskPushNotificationConfig,
): Promise<PreparedConfig> {
  const id = Buffer.from(services.random.bytes(9))
    .toString('base64url')
    .replaceAll('-', 'x')
    .replaceAll('_', 'y');
  const secret = secretOf(wanted, wanted.id || services.random.uuid());
  const config: Config = {
    task,
    id,
    client,
    createdAt: services.clock.now(),
    state: 'active',
    generation: 1,
    revision: fence + 1,
    standing: UNTRIED,
    ...(await sealSecret(services.sealer, { client, task, id }, secret)),
  };
  return {
    ref: { id, fence },
    action: {
      kind: 'put',
      table: 'outbox',
      item: configItem(config),
      when: [{ attribute: 'pk', is: 'absent' }],
    },
    shown: shownConfig(task, secret),
  };
}

export type CreatedConfig =
  | { readonly kind: 'created'; readonly config: TaskPushNotificationConfig }
  | { readonly kind: 'unknown' | 'terminal' | 'too-many' | 'id-taken' };

/** How often a change that loses a race reads the head anew. */
const TRIES = 12;
/** Pauses between reads of a config that its head names and that is not visible yet, ms. */
const READ_AGAIN = [20, 50, 100, 200, 400];

/**
 * Registers a webhook for a task of this client: one transaction on the head, which fixes the fence (P3) and holds the
 * bound of 5. The same config under the same id answers the one that stands; another under that id is `id-taken`.
 */
export async function createConfig(
  services: TaskServices,
  client: string,
  wanted: TaskPushNotificationConfig & { readonly taskId: string },
): Promise<CreatedConfig> {
  for (let tries = 0; tries < TRIES; tries++) {
    const found = await readOwn(services, client, wanted.taskId);
    if (!found) return { kind: 'unknown' };
    const { head, configs } = found;
    if (isTerminal(head.state)) return { kind: 'terminal' };
    const same = wanted.id ? configs.find(({ secret }) => secret.name === wanted.id) : undefined;
    if (same) {
      if (!isIdentical(wanted, shownConfig(head.task, same.secret))) return { kind: 'id-taken' };
      if (same.config.state !== 'stopped') {
        return { kind: 'created', config: shownConfig(head.task, same.secret) };
      }
      // Registered anew: a stopped one gets no more jobs, and would stay silent for ever.
      await deleteConfig(services, client, head.task, same.secret.name);
      continue;
    }
    if (configs.length >= MAX_CONFIGS) return { kind: 'too-many' };
    const prepared = await prepareConfig(services, head.task, client, head.revision, wanted);
    const outcome = await services.store.transact(
      [configsUpdate(head, [...head.configs, prepared.ref]), prepared.action],
      services.random.uuid(),
    );
    if (outcome.kind === 'done') return { kind: 'created', config: prepared.shown };
  }
  throw new Error('the configs of the task changed too often');
}

/** Whether a client asks for the very config that stands, credentials included. */
export function isIdentical(
  wanted: TaskPushNotificationConfig,
  standing: TaskPushNotificationConfig,
): boolean {
  const name = standing.id ?? '';
  return JSON.stringify(secretOf(wanted, name)) === JSON.stringify(secretOf(standing, name));
}

/**
 * Takes a config away: none of its jobs starts an attempt once this is acknowledged (P7). `undefined` for a task that is
 * not this client's; a config that is not there is as good as deleted.
 */
export async function deleteConfig(
  services: TaskServices,
  client: string,
  task: string,
  name: string,
): Promise<'deleted' | undefined> {
  for (let tries = 0; tries < TRIES; tries++) {
    const own = await readOwn(services, client, task);
    if (!own) return undefined;
    const found = own.configs.find(({ secret }) => secret.name === name);
    if (!found) return 'deleted';
    const left = own.head.configs.filter((ref) => ref.id !== found.config.id);
    const outcome = await services.store.transact(
      [
        configsUpdate(own.head, left, 'any'),
        { kind: 'delete', table: 'outbox', key: keys.pushConfig(task, found.config.id) },
      ],
      services.random.uuid(),
    );
    if (outcome.kind === 'done') return 'deleted';
  }
  throw new Error('the configs of the task changed too often');
}

/** All configs of a task of this client, paused and stopped ones included, oldest first. */
export async function listConfigs(
  services: TaskServices,
  client: string,
  task: string,
): Promise<readonly TaskPushNotificationConfig[] | undefined> {
  const placed = await placeConfigs(services, client, task);
  return placed?.map(({ shown }) => shown);
}

/** A config with its place in the listing, a text that sorts as the listing does and that no other config ever has. */
export interface PlacedConfig {
  readonly place: string;
  readonly stopped: boolean;
  readonly shown: TaskPushNotificationConfig;
}

/** As `listConfigs`, with the places: a listing goes on behind a config that is gone meanwhile. */
export async function placeConfigs(
  services: TaskServices,
  client: string,
  task: string,
): Promise<readonly PlacedConfig[] | undefined> {
  const own = await readOwn(services, client, task);
  return own?.configs.map(({ config, secret }) => ({
    place: placeOf(config),
    stopped: config.state === 'stopped',
    shown: shownConfig(task, secret),
  }));
}

/**
 * The list in the head. For a new config the head's revision is a condition, because it is the fence; a config may be
 * taken away at any revision.
 */
export function configsUpdate(
  head: Head,
  configs: readonly ConfigRef[],
  revision: 'this' | 'any' = 'this',
): Action {
  return {
    kind: 'update',
    table: 'state',
    key: keys.head(head.task),
    changes: { set: { configs: configs as unknown as Value, configsEdition: head.configsEdition + 1 } },
    when: [
      { attribute: 'pk', is: 'present' },
      ...(revision === 'this' ? ([{ attribute: 'rev', is: '=', value: head.revision }] as const) : []),
      { attribute: 'configsEdition', is: '=', value: head.configsEdition },
    ],
  };
}

interface Own {
  readonly head: Head;
  readonly configs: readonly { readonly config: Config; readonly secret: ConfigSecret }[];
}

/**
 * The head of a task of this client with all configs that it names, and the stopped ones. A transaction's items become
 * visible one by one: a config that the head names and that is not there is being made or taken away, and is read again,
 * else it would be counted and deleted as if it did not exist.
 */
async function readOwn(services: TaskServices, client: string, task: string): Promise<Own | undefined> {
  for (let again = 0; ; again++) {
    const head = await readHead(services, task);
    if (!head || head.client !== client) return undefined;
    const configs = await readConfigs(services, task);
    if (head.configs.every(({ id }) => configs.some((config) => config.id === id))) {
      return { head, configs: await Promise.all(configs.map((config) => opened(services, config))) };
    }
    const pause = READ_AGAIN[again];
    if (pause === undefined) throw new Error('a config of the task could not be read');
    await services.clock.sleep(pause);
  }
}

const placeOf = (config: Config): string => `${timeKey(config.createdAt)}#${config.id}`;

/** Oldest first. */
async function readConfigs(services: TaskServices, task: string): Promise<readonly Config[]> {
  const page = await services.store.query({
    table: 'outbox',
    partition: keys.pushConfig(task, '').pk,
    sort: { prefix: keys.pushConfigPrefix },
    consistent: true,
  });
  return page.items.map(configOf).sort((a, b) => (placeOf(a) < placeOf(b) ? -1 : 1));
}

async function opened(services: TaskServices, config: Config) {
  return { config, secret: await openSecret(services.sealer, config) };
}
