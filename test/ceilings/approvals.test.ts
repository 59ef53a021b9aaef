import { describe, expect, test, vi } from 'vitest';
import { applyCeiling, approve, listApprovals, reject, showApproval } from '../../shared/ceilings/index.ts';
import { auditEntry } from '../../shared/registry/index.ts';
import { readHead } from '../../shared/tasks/read-head.ts';
import { executing, message } from '../server/rig.ts';
import { ask, errorOf, outline, stream } from '../server/scene.ts';
import { completing, type Keeping, MAIL, MARK, REDACTED_MAIL, scripted, startKeeping, told } from './rig.ts';

vi.setConfig({ testTimeout: 30_000 });

const DAY = 86_400_000;

const start = (text = MARK) => {
  const only = scripted(() => completing(text));
  return startKeeping({ adapters: { only }, profile: { approval: 'result', approvalSeconds: 3 * 86_400 } });
};

const audit = (keeping: Keeping, id: string) => (revision: number) =>
  auditEntry(
    keeping.gateway.services,
    { actor: 'a-person', operation: 'approval.test' },
    { kind: 'task', id, revision },
  );

const decide = {
  approve: (keeping: Keeping, id: string, revision?: number) =>
    approve(keeping.gateway.services, id, revision, audit(keeping, id)),
  reject: (keeping: Keeping, id: string, revision?: number) =>
    reject(keeping.gateway.services, id, revision, audit(keeping, id)),
};

/** A task whose result waits. */
async function waiting(keeping: Keeping, text = 'please'): Promise<string> {
  const id = await keeping.send(text, { url: keeping.webhooks.url() });
  await keeping.gateway.runAll();
  return id;
}

const get = async (keeping: Keeping, id: string) =>
  (await ask(keeping.gateway, 'alice', 'GetTask', { id })).result;

/** Audit entries of deeds that were done. */
async function audited(keeping: Keeping): Promise<unknown[]> {
  const { registry } = await keeping.dump();
  return registry.filter(({ pk }) => pk.startsWith('audit#')).map(({ actor }) => actor);
}

