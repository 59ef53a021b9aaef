import { configOf, jobOf } from '../../shared/push/formats.ts';
import { headOf } from '../../shared/tasks/formats.ts';
import type { Fate, When } from './harness/calls.ts';
import { GO } from './harness/calls.ts';
import { answered, type PushBench, type PushWorld, type PushWorldOptions } from './push-world.ts';

const URL_A = 'https://a.example.com/hook';
const URL_B = 'https://b.example.com/hook';

/** What a client and an operator do, and what it must come to. */
export interface PushScenario {
  readonly name: string;
  readonly options?: PushWorldOptions;
  readonly play: (world: PushWorld) => Promise<void>;
  /** Events that each receiver must have accepted, in this order. */
  readonly accepted: Readonly<Record<string, readonly string[]>>;
  /** How the jobs may have ended, in the order of their revisions. */
  readonly ends?: readonly string[];
}

const send = async (world: PushWorld, wanted?: object): Promise<string> => {
  const { result } = await world.call('SendMessage', {
    message: { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'hi' }] },
    configuration: { returnImmediately: true, ...(wanted ? { taskPushNotificationConfig: wanted } : {}) },
  });
  return result.task.id;
};
const create = async (world: PushWorld, taskId: string, id: string, url: string) => {
  const { error } = await world.call('CreateTaskPushNotificationConfig', { taskId, id, url });
  if (error) throw new Error(`a config was refused: ${JSON.stringify(error)}`);
};
const cancel = (world: PushWorld, id: string) => world.call('CancelTask', { id });
const remove = (world: PushWorld, taskId: string, id: string) =>
  world.call('DeleteTaskPushNotificationConfig', { taskId, id });

export const pushScenarios: readonly PushScenario[] = [
  {
    name: 'embed, project, dispatch, attempt, a failure, acknowledge',
    options: { receiver: (_, event, n) => answered(event === 'CANCELED' && n === 1 ? 503 : 200) },
    async play(world) {
      await cancel(world, await send(world, { url: URL_A }));
    },
    accepted: { [URL_A]: ['SUBMITTED', 'CANCELED'] },
  },
  {
    name: 'create, and delete another while its events wait',
    options: { receiver: (url, _, n) => answered(url === URL_B && n < 3 ? 503 : 200) },
    async play(world) {
      const task = await send(world, { id: 'b', url: URL_B });
      await create(world, task, 'a', URL_A);
      await world.clock.sleep(2_000);
      await remove(world, task, 'b');
      await cancel(world, task);
    },
    accepted: { [URL_A]: ['CANCELED'] },
  },
  {
    name: 'pause, and resume',
    options: {
      receiver: (_, event, n) => answered(event === 'SUBMITTED' && n === 1 ? 401 : 200),
    },
    async play(world) {
      const task = await send(world, { url: URL_A });
      await cancel(world, task);
      // Whatever died, by then it was attempted and paused.
      for (let minutes = 0; minutes < 30; minutes++) {
        const config = (await world.all('outbox')).find(({ sk }) => sk.startsWith('C#'));
        if (config?.['state'] === 'paused') break;
        await world.clock.sleep(60_000);
      }
      const config = (await world.all('outbox')).find(({ sk }) => sk.startsWith('C#'))!;
      await world.administer({ resume: `${task}/${config.sk.slice(2)}` });
    },
    accepted: { [URL_A]: ['SUBMITTED', 'CANCELED'] },
  },
  {
    name: 'stop',
    options: { receiver: () => answered(410) },
    async play(world) {
      const task = await send(world, { url: URL_A });
      await world.clock.sleep(3_000);
      await cancel(world, task);
    },
    accepted: { [URL_A]: [] },
    // Whoever is late to stop it meets the second revision's job too.
    ends: ['failed', 'failed,superseded'],
  },
  {
    name: 'rebuild the view while events are delivered',
    options: { receiver: (_, event, n) => answered(event === 'CANCELED' && n === 1 ? 503 : 200) },
    async play(world) {
      const task = await send(world, { url: URL_A });
      await cancel(world, task);
      await world.administer({ rebuild: task });
      await world.clock.sleep(3_600_000);
      const before = posts(world);
      await world.administer({ rebuild: task });
      await world.clock.sleep(3_600_000);
      // Rebuilding repeats no webhook.
      if (posts(world) !== before) throw new Error('a rebuild repeated a webhook');
    },
    accepted: { [URL_A]: ['SUBMITTED', 'CANCELED'] },
  },
];

export const exhausting: PushScenario = {
  name: 'all eight attempts',
  options: { receiver: (_, event) => answered(event === 'SUBMITTED' ? 503 : 200) },
  async play(world) {
    await cancel(world, await send(world, { url: URL_A }));
  },
  accepted: { [URL_A]: ['CANCELED'] },
  ends: ['exhausted,delivered'],
};

const posts = (world: PushWorld) => world.effects.filter(({ kind }) => kind === 'posted').length;

