import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Outcome } from '../../shared/guard/index.ts';
import { deliver } from '../../shared/push/deliver.ts';
import { resumeConfig, retryJob } from '../../shared/push/operate.ts';
import { settleDeadLetter } from '../../shared/push/sweep.ts';
import { auditEntry } from '../../shared/registry/audit.ts';
import { purgeTask } from '../../shared/retention/purge.ts';
import { rebuildTask, repairAll } from '../../shared/runs/operate.ts';
import { keys } from '../../shared/storage/keys.ts';
import type { Store } from '../../shared/storage/port.ts';
import { outline, type Push, startPush } from './rig.ts';

const HOUR = 3_600_000;
const answered = (status: number): Outcome => ({ kind: 'response', status, headers: {} });

describe('a webhook in the life of its task', () => {
  let push: Push;
  let outcome: Outcome = answered(200);
  let during: () => Promise<void> = async () => {};
  let sent: { readonly body: string; readonly id: string }[] = [];
  beforeAll(async () => {
    push = await startPush({
      async request({ body, headers }) {
        sent.push({ body: String(body), id: headers['webhook-id'] ?? '' });
        await during();
        return outcome;
      },
    });
  });
  beforeEach(() => {
    outcome = answered(200);
    during = async () => {};
    sent = [];
    push.outbox.waiting.splice(0);
    push.gateway.outboxQueue.messages.splice(0);
  });
  afterAll(() => push[Symbol.asyncDispose]());

  const bodies = () => outline(sent.map(({ body }) => body));
  const ALL = ['SUBMITTED', 'artifact x', 'COMPLETED'];
  const audit = () =>
    auditEntry(push.services, { actor: 'ada', operation: 'test' }, { kind: 'push', id: 'x' });
  const resume = (task: string, config: string) => resumeConfig(push.services, task, config, audit());
  const work = (message: { task: string; config: string }, changed: Partial<Push['services']> = {}) =>
    deliver({ ...push.services, ...changed }, message, push.clock.now() + HOUR);

  /** A finished task of three events, none of which was sent; its message is taken from the queue. */
  async function finished() {
    const task = await push.send('x', { id: 'mine', url: push.webhooks.url() });
    await push.finish(task);
    push.gateway.outboxQueue.messages.splice(0);
    const [config] = await push.configs(task);
    return { task, config: config! };
  }
  const remove = (task: string) =>
    push.gateway.call('alice', 'DeleteTaskPushNotificationConfig', { taskId: task, id: 'mine' });
  const states = async (task: string, config?: string) =>
    (await push.show(task, config)).jobs.map(({ state }) => state);

  describe('that is deleted', () => {
    test('gets nothing more from the moment the delete is acknowledged (D14)', async () => {
      const message = await finished();
      during = async () => {
        await remove(message.task);
      };
      await work(message);
      // The request that was under way had been sent; none follows it.
      expect(bodies()).toEqual(['SUBMITTED']);
      await push.outbox.send(message);
      await push.outbox.drain();
      expect(sent).toHaveLength(1);
      push.clock.advance(61_000);
      await push.sweep();
      await push.outbox.drain();
      const page = await push.store.query({ table: 'outbox', partition: `P#${message.task}` });
      expect(page.items.map(({ state, da }) => [state, da])).toEqual([
        ['delivered', undefined],
        ['superseded', undefined],
      ]);
    });

    test('between the look at its config and the beginning of an attempt gets none', async () => {
      for (const step of ['policy', 'content'] as const) {
        const message = await finished();
        const policyOf: typeof push.services.policyOf = async (client) => {
          if (step === 'policy') await remove(message.task);
          return push.services.policyOf(client);
        };
        const store: Store = {
          ...push.store,
          async write(action, options) {
            if (step === 'content' && action.kind === 'update' && action.changes.set?.['lease'])
              await remove(message.task);
            return push.store.write(action, options);
          },
        };
        await work(message, { policyOf, store });
        expect(sent).toEqual([]);
      }
    });

    test('in the moment in which a revision is published leaves no job that is ever attempted', async () => {
      for (let round = 0; round < 10; round++) {
        const task = await push.send('x', { id: 'mine', url: push.webhooks.url() });
        await Promise.all([remove(task), push.finish(task)]);
        await push.outbox.drain();
        push.clock.advance(61_000);
        await push.sweep();
        await push.outbox.drain();
        expect(sent).toEqual([]);
        const page = await push.store.query({ table: 'outbox', partition: `P#${task}` });
        expect(page.items.filter(({ state }) => state === 'open')).toEqual([]);
      }
    });

    test('counts as there for as long as its making is not wholly visible', async () => {
      const { task } = await finished();
      let hidden = 2;
      // The head names it, and its item does not show yet: a transaction is not a snapshot to readers.
      const store: Store = {
        ...push.store,
        async query(input, options) {
          const page = await push.store.query(input, options);
          return input.table === 'outbox' && hidden-- > 0 ? { items: [] } : page;
        },
      };
      const { deleteConfig } = await import('../../shared/push/manage.ts');
      expect(await deleteConfig({ ...push.services, store }, 'alice', task, 'mine')).toBe('deleted');
      expect(await push.configs(task)).toEqual([]);
    });
  });

  describe('whose task is purged', () => {
    test('gets nothing more, and what was under way leaves nothing behind', async () => {
      const message = await finished();
      outcome = answered(503);
      during = async () => {
        await purgeTask(push.services, message.task);
      };
      await work(message);
      expect(sent).toHaveLength(1);
      await push.outbox.send(message);
      await push.outbox.pass(HOUR);
      expect(sent).toHaveLength(1);
      const page = await push.store.query({ table: 'outbox', partition: `P#${message.task}` });
      expect(page.items).toEqual([]);
      expect(await retryJob(push.services, message.task, message.config, 1, audit())).toBe('unknown');
    });
  });

  describe('whose content is removed meanwhile', () => {
    test('is told the states, and nothing of the content (P9)', async () => {
      const message = await finished();
      await push.store.write({
        ...{ kind: 'update', table: 'state', key: keys.head(message.task) },
        changes: { remove: ['salt'] },
        when: [{ attribute: 'pk', is: 'present' }],
      });
      await push.outbox.send(message);
      await push.outbox.drain();
      expect(bodies()).toEqual(['SUBMITTED', 'COMPLETED']);
      expect(JSON.stringify(sent)).not.toMatch(/"x"|artifact/);
      expect(await states(message.task)).toEqual(['delivered', 'delivered']);
    });
  });

  test('whose content is removed when it was opened already is not told it', async () => {
    const message = await finished();
    let scrubbed = false;
    const store: Store = {
      ...push.store,
      async write(action, options) {
        const begins = action.kind === 'update' && action.changes.set?.['lease'];
        if (begins && sent.length === 1 && !scrubbed) {
          scrubbed = true;
          const when = [{ attribute: 'pk', is: 'present' }] as const;
          const config = keys.pushConfig(message.task, message.config);
          const head = keys.head(message.task);
          // As a scrub does, in one transaction.
          await push.store.transact(
            [
              { kind: 'update', table: 'outbox', key: config, changes: { add: { generation: 1 } }, when },
              { kind: 'update', table: 'state', key: head, changes: { remove: ['salt'] }, when },
            ],
            push.services.random.uuid(),
          );
        }
        return push.store.write(action, options);
      },
    };
    await work(message, { store });
    expect(bodies()).toEqual(['SUBMITTED', 'COMPLETED']);
  });

  describe('that is paused', () => {
    test('holds its jobs, also new ones, and delivers them in order when it is resumed at once', async () => {
      outcome = answered(401);
      const task = await push.send('x', { id: 'mine', url: push.webhooks.url() });
      await push.gateway.follow(task);
      await push.outbox.drain();
      await push.finish(task);
      await push.outbox.drain();
      expect(bodies()).toEqual(['SUBMITTED']);
      expect(await push.show(task)).toMatchObject({
        state: 'paused',
        reason: 'authentication_failed',
        jobs: [{ state: 'open' }, { state: 'open' }],
      });
      outcome = answered(200);
      const [config] = await push.configs(task);
      expect(await resume(task, config!)).toBe('resumed');
      await push.outbox.drain();
      expect(bodies()).toEqual(['SUBMITTED', ...ALL]);
      expect(await push.show(task)).toMatchObject({ state: 'active', jobs: [{}, {}] });
      expect(await states(task)).toEqual(['delivered', 'delivered']);
      expect(await resume(task, config!)).toBe('active');
    });

    test('delivers what is within its deadline, and the rest is expired', async () => {
      const message = await finished();
      outcome = answered(403);
      await work(message);
      push.clock.advance(25 * HOUR);
      outcome = answered(200);
      expect(await resume(message.task, message.config)).toBe('resumed');
      await push.outbox.drain();
      expect(sent).toHaveLength(1);
      expect(await states(message.task)).toEqual(['expired', 'expired']);
    });

    test('delivers also when whoever resumed it did not live to wake anybody', async () => {
      const message = await finished();
      outcome = answered(403);
      await work(message);
      for (let minutes = 0; minutes < 10; minutes++) {
        push.clock.advance(60_000);
        await push.sweep();
      }
      outcome = answered(200);
      const deaf = { ...push.services, outboxQueue: { send: async () => {} } };
      await resumeConfig(deaf, message.task, message.config, audit());
      for (let minutes = 0; minutes < 17; minutes++) {
        push.clock.advance(60_000);
        await push.sweep();
        await push.outbox.drain();
      }
      expect(bodies()).toEqual(['SUBMITTED', ...ALL]);
    });

    test('has no more than eight attempts of an event, those before the pause included', async () => {
      const message = await finished();
      outcome = answered(503);
      await push.outbox.send(message);
      await push.outbox.pass(200_000);
      const before = sent.length;
      expect(before).toBeGreaterThan(3);
      outcome = answered(401);
      await push.outbox.pass(2 * HOUR);
      expect((await push.show(message.task)).state).toBe('paused');
      outcome = answered(503);
      await resume(message.task, message.config);
      await push.outbox.pass(8 * HOUR);
      expect(bodies().filter((name) => name === 'SUBMITTED')).toHaveLength(8);
      expect(await states(message.task)).toEqual(['exhausted', 'exhausted']);
    });

    test('does not begin what was prepared before', async () => {
      const message = await finished();
      const policyOf: typeof push.services.policyOf = async (client) => {
        outcome = answered(401);
        if (sent.length === 0) await work(message);
        return push.services.policyOf(client);
      };
      await work(message, { policyOf });
      expect(sent).toHaveLength(1);
    });

    test('and whose single attempt it was, still has that event delivered after', async () => {
      const message = await finished();
      outcome = answered(503);
      await push.outbox.send(message);
      during = async () => {
        if (sent.length > 8) outcome = answered(401);
      };
      await push.outbox.pass(8 * HOUR);
      expect(bodies().at(-1)).toBe('artifact x');
      during = async () => {
        outcome = answered(sent.length === 10 ? 503 : 200);
      };
      await resume(message.task, message.config);
      await push.outbox.pass(HOUR);
      // As many as are left of eight, and not the single one that the pause took.
      expect(bodies().slice(9)).toEqual(['artifact x', 'artifact x', 'COMPLETED']);
    });
  });

  describe('that is stopped', () => {
    test('has its other jobs settled, and cannot be resumed', async () => {
      const message = await finished();
      outcome = answered(410);
      await work(message);
      push.clock.advance(61_000);
      await push.sweep();
      expect(await states(message.task)).toEqual(['failed', 'superseded']);
      expect(await resume(message.task, message.config)).toBe('stopped');
      expect(await retryJob(push.services, message.task, message.config, 1, audit())).toBe('stopped');
      push.outbox.waiting.splice(0);
      await push.outbox.send(message);
      await push.outbox.drain();
      expect(sent).toHaveLength(1);
      // It is still the client's to see and to delete, and counts until then.
      const listed = await push.gateway.call('alice', 'ListTaskPushNotificationConfigs', {
        taskId: message.task,
      });
      expect(listed.result.configs).toMatchObject([{ id: 'mine' }]);
      await remove(message.task);
      expect(await push.configs(message.task)).toEqual([]);
    });

    test('while its head changes is stopped all the same', async () => {
      const message = await finished();
      outcome = answered(404);
      let races = 3;
      const store: Store = {
        ...push.store,
        async transact(actions, token, options) {
          if (races-- > 0) {
            await push.store.write({
              ...{ kind: 'update', table: 'state', key: keys.head(message.task) },
              changes: { add: { configsEdition: 1 } },
              when: [{ attribute: 'pk', is: 'present' }],
            });
          }
          return push.store.transact(actions, token, options);
        },
      };
      await work(message, { store });
      expect((await push.show(message.task)).state).toBe('stopped');
    });
  });

  describe('of which the view is rebuilt', () => {
    test('repeats nothing', async () => {
      const message = await finished();
      await push.outbox.send(message);
      await push.outbox.drain();
      const before = await push.store.query({ table: 'outbox', partition: `P#${message.task}` });
      await rebuildTask(push.services, message.task);
      await push.gateway.follow(message.task);
      await push.outbox.pass(HOUR);
      await push.sweep();
      await push.outbox.pass(HOUR);
      expect(bodies()).toEqual(ALL);
      const after = await push.store.query({ table: 'outbox', partition: `P#${message.task}` });
      expect(after.items).toEqual(before.items);
    });

    test('while it is delivered waits for the journal and goes on', async () => {
      const message = await finished();
      await push.store.write({ kind: 'delete', table: 'view', key: keys.journal(message.task, 2) });
      await push.outbox.send(message);
      await push.outbox.drain();
      expect(bodies()).toEqual(['SUBMITTED']);
      expect(push.outbox.waiting).toHaveLength(1);
      await rebuildTask(push.services, message.task);
      await push.outbox.pass(2_000);
      expect(bodies()).toEqual(ALL);
    });

    test('has those jobs made anew that are missing, and a past one of them is settled', async () => {
      const message = await finished();
      await push.outbox.send(message);
      await push.outbox.drain();
      await push.store.write({
        kind: 'delete',
        table: 'outbox',
        key: keys.pushJob(message.task, message.config, 1),
      });
      await rebuildTask(push.services, message.task);
      expect(await states(message.task)).toEqual(['open', 'delivered']);
      push.clock.advance(61_000);
      await push.sweep();
      await push.outbox.drain();
      expect(await states(message.task)).toEqual(['superseded', 'delivered']);
      expect(bodies()).toEqual(ALL);
    });
  });

  test('is woken by a repair when the queue was lost', async () => {
    const { task } = await finished();
    const { runQueue } = push.gateway;
    await repairAll({ ...push.services, runQueue, inboxQueue: { send: async () => {} } });
    await push.outbox.drain();
    expect(bodies().filter((_, i) => sent[i]?.body.includes(task))).toEqual(ALL);
  });

  describe('of which an operator retries a job', () => {
    /** A task whose first job was given up, and whose second was delivered. */
    async function givenUp() {
      const message = await finished();
      outcome = answered(500);
      during = async () => {
        if (sent.length >= 1) outcome = answered(sent.length === 1 ? 500 : 200);
      };
      await work(message);
      during = async () => {};
      expect(await states(message.task)).toEqual(['failed', 'delivered']);
      sent = [];
      push.clock.advance(1);
      return message;
    }
    const retry = ({ task, config }: { task: string; config: string }, revision = 1) =>
      retryJob(push.services, task, config, revision, audit());

    test('delivers it as a new job with a deadline of its own, under the same ids', async () => {
      const message = await finished();
      outcome = answered(400);
      await work(message);
      expect(await states(message.task)).toEqual(['failed', 'failed']);
      const ids = sent.map(({ id }) => id);
      sent = [];
      push.clock.advance(48 * HOUR);
      outcome = answered(200);
      const made = await retry(message, 2);
      expect(made).toMatchObject({ deadline: new Date(push.clock.now() + 24 * HOUR).toISOString() });
      await push.outbox.drain();
      expect(bodies()).toEqual(['artifact x', 'COMPLETED']);
      expect(sent.map(({ id }) => id)).toEqual(ids.slice(1));
      expect(await states(message.task)).toEqual(['failed', 'failed', 'delivered']);
      expect(await push.show(message.task)).toMatchObject({ next: '3.0' });
    });

    test('has eight attempts at due times of its own, which neither wake-ups nor sweeps cut short', async () => {
      const message = await givenUp();
      outcome = answered(503);
      await retry(message);
      const times: number[] = [];
      during = async () => {
        times.push(push.clock.now());
      };
      const { consume } = push.outbox;
      const random = { ...push.services.random, fraction: () => 0.999 };
      push.outbox.consume = (one) => work(one, { random });
      for (let minutes = 0; minutes < 5 * 60; minutes++) {
        await push.outbox.pass(60_000);
        await push.sweep();
        if (minutes % 60 === 0)
          await push.outbox.send({ ...message, retry: { id: (await retryIds(message))[0]!, revision: 1 } });
        if ((await states(message.task)).at(-1) !== 'open') break;
      }
      push.outbox.consume = consume;
      expect(sent).toHaveLength(8);
      const waits = times.slice(1).map((at, i) => Math.round((at - times[i]!) / 1000));
      for (const [i, least] of [9, 29, 119, 599, 1_798, 3_596, 7_192].entries())
        expect(waits[i]).toBeGreaterThanOrEqual(least);
      expect(await states(message.task)).toEqual(['failed', 'delivered', 'exhausted']);
      const noted = (await push.show(message.task)).attempts.filter((one) => one.class === '5xx');
      expect(noted.slice(1).map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    });

    test('has one request in flight with the config', async () => {
      const message = await givenUp();
      await retry(message);
      let now = 0;
      let most = 0;
      during = async () => {
        most = Math.max(most, ++now);
        await new Promise((resolve) => setTimeout(resolve, 30));
        now--;
      };
      push.outbox.collect();
      const messages = push.outbox.waiting.splice(0).map(({ message: one }) => one);
      await Promise.all([...messages, ...messages, ...messages].map((one) => work(one)));
      await push.outbox.pass(120_000);
      expect(most).toBe(1);
      expect(bodies()).toEqual(['SUBMITTED']);
    });

    test('pauses its config like any other, is held, and goes on when that is resumed', async () => {
      const message = await givenUp();
      outcome = answered(401);
      await retry(message);
      await push.outbox.drain();
      expect(await push.show(message.task)).toMatchObject({ state: 'paused' });
      expect((await states(message.task)).at(-1)).toBe('open');
      outcome = answered(200);
      await resume(message.task, message.config);
      for (let minutes = 0; minutes < 17; minutes++) {
        push.clock.advance(60_000);
        await push.sweep();
        await push.outbox.drain();
      }
      expect(bodies()).toEqual(['SUBMITTED', 'SUBMITTED']);
      expect((await states(message.task)).at(-1)).toBe('delivered');
    });

    test('stops its config like any other, all at once', async () => {
      const message = await givenUp();
      outcome = answered(404);
      await retry(message);
      await push.outbox.drain();
      expect(await push.show(message.task)).toMatchObject({ state: 'stopped', reason: 'gone' });
      expect((await states(message.task)).at(-1)).toBe('failed');
    });

    test('does so only for a job that ended undelivered', async () => {
      const message = await finished();
      expect(await retry(message)).toBe('open');
      await push.outbox.send(message);
      await push.outbox.drain();
      expect(await retry(message)).toBe('delivered');
      expect(await retry(message, 9)).toBe('unknown');
      expect(await retry({ ...message, config: 'gone' })).toBe('unknown');
    });

    test('does so once also where several do at once', async () => {
      const message = await givenUp();
      const made = await Promise.all(Array.from({ length: 6 }, () => retry(message)));
      expect(made.filter((one) => typeof one === 'object')).toHaveLength(1);
      expect(made.filter((one) => one === 'open')).toHaveLength(5);
      expect(await retryIds(message)).toHaveLength(1);
      await push.outbox.drain();
    });

    test('wakes the events of its config that came meanwhile, as soon as it gives the lease back', async () => {
      const message = await givenUp();
      await retry(message);
      const [one] = push.outbox.waiting.splice(0);
      await work(one!.message);
      expect(push.outbox.waiting).toEqual([
        { message: { task: message.task, config: message.config }, at: push.clock.now() },
      ]);
    });

    test('does so once: not while a retry of it is open, and not after one was delivered', async () => {
      const message = await givenUp();
      await retry(message);
      expect(await retry(message)).toBe('open');
      await push.outbox.drain();
      expect((await states(message.task)).at(-1)).toBe('delivered');
      expect(await retry(message)).toBe('delivered');
      expect(bodies()).toEqual(['SUBMITTED']);
    });

    const retryIds = async ({ task, config }: { task: string; config: string }) => {
      const page = await push.store.query({
        table: 'outbox',
        partition: `P#${task}`,
        sort: { prefix: keys.pushRetryPrefix(config) },
      });
      return page.items.map(({ sk }) => sk.split('#')[3]!);
    };
  });

  describe('whose deliveries fail by a fault of ours until the queue gives up', () => {
    test('is reported, and tried again from the due index', async () => {
      const message = await finished();
      await settleDeadLetter(push.services, message);
      expect(push.gateway.metrics.total('PushDeadLettered')).toBe(1);
      expect(push.gateway.log.lines.at(-1)).toMatchObject({ message: 'a delivery ran out of retries' });
      expect(await states(message.task)).toEqual(['open', 'open']);
      push.clock.advance(61_000);
      await push.sweep();
      await push.outbox.drain();
      expect(bodies()).toEqual(ALL);
    });

    test('has settled what is over', async () => {
      const message = await finished();
      outcome = answered(401);
      await work(message);
      push.clock.advance(25 * HOUR);
      await settleDeadLetter(push.services, message);
      expect(await states(message.task)).toEqual(['expired', 'open']);
      await settleDeadLetter(push.services, { ...message, config: 'gone' });
      await settleDeadLetter(push.services, { ...message, retry: { id: 'none', revision: 1 } });
    });
  });
});
