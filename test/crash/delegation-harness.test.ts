import { describe, expect, test } from 'vitest';
import { type DelegationScenarioName, delegationScenarios } from './delegation-scenarios.ts';
import { type Call, type Fate, GO, type Plan } from './harness/calls.ts';
import { brokenDelegation, type Handed } from './harness/delegated.ts';
import { play } from './harness/disturb.ts';
import { PATIENCE, withBench } from './harness/suite.ts';
import type { World } from './harness/world.ts';

const bench = withBench();

interface Sabotage {
  /** What is done to calls on their way, and to the world when all has ended. */
  readonly plan?: Plan;
  readonly after?: (world: World) => Promise<void> | void;
  readonly handed?: Partial<Handed>;
}

/** What is found broken when a scenario is played under sabotage. */
async function found(name: DelegationScenarioName, { plan, after, handed }: Sabotage): Promise<string> {
  const scenario = delegationScenarios[name];
  const expected = { ...(scenario.expected as Handed), ...handed };
  const { broken } = await play(
    bench(),
    {
      ...scenario,
      async play(world) {
        const clients = await scenario.play(world);
        await after?.(world);
        return clients;
      },
      check: (world, clients) => brokenDelegation(world, clients, expected),
    },
    plan ? { plan } : {},
  );
  return broken.join('\n');
}

interface Actions {
  TransactItems?: {
    Update?: { Key: { pk: { S: string } }; ConditionExpression?: string; UpdateExpression: string };
    Delete?: { Key: { pk: { S: string } } };
    Put?: { Item: Record<string, { S: string }> };
  }[];
}

const actionsOf = (call: Call) => (call.input as Actions).TransactItems ?? [];
const resolves = (call: Call) => actionsOf(call).some(({ Put }) => /\.in\.\d/.test(Put?.Item['pk']?.S ?? ''));

/** Leaves actions out of every transaction. */
const without =
  (unwanted: (action: NonNullable<Actions['TransactItems']>[number], call: Call) => boolean): Plan =>
  (call) => {
    const input = call.input as Actions;
    if (input.TransactItems)
      input.TransactItems = input.TransactItems.filter((action) => !unwanted(action, call));
    return GO;
  };

describe('undisturbed, every delegation', PATIENCE, () => {
  test.each(Object.values(delegationScenarios).map((each) => [each.name, each] as const))(
    'comes to its end: %s',
    async (_, scenario) => {
      expect((await play(bench(), scenario)).broken).toEqual([]);
    },
  );

  test('makes the same calls in the same order, run after run', async () => {
    const first = await play(bench(), delegationScenarios.pair);
    const second = await play(bench(), delegationScenarios.pair);
    expect(second.world.calls.log).toEqual(first.world.calls.log);
    expect(first.world.calls.log.join('\n')).toMatch(/remote SendMessage[\s\S]*remote GetTask/);
  });
});

