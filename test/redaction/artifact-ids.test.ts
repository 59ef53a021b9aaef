import { expect, test } from 'vitest';
import type { ProviderResult } from '../../shared/providers/index.ts';
import { MAIL, scripted, startKeeping } from '../ceilings/rig.ts';
import { ask } from '../server/scene.ts';

const answer = (): ProviderResult => ({
  kind: 'completed',
  artifacts: [
    { artifactId: 'plain', parts: [{ text: 'one' }] },
    { artifactId: MAIL, extensions: [`https://x.example/?to=${MAIL}`], parts: [{ text: 'two' }] },
  ],
});

/** The artifacts as Get and List show them, which must be the same. */
async function shown(keeping: Awaited<ReturnType<typeof startKeeping>>, id: string) {
  const got = await ask(keeping.gateway, 'alice', 'GetTask', { id });
  const listed = await ask(keeping.gateway, 'alice', 'ListTasks', { includeArtifacts: true });
  expect(listed.result.tasks[0].artifacts).toEqual(got.result.artifacts);
  return got.result.artifacts;
}
const redacted = [
  { artifactId: 'plain', parts: [{ text: 'one' }] },
  { artifactId: 'artifact-2', parts: [{ text: 'two' }] },
];

test('an id that a provider chose with a finding in it is kept and shown nowhere, and is the same on every path', async () => {
  const only = scripted(answer);
  await using keeping = await startKeeping({ adapters: { only }, levels: { profile: 'redacted' } });
  const id = await keeping.send('go');
  await keeping.gateway.runAll();
  expect(await shown(keeping, id)).toEqual(redacted);
  expect(await keeping.found(MAIL)).toEqual([]);
});

test('a task that was kept in full shows that same id once its level is redacted', async () => {
  const only = scripted(answer);
  await using keeping = await startKeeping({ adapters: { only } });
  const id = await keeping.send('go');
  await keeping.gateway.runAll();
  expect((await shown(keeping, id))[1].artifactId).toBe(MAIL);
  await keeping.inForce({ profile: 'redacted' });
  expect(await shown(keeping, id)).toEqual(redacted);
});