/** P3 and P7, of a world at rest; empty when both hold. */
async function broken(world: PushWorld, scenario: PushScenario): Promise<string[]> {
  const found: string[] = [];
  const outbox = await world.all('outbox');
  const heads = (await world.all('state')).filter(({ sk }) => sk === 'H').map(headOf);
  if (heads.length !== 1) found.push(`${heads.length} tasks exist`);
  const configs = outbox.filter(({ sk }) => sk.startsWith('C#')).map(configOf);
  const jobs = outbox.filter(({ sk }) => sk.startsWith('J#')).map(jobOf);
  for (const { revision, state, due } of jobs) {
    if (state === 'open' || due) found.push(`job ${revision} is left ${state}, due ${due}`);
  }
  // P3: one job a revision behind the fence, while it was not stopped.
  for (const { id, fence } of heads[0]?.configs ?? []) {
    const own = jobs.filter(({ config }) => config === id).map(({ revision }) => revision);
    const wanted = Array.from({ length: heads[0]!.revision - fence }, (_, i) => fence + 1 + i);
    if (String(own) !== String(wanted)) found.push(`config ${id} has jobs ${own}, not ${wanted}`);
  }
  for (const { lease, state } of configs) if (lease) found.push(`a lease of a ${state} config is left`);
  if (scenario.ends) {
    const ends = String(jobs.map(({ state }) => state));
    if (!scenario.ends.includes(ends)) found.push(`jobs ended as ${ends}`);
  }
  for (const [url, wanted] of Object.entries(scenario.accepted))
    found.push(...ofReceiver(world, url, wanted));
  found.push(...ofDeleted(world));
  return found;
}

/** P7: in order, each at least once, at most eight times. */
function ofReceiver(world: PushWorld, url: string, wanted: readonly string[]): string[] {
  const found: string[] = [];
  const seen = world.effects.flatMap((one) => (one.kind === 'posted' && one.url === url ? [one] : []));
  const order = ['SUBMITTED', 'CANCELED'];
  const places = seen.map(({ event }) => order.indexOf(event));
  if (places.some((place, i) => place < (places[i - 1] ?? 0)))
    found.push(`${url} got ${seen.map(({ event }) => event)}`);
  const accepted = [...new Set(seen.filter((one) => one.accepted).map(({ event }) => event))];
  if (String(accepted) !== String(wanted)) found.push(`${url} accepted ${accepted}, not ${wanted}`);
  for (const event of order) {
    const attempts = seen.filter((one) => one.event === event).length;
    if (attempts > 8) found.push(`${url} got ${event} ${attempts} times`);
  }
  const begun = Map.groupBy(
    world.effects.flatMap((one) => (one.kind === 'begun' ? [one] : [])),
    ({ config, event }) => `${config} ${event}`,
  );
  for (const [event, attempts] of begun)
    if (attempts.length > 8) found.push(`${event} was begun ${attempts.length} times`);
  return found;
}

/** P7: once a delete was acknowledged nothing begins; a request of what had begun before may still arrive. */
function ofDeleted(world: PushWorld): string[] {
  const deleted = world.effects.findIndex(({ kind }) => kind === 'deleted');
  const acknowledged = world.effects.findIndex(({ kind }) => kind === 'acknowledged');
  if (acknowledged < 0) return [];
  if (deleted < 0 || deleted > acknowledged) return ['a delete was acknowledged that was not done'];
  const gone = world.effects[deleted] as { readonly config: string };
  const late = world.effects
    .slice(deleted)
    .filter((one) => one.kind === 'begun' && one.config === gone.config);
  const posted = world.effects
    .slice(acknowledged)
    .filter((one) => one.kind === 'posted' && one.url === URL_B);
  const inFlight =
    world.effects.slice(0, deleted).filter((one) => one.kind === 'begun' && one.config === gone.config)
      .length -
    world.effects.slice(0, acknowledged).filter((one) => one.kind === 'posted' && one.url === URL_B).length;
  return [
    ...(late.length > 0 ? [`${late.length} attempts began after the delete`] : []),
    ...(posted.length > Math.max(0, inFlight) ? [`${posted.length} requests came after the delete`] : []),
  ];
}

/** Plays a scenario to rest, under what the options add to it, and holds what is left to P3 and P7. */
export async function playPush(bench: PushBench, scenario: PushScenario, options: PushWorldOptions = {}) {
  const world = await bench.world({ ...scenario.options, ...options });
  try {
    await world.run(scenario.play(world));
    return { world, broken: await broken(world, scenario) };
  } catch (error) {
    return { world, broken: [error instanceof Error ? (error.stack ?? error.message) : String(error)] };
  }
}

const READ = /dynamodb (GetItem|BatchGetItem|Query|Scan)Command$/;

/**
 * One run for each call that changes something or leaves the gateway, disturbed there, before and after it took effect:
 * whoever dies of a read dies as before its next call. `of`: only calls of these instances. `moments`: whoever dies before
 * a change dies behind the one before it, so one of the two does for a play that is not the first of its kind.
 */
export async function everywherePush(
  bench: PushBench,
  scenario: PushScenario,
  fateOf: (number: number, when: When) => Fate,
  {
    of = /./,
    moments = ['before', 'after'],
  }: { readonly of?: RegExp; readonly moments?: readonly When[] } = {},
): Promise<{ readonly points: number; readonly broken: readonly string[] }> {
  const found: string[] = [];
  let points = 0;
  /** With the fate at the first call of interest from number `k` on; answers which that was. */
  const disturb = async (k: number, when: When): Promise<number | undefined> => {
    let met: { readonly name: string; readonly number: number } | undefined;
    const run = await playPush(bench, scenario, {
      plan: (call, number) => {
        const name = `${call.instance.name} ${call.name}`;
        if (met || number < k || READ.test(name) || !of.test(name)) return GO;
        met = { name, number };
        return fateOf(number, when);
      },
    });
    if (!met) return undefined;
    points++;
    if (run.broken.length > 0)
      found.push([`${scenario.name}, call ${met.number} (${met.name}), ${when}`, ...run.broken].join('\n  '));
    return met.number;
  };
  for (let k = 1; found.length < 3; k++) {
    let met: number | undefined;
    for (const when of moments) met = await disturb(met ?? k, when);
    if (met === undefined) break;
    k = met;
  }
  return { points, broken: found };
}
