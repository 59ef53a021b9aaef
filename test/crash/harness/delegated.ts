import { type Dependency, dependencyOf, registrationOf } from '../../../shared/delegation/formats.ts';
import { keys, type StoredItem, type TableName } from '../../../shared/storage/index.ts';
import { credentialOf } from './furniture.ts';
import { broken, type Expected } from './invariants.ts';
import type { Effect, Write } from './ledger.ts';
import type { RemoteClient } from './remote-client.ts';
import type { World } from './world.ts';

/** What must hold beside the promises: what this scenario's steps may come to. */
export interface Handed extends Expected {
  /** Outcomes that a dependency may have ended with. */
  readonly outcomes: readonly string[];
  /** Dependencies that there are; default 1. */
  readonly dependencies?: number;
  /** Turns in which steps were handed on; default 1. */
  readonly turns?: number;
  /** A message may be run more than once: its remote does not know it again. */
  readonly mayRunTwice?: boolean;
  /** It may end before it was suspended, or while it was: by being canceled, say. */
  readonly mayEndEarly?: boolean;
  /** Remote tasks that are known here end, be it that they are told to. */
  readonly endsRemote?: boolean;
  /** Requests that its agents get at most: nothing polls beside the one that does. */
  readonly mostRequests?: number;
  /** The remote refuses its first message for the config in it: what is sent again has none. */
  readonly refusesPush?: boolean;
}

interface Writing {
  readonly place: number;
  readonly by: string;
  readonly writes: readonly Write[];
}

const ENDS = /COMPLETED|FAILED|CANCELED|REJECTED/;
const TABLES: readonly TableName[] = ['state', 'view', 'outbox', 'delegation', 'registry'];

/** Holds a world at rest to P1 to P6, and its dependencies to P4, P6, P8 and P10. Answers what is broken, in words. */
export async function brokenDelegation(
  world: World,
  clients: readonly RemoteClient[],
  handed: Handed,
): Promise<string[]> {
  const found = await broken(world, clients, handed);
  const tables = await dumpAll(world);
  const dependencies = tables.delegation.filter(({ pk }) => pk.startsWith('D#')).map(dependencyOf);
  const wanted = handed.dependencies ?? 1;
  const few = handed.mayEndEarly ? dependencies.length > wanted : dependencies.length !== wanted;
  if (few) found.push(`${dependencies.length} dependencies exist, not ${wanted}`);
  for (const dependency of dependencies)
    checkDependency(world, dependency, handed, (words) =>
      found.push(`dependency ${dependency.id}: ${words}`),
    );
  found.push(
    ...brokenTurns(world, dependencies, handed),
    ...brokenRegistrations(tables.delegation, dependencies),
    ...brokenCredentials(world, tables, dependencies),
    ...brokenMessages(world, dependencies, handed),
    ...brokenCallbacks(world),
  );
  const requests = world.agents.requests.length;
  if (requests > (handed.mostRequests ?? Number.POSITIVE_INFINITY))
    found.push(`agents got ${requests} requests`);
  for (const { remoteTask } of handed.endsRemote ? dependencies : []) {
    const stage = world.agents.tasks.find(({ id }) => id === remoteTask)?.stage;
    if (stage && !ENDS.test(stage.state)) found.push(`a remote task is left ${stage.state}`);
  }
  return found;
}

/** P6, P8: it ended, by one write, and nothing of it is due any more; it was due from its creation on. */
function checkDependency(world: World, dependency: Dependency, handed: Handed, say: (words: string) => void) {
  const { state, outcome, lease, due } = dependency;
  if (state !== 'ended') say(`it is left as ${state}`);
  if (outcome !== undefined && !handed.outcomes.includes(outcome)) say(`it ended as ${outcome}`);
  if (lease) say('its lease is left');
  if (due !== undefined) say('it is left among what is due');
  const key = keys.dependency(dependency.task, dependency.id);
  const creations = world.ledger.puts('delegation').filter(({ item }) => isOf(item, key));
  if (creations.length !== 1) say(`it was created ${creations.length} times`);
  for (const { item } of creations)
    if (!(Number(item['da']) <= dependency.deadline)) say('it was created without a time to look at it');
  const endings = endingsOf(world, dependency);
  if (endings.length !== 1) say(`it was resolved ${endings.length} times`);
  for (const { writes } of endings) {
    const answer = `.in.${dependency.id}#0`;
    const counts = writes.find(
      ({ table, key: { pk }, sets }) =>
        table === 'state' && pk === `T#${dependency.task}` && sets?.['waiting'] !== undefined,
    );
    const brings = writes.some(({ table, key: { pk } }) => table === 'state' && pk.endsWith(answer));
    // Of a task that is over it is given up: nobody waits for what it would bring.
    if ((counts !== undefined) !== brings) say('its counter and its answer were not written together');
    if (!brings && !handed.mayEndEarly) say('it was given up');
  }
}

