import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { A2AClient } from '../../shared/client/index.ts';
import type { ProviderResult } from '../../shared/providers/index.ts';
import { CACHE_MS } from '../../shared/registry/index.ts';
import { planRun, replyToRun, showRun, startRun } from '../../shared/runs/started.ts';
import { keys } from '../../shared/storage/keys.ts';
import { readHead } from '../../shared/tasks/read-head.ts';
import { type StoreRig, startStore } from '../storage/rig.ts';
import { startDelegation } from './rig.ts';

/** An agent that is never to be called; the names of the methods that were. */
function untouchable(): { readonly called: string[]; readonly clientOf: () => Promise<A2AClient> } {
  const called: string[] = [];
  const client = new Proxy({} as A2AClient, {
    get: (_, method) => async () => {
      called.push(String(method));
      return { kind: 'transport-error', detail: 'unreachable' };
    },
  });
  return { called, clientOf: async () => client };
}

const answerTo = (text: string): ProviderResult =>
  text.startsWith('ask')
    ? { kind: 'input-required', message: [{ text: 'Which one?' }] }
    : { kind: 'completed', artifacts: [{ parts: [{ text: 'an answer' }] }] };

describe('a task whose level allows nothing to be kept any more', () => {
  let rig: StoreRig;
  beforeAll(async () => {
    rig = await startStore();
  });
  afterAll(() => rig[Symbol.asyncDispose]());

  const tighten = async (task: string) => {
    const data = { id: 'far', kind: 'remote', agent: 'far', timeoutSeconds: 10, answerLevel: 'none' };
    await rig.store.write({
      kind: 'put',
      table: 'registry',
      item: { ...keys.provider('far'), v: 1, edition: 2, data },
    });
    return task;
  };

  it('is handed to nobody: it ends before anything is sent, and its words are sealed for ever (P9)', async () => {
    const agent = untouchable();
    const delegation = await startDelegation(rig, { clientOf: agent.clientOf });
    const task = await tighten(await delegation.hand('words that may not go out'));
    delegation.ahead += CACHE_MS + 1;
    await delegation.look(task);
    expect(agent.called).toEqual([]);
    expect(await delegation.get(task)).toMatchObject({
      status: { state: 'TASK_STATE_FAILED' },
      metadata: { reason: 'RESULT_NOT_RETAINED' },
    });
    expect((await rig.store.get('state', keys.head(task)))?.['salt']).toBeUndefined();
    expect(await delegation.dependency(task)).toMatchObject({ state: 'ended' });
  });

  it('is not shown to the administrator who started it, and takes no reply (P9)', async () => {
    const { services, gateway } = await startDelegation(rig, {
      adapters: { far: { run: async ({ message }) => answerTo(message.parts[0]?.text ?? '') } },
    });
    const run = async (text: string) => {
      const started = { profile: 'far', text, ...planRun(services, 'ada') };
      await startRun(services, started);
      await gateway.runAll();
      return started.task;
    };
    const [ended, asking] = [await run('answer me'), await run('ask me')];
    const shown = (task: string) => showRun(services, task, 'ada', 0);
    expect(JSON.stringify(await shown(ended))).toContain('an answer');
    await tighten(ended);
    (services.clock as { now: () => number }).now = () => Date.now() + CACHE_MS + 1;
    expect(await shown(ended)).toBeUndefined();
    expect(JSON.stringify(await shown(asking))).not.toContain('Which one?');
    const { revision } = (await readHead(services, asking))!;
    expect(await replyToRun(services, asking, 'this one', 'ada')).toBe('not-kept');
    expect((await readHead(services, asking))?.revision).toBe(revision);
  });
});