describe('a result that a person has to approve', () => {
  test('is not released: a blocking call returns at AUTH_REQUIRED, and no path shows the draft', async () => {
    await using keeping = await start();
    await using _executor = executing(keeping.gateway);
    const { result } = await ask(keeping.gateway, 'alice', 'SendMessage', { message: message('please') });
    expect(told(result.task)).toEqual({ state: 'AUTH_REQUIRED', reason: 'APPROVAL_REQUIRED' });
    expect(result.task.status.message.parts[0].text).toMatch(/person must approve/);
    const listed = await ask(keeping.gateway, 'alice', 'ListTasks', { includeArtifacts: true });
    expect(JSON.stringify([result, listed.result])).not.toContain(MARK);
    // The draft stands sealed, as working state, and in no result item.
    expect((await keeping.dump()).state.filter(({ pk }) => pk.startsWith('A#'))).toEqual([]);
    expect(await listApprovals(keeping.gateway.services)).toMatchObject([
      { task: result.task.id, client: 'alice', profile: 'echo', revision: 2 },
    ]);
  });

  test('is completed as it was drafted once it is approved, without another call of its provider', async () => {
    const only = scripted(() => completing(MARK));
    await using keeping = await startKeeping({ adapters: { only }, profile: { approval: 'result' } });
    const id = await waiting(keeping);
    const shown = await showApproval(keeping.gateway.services, id);
    expect(shown).toMatchObject({ revision: 2, artifacts: [{ parts: [{ text: MARK }] }] });
    expect(await decide.approve(keeping, id, 2)).toBe('decided');
    expect(told(await get(keeping, id)).state).toBe('AUTH_REQUIRED');
    await keeping.gateway.runAll();
    const task = await get(keeping, id);
    expect(told(task)).toEqual({ state: 'COMPLETED', reason: undefined });
    expect(task.artifacts[0].parts).toEqual([{ text: MARK }]);
    expect(only.requests).toHaveLength(1);
    expect(await listApprovals(keeping.gateway.services)).toEqual([]);
    expect(await audited(keeping)).toEqual(['a-person']);
    // The draft went with the run.
    expect((await keeping.readable()).filter((text) => text.includes(MARK))).toHaveLength(1);
  });

  test('has its stream stay open and show the end, and its webhook get both', async () => {
    await using keeping = await start();
    const live = await stream(keeping.gateway, 'alice', 'SendStreamingMessage', {
      message: message('please'),
      configuration: { taskPushNotificationConfig: { url: keeping.webhooks.url() } },
    });
    const id = (await live.next())!.result.task.id;
    await keeping.gateway.runAll();
    const asked = await live.next();
    expect(told(asked!.result.statusUpdate)).toEqual({ state: 'AUTH_REQUIRED', reason: 'APPROVAL_REQUIRED' });
    await decide.approve(keeping, id);
    await keeping.gateway.runAll();
    expect(outline(await live.rest())).toEqual(['artifactUpdate', 'statusUpdate COMPLETED']);
    await keeping.finish(id);
    await keeping.outbox.drain();
    const states = keeping.webhooks.receiver.seen.map(
      ({ body }) => told(JSON.parse(body).statusUpdate).state,
    );
    expect(states).toEqual(['SUBMITTED', 'AUTH_REQUIRED', undefined, 'COMPLETED']);
  });

  test('takes no message of its client meanwhile, before and after the approval', async () => {
    await using keeping = await start();
    const id = await waiting(keeping);
    const say = () =>
      ask(keeping.gateway, 'alice', 'SendMessage', { message: message('well?', { taskId: id }) });
    expect(errorOf(await say())).toMatchObject({ code: -32004, own: 'AWAITING_APPROVAL' });
    await decide.approve(keeping, id);
    expect(errorOf(await say())).toMatchObject({ code: -32004, own: 'AWAITING_APPROVAL' });
    await keeping.gateway.runAll();
    expect(errorOf(await say())).toMatchObject({ code: -32004, own: 'TASK_TERMINAL' });
  });

  test('ends REJECTED when it is rejected, and its draft opens for nobody any more', async () => {
    await using keeping = await start();
    const id = await waiting(keeping);
    expect(await decide.reject(keeping, id, 2)).toBe('decided');
    expect(told(await get(keeping, id))).toEqual({ state: 'REJECTED', reason: 'APPROVAL_REJECTED' });
    expect(await keeping.found(MARK)).toEqual([]);
    expect(await listApprovals(keeping.gateway.services)).toEqual([]);
    expect(await audited(keeping)).toEqual(['a-person']);
    expect(await decide.approve(keeping, id)).toBe('not-waiting');
  });

  test('is decided once: twice, too late or for another revision is told so, and leaves no audit entry', async () => {
    await using keeping = await start();
    const id = await waiting(keeping);
    expect(await decide.approve(keeping, id, 1)).toBe('stale');
    expect(await decide.reject(keeping, id, 3)).toBe('stale');
    expect(await audited(keeping)).toEqual([]);
    const both = await Promise.all([decide.approve(keeping, id), decide.approve(keeping, id)]);
    expect(both.sort()).toEqual(['decided', 'not-waiting']);
    expect(await decide.reject(keeping, id)).toBe('not-waiting');
    expect(await audited(keeping)).toHaveLength(1);
    expect(await decide.approve(keeping, 'no-such-task')).toBe('not-waiting');
  });

  test('can be canceled by its client, before and after the approval, and stays canceled', async () => {
    await using keeping = await start();
    for (const approved of [false, true]) {
      const id = await waiting(keeping);
      if (approved) await decide.approve(keeping, id);
      const { result } = await ask(keeping.gateway, 'alice', 'CancelTask', { id });
      expect(told(result).state).toBe('CANCELED');
      await keeping.gateway.runAll();
      expect(told(await get(keeping, id)).state).toBe('CANCELED');
      expect(await decide.approve(keeping, id)).toBe('not-waiting');
    }
    expect(await listApprovals(keeping.gateway.services)).toEqual([]);
    expect(await keeping.found(MARK)).toEqual([]);
  });

  test('cannot be decided on from its limit on, also where no sweep has come to it yet', async () => {
    await using keeping = await start();
    const id = await waiting(keeping);
    const revision = (await readHead(keeping.gateway.services, id))!.revision;
    keeping.clock.advance(3 * DAY);
    expect(await listApprovals(keeping.gateway.services)).toEqual([]);
    expect(await showApproval(keeping.gateway.services, id)).toBeUndefined();
    for (const verb of ['approve', 'reject'] as const) {
      expect(await decide[verb](keeping, id, revision)).toBe('not-waiting');
    }
    expect(await audited(keeping)).toEqual([]);
  });

  test('ends FAILED APPROVAL_EXPIRED after the limit of its profile', async () => {
    await using keeping = await start();
    const id = await waiting(keeping);
    await keeping.gateway.sweep();
    keeping.clock.advance(3 * DAY - 1_000);
    await keeping.gateway.sweep();
    expect(told(await get(keeping, id)).state).toBe('AUTH_REQUIRED');
    keeping.clock.advance(62_000);
    await keeping.gateway.sweep();
    expect(told(await get(keeping, id))).toEqual({ state: 'FAILED', reason: 'APPROVAL_EXPIRED' });
    expect(await keeping.found(MARK)).toEqual([]);
    expect(await listApprovals(keeping.gateway.services)).toEqual([]);
  });

  test('is looked at under the ceiling of the moment in which it is carried out', async () => {
    await using keeping = await start(`for ${MAIL}`);
    const id = await waiting(keeping);
    await decide.approve(keeping, id);
    await keeping.inForce({ global: 'redacted' });
    await keeping.gateway.runAll();
    expect((await get(keeping, id)).artifacts[0].parts[0].text).toBe(`for ${REDACTED_MAIL}`);
    expect(await keeping.found(MAIL)).toEqual([]);

    await keeping.inForce({});
    const other = await waiting(keeping);
    await decide.approve(keeping, other);
    await keeping.inForce({ global: 'none' });
    await keeping.gateway.runAll();
    expect(await readHead(keeping.gateway.services, other)).toMatchObject({ reason: 'RESULT_NOT_RETAINED' });
  });

  test('is shown to its approver as the client would get it, and not at all where nothing may be kept', async () => {
    await using keeping = await start(`for ${MAIL}`);
    const id = await waiting(keeping);
    await keeping.inForce({ global: 'redacted' });
    const shown = await showApproval(keeping.gateway.services, id);
    expect(shown?.artifacts[0]?.parts).toEqual([{ text: `for ${REDACTED_MAIL}` }]);
    expect(JSON.stringify(shown)).not.toContain(MAIL);
    await keeping.inForce({ global: 'none' });
    expect(await showApproval(keeping.gateway.services, id)).toBeUndefined();
    // The job ends what waits.
    const { services } = keeping.gateway;
    expect(await applyCeiling(services, (await readHead(services, id))!)).toBe('ended');
    expect(await keeping.found(MAIL)).toEqual([]);
  });

  test('is carried out also when nobody told the queue', async () => {
    await using keeping = await start();
    const id = await waiting(keeping);
    vi.spyOn(keeping.gateway.runQueue, 'send').mockRejectedValueOnce(new Error('no queue'));
    expect(await decide.approve(keeping, id)).toBe('decided');
    keeping.clock.advance(61_000);
    await keeping.gateway.sweep();
    await keeping.gateway.runAll();
    expect(told(await get(keeping, id)).state).toBe('COMPLETED');
  });
});