describe('what a delegation must not come to is seen', PATIENCE, () => {
  test('a dependency that is resolved twice, by a late resolution without its conditions', async () => {
    let frozen = false;
    const plan = (call: Call): Fate => {
      if (!resolves(call) || frozen) return GO;
      frozen = true;
      const input = call.input as Actions;
      const [ending, , ...rest] = input.TransactItems!;
      ending!.Update!.ConditionExpression =
        `(${ending!.Update!.ConditionExpression}) OR attribute_exists(pk)`;
      input.TransactItems = [ending!, ...rest];
      return { kind: 'freeze', when: 'before' };
    };
    const words = await found('embedded', { plan });
    expect(words).toMatch(/it was resolved 2 times/);
    expect(words).toMatch(/-1 registrations are counted as open/);
  });

  test('a run that is resumed twice', async () => {
    const words = await found('embedded', {
      after({ ledger }) {
        const resumes = ledger.effects.find(
          (effect) => effect.kind === 'write' && effect.writes.some(({ sets }) => sets?.['waiting'] === 0),
        );
        ledger.note(resumes!);
      },
    });
    expect(words).toMatch(/the run was resumed 2 times after 1 turns/);
  });

  test('a counter that is written without what it counts', async () => {
    const plan = without(({ Put }) => /\.in\.\d/.test(Put?.Item['pk']?.S ?? ''));
    expect(await found('spoken', { plan })).toMatch(/counter and its answer were not written together/);
  });

  test('a registration that stays open, or that is still counted', async () => {
    const ofRegistration = (prefix: string) =>
      without(({ Update }, call) => resolves(call) && (Update?.Key.pk.S.startsWith(prefix) ?? false));
    expect(await found('embedded', { plan: ofRegistration('R#') })).toMatch(/a registration is left open/);
    expect(await found('embedded', { plan: ofRegistration('registrations') })).toMatch(
      /1 registrations are counted as open/,
    );
  });

  test('a callback credential that outlives the acknowledgment, in each order', async () => {
    const plan = without(({ Delete }) => Delete?.Key.pk.S.includes('.cred.') ?? false);
    for (const name of ['embedded', 'separate'] as const)
      expect(await found(name, { plan })).toMatch(/kept its credential when it was registered/);
  });

  test('a credential in the clear: in a table, in the log, in a queue', async () => {
    const words = await found('embedded', {
      async after(world) {
        const [secret] = world.agents.credentials;
        const item = { pk: 'x', sk: 'x', note: `it is ${secret}` };
        await world.store.write({ kind: 'put', table: 'view', item });
        world.log.warn('agent-credential-of-far');
        world.ledger.note({ kind: 'queued', at: 0, queue: 'inbox', body: `{"with":"${secret}"}` });
      },
    });
    for (const place of ['table view', 'the log', 'the queues'])
      expect(words).toContain(`a credential stands in ${place}`);
    expect(words).not.toContain('table state');
  });

  test('a message that is sent with another body, by nobody, or run twice', async () => {
    const words = await found('embedded', {
      after({ agents }) {
        const sent = agents.requests.find(({ method }) => method === 'SendMessage')!;
        agents.requests.push({ ...sent, body: `${sent.body} ` }, { ...sent, messageId: 'unheard of' });
      },
    });
    expect(words).toMatch(/a message was sent with 2 bodies[\s\S]*of which no dependency knows/);
    expect(await found('forgetful', { handed: { mayRunTwice: false } })).toMatch(
      /a message was run \d times/,
    );
    expect(await found('pushless', { handed: { refusesPush: false } })).toMatch(/was sent with 2 bodies/);
  });

  test('a call with the credential of another agent', async () => {
    const words = await found('embedded', {
      after: ({ agents }) => void agents.requests.push({ ...agents.requests[0]!, agent: 'other' }),
    });
    expect(words).toMatch(/SendMessage had another credential/);
  });

  test('a callback that is answered and not stored, a right one refused, a stranger let in, another write', async () => {
    const words = await found('embedded', {
      after({ agents, ledger }) {
        const first = agents.callbacks[0]!;
        const nowhere = { ...first, from: 0, to: 0 };
        agents.callbacks.push(nowhere, { ...first, status: 401 }, { ...nowhere, by: 'stranger' });
        const key = { pk: 'T#1', sk: 'H' };
        const writes = [{ kind: 'update', table: 'state', key }] as const;
        ledger.note({ kind: 'write', at: 0, by: 'callback-9', writes });
      },
    });
    for (const found of [
      'a callback was answered and not stored',
      'a callback with the right credential was refused',
      'a stranger was answered 200',
      'a callback wrote state T#1',
    ])
      expect(words).toContain(found);
  });

  test('a provider that is called while its agents work, or asked anew after they have answered', async () => {
    const calling = (place: 'suspended' | 'resumed') => (world: World) => {
      const { effects } = world.ledger;
      const task = world.ledger.revisions()[0]!.revision.task;
      const call = { kind: 'provider', at: 0, task, attempt: 1, late: false, resumed: false } as const;
      const begins = effects.findIndex((effect) => effect.kind === 'provider' && effect.resumed);
      if (place === 'resumed') effects.splice(begins, 0, call);
      else {
        const resumes = effects.findIndex(
          (effect) => effect.kind === 'write' && effect.writes.some(({ sets }) => sets?.['waiting'] === 0),
        );
        effects.splice(resumes, 0, call);
      }
    };
    expect(await found('embedded', { after: calling('suspended') })).toMatch(/while its agents worked/);
    expect(await found('embedded', { after: calling('resumed') })).toMatch(
      /asked anew for what it had handed/,
    );
  });

  test('a dependency that nothing would look at, is left, or ended otherwise', async () => {
    const plan: Plan = (call) => {
      for (const { Put } of actionsOf(call))
        if (Put?.Item['pk']?.S.startsWith('D#')) for (const name of ['ds', 'da']) delete Put.Item[name];
      return GO;
    };
    expect(await found('off', { plan })).toMatch(/it was created without a time to look at it/);
    const words = await found('off', {
      handed: { outcomes: ['failed'], dependencies: 2, turns: 2 },
      async after({ store }) {
        const { items } = await store.scan('delegation');
        const { pk, sk } = items.find((item) => item.pk.startsWith('D#'))!;
        const set = { state: 'sent', lease: 'x', until: 0, da: '9999999999999' };
        const when = [{ attribute: 'pk', is: 'present' }] as const;
        await store.write({ kind: 'update', table: 'delegation', key: { pk, sk }, changes: { set }, when });
      },
    });
    for (const found of [
      '1 dependencies exist, not 2',
      'it is left as sent',
      'it ended as completed',
      'its lease is left',
      'it is left among what is due',
      '1 turns were taken',
    ])
      expect(words).toContain(found);
  });

  test('a task of an agent that nobody told to stop', async () => {
    const error = new Error('not told');
    const plan: Plan = ({ name }) =>
      name === 'remote CancelTask' ? { kind: 'fail', when: 'before', error } : GO;
    expect(await found('endless', { plan })).toMatch(/a remote task is left WORKING/);
  });

  test('an agent that is asked more often than it should be', async () => {
    expect(await found('silence', { handed: { mostRequests: 5 } })).toMatch(/agents got \d+ requests/);
  });
});