function endingsOf(world: World, { task, id }: Dependency): Writing[] {
  const key = keys.dependency(task, id);
  return writings(world).filter(({ writes }) =>
    writes.some(
      (write) => write.table === 'delegation' && isOf(write.key, key) && write.sets?.['state'] === 'ended',
    ),
  );
}

/** P4, P8: each turn suspends its run once and resumes it once; its provider is not called again for what it handed on. */
function brokenTurns(world: World, dependencies: readonly Dependency[], handed: Handed): string[] {
  const found: string[] = [];
  const turns = new Set(dependencies.map(({ id }) => id.slice(0, 4)));
  if (turns.size !== (handed.turns ?? 1) && !handed.mayEndEarly) found.push(`${turns.size} turns were taken`);
  const suspended = writings(world).filter(({ writes }) =>
    writes.some(
      ({ table, key, kind }) => kind === 'put' && table === 'delegation' && key.pk.startsWith('D#'),
    ),
  );
  if (suspended.length !== turns.size) found.push(`${suspended.length} suspensions of ${turns.size} turns`);
  const resumed = writings(world).filter(({ writes }) =>
    writes.some(
      ({ table, key, sets }) =>
        table === 'state' &&
        key.pk.startsWith('T#') &&
        sets?.['run'] === 'queued' &&
        sets['waiting'] === 0 &&
        !sets['commit'],
    ),
  );
  const most = turns.size;
  if (resumed.length > most || (resumed.length < most && !handed.mayEndEarly))
    found.push(`the run was resumed ${resumed.length} times after ${most} turns`);
  suspended.forEach(({ place }, turn) => {
    const until = resumed[turn]?.place ?? Number.POSITIVE_INFINITY;
    const called = calls(world).filter((call) => call.place > place && !call.late);
    if (called.some((call) => call.place < until))
      found.push('a provider was called while its agents worked');
    if (called.some((call) => call.place > until && !call.resumed))
      found.push('a provider was asked anew for what it had handed on');
  });
  return found;
}

/** P8: all are closed, and none is counted any more. */
function brokenRegistrations(
  delegation: readonly StoredItem[],
  dependencies: readonly Dependency[],
): string[] {
  const found: string[] = [];
  const registrations = delegation.filter(({ pk }) => pk.startsWith('R#')).map(registrationOf);
  for (const { id, state, task, dependency } of registrations) {
    if (state !== 'ended') found.push(`a registration is left ${state}`);
    const own = dependencies.find((one) => one.task === task && one.id === dependency);
    if (own?.registration !== id) found.push('a registration belongs to no dependency');
  }
  const counter = delegation.find((item) => isOf(item, keys.openRegistrations()));
  if (Number(counter?.['open'] ?? 0) !== 0)
    found.push(`${counter?.['open']} registrations are counted as open`);
  return found;
}

/** P10: no credential stands in the clear anywhere; sealed, none of a callback outlives the remote's acknowledgment. */
function brokenCredentials(
  world: World,
  tables: Readonly<Record<TableName, readonly StoredItem[]>>,
  dependencies: readonly Dependency[],
): string[] {
  const found: string[] = [];
  const secrets = [...world.agents.credentials, ...Object.keys(world.options.agents ?? {}).map(credentialOf)];
  const bodies = world.ledger.effects.filter(({ kind }) => kind === 'queued');
  const places: [string, string][] = [
    ...TABLES.map((table): [string, string] => [`table ${table}`, textOf(tables[table])]),
    ['what was ever written', textOf(writings(world))],
    ['the log', textOf(world.log.lines)],
    ['the metrics', textOf(world.metrics.measurements)],
    ['the queues', textOf(bodies)],
  ];
  for (const [place, text] of places)
    if (secrets.some((secret) => text.includes(secret))) found.push(`a credential stands in ${place}`);
  for (const { id, task } of dependencies) {
    const key = keys.dependency(task, id);
    for (const { writes } of writings(world)) {
      const acknowledged = writes.some(
        (write) => isOf(write.key, key) && write.sets?.['registered'] === true,
      );
      const forgotten = writes.some(
        ({ kind, key: { pk } }) => kind === 'delete' && pk.endsWith(`.cred.${id}#0`),
      );
      if (acknowledged && !forgotten)
        found.push(`dependency ${id} kept its credential when it was registered`);
    }
  }
  return found;
}

/** The same message, byte for byte, however often it is sent; run once where its remote knows it again. */
function brokenMessages(world: World, dependencies: readonly Dependency[], handed: Handed): string[] {
  const { requests, begun } = world.agents;
  const found: string[] = [];
  const sent = requests.filter(({ method }) => method === 'SendMessage');
  const own = dependencies.map(({ messageId }) => messageId);
  for (const messageId of new Set(sent.map((request) => request.messageId ?? ''))) {
    const bodies = new Set(sent.filter((one) => one.messageId === messageId).map(({ body }) => body));
    const most = handed.refusesPush ? 2 : 1;
    if (bodies.size > most) found.push(`a message was sent with ${bodies.size} bodies`);
    if (!own.some((id) => messageId === id || messageId.startsWith(`${id}-`)))
      found.push('a message was sent of which no dependency knows');
    const runs = begun.filter((id) => id === messageId).length;
    if (runs > 1 && !handed.mayRunTwice) found.push(`a message was run ${runs} times`);
  }
  for (const { agent, authorization, method } of requests)
    if (authorization !== `Bearer ${credentialOf(agent)}`) found.push(`${method} had another credential`);
  return found;
}

/** P8: 2xx means stored, or that nobody waits any more; 401 means that nothing was stored. */
function brokenCallbacks(world: World): string[] {
  const found: string[] = [];
  for (const { registration, by, status, from, to } of world.agents.callbacks) {
    const key = keys.registration(registration);
    const own = writings(world).filter(({ writes }) => writes.some((write) => isOf(write.key, key)));
    const stored = own.some(
      (write) => write.place >= from && write.place < to && write.by.startsWith('callback'),
    );
    const ended = own.some(
      ({ place, writes }) =>
        place < to && writes.some((write) => isOf(write.key, key) && write.sets?.['state'] === 'ended'),
    );
    if (by === 'agent' && status === 200 && !stored && !ended)
      found.push('a callback was answered and not stored');
    if (by === 'agent' && status === 401) found.push('a callback with the right credential was refused');
    if (by === 'stranger' && status !== undefined && status !== 401)
      found.push(`a stranger was answered ${status}`);
  }
  const known = new Set(
    world.agents.callbacks.filter(({ by }) => by === 'agent').map(({ registration }) => registration),
  );
  for (const { by, writes } of writings(world)) {
    if (!by.startsWith('callback')) continue;
    for (const { table, key } of writes)
      if (table !== 'delegation' || ![...known].some((id) => isOf(key, keys.registration(id))))
        found.push(`a callback wrote ${table} ${key.pk}`);
  }
  return found;
}

function writings(world: World): Writing[] {
  return world.ledger.effects.flatMap((effect, place) =>
    effect.kind === 'write' ? [{ place, by: effect.by, writes: effect.writes }] : [],
  );
}

function calls(world: World): (Extract<Effect, { kind: 'provider' }> & { readonly place: number })[] {
  return world.ledger.effects.flatMap((effect, place) =>
    effect.kind === 'provider' ? [{ ...effect, place }] : [],
  );
}

function isOf(
  one: { readonly pk: string; readonly sk: string },
  other: { readonly pk: string; readonly sk: string },
) {
  return one.pk === other.pk && one.sk === other.sk;
}

/** With bytes as text, so that a word in them is found. */
function textOf(value: unknown): string {
  return JSON.stringify(value, (_name, one: unknown) =>
    one instanceof Uint8Array ? Buffer.from(one).toString('latin1') : one,
  );
}

async function dumpAll(world: World): Promise<Record<TableName, StoredItem[]>> {
  const dumped = {} as Record<TableName, StoredItem[]>;
  for (const table of TABLES) {
    dumped[table] = [];
    let after: Readonly<Record<string, string>> | undefined;
    do {
      const page = await world.store.scan(table, after);
      dumped[table].push(...page.items);
      after = page.next;
    } while (after);
  }
  return dumped;
}
