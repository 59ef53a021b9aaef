import { expect, test } from 'vitest';
import type { Part } from '../../shared/protocol/index.ts';
import { echoAdapter, validateResult } from '../../shared/providers/index.ts';
import { agentMessage, countingIds, makeRequest, userMessage } from './requests.ts';

test('echo repeats every part as it is, in order, in one artifact, and nothing of the history', async () => {
  const parts: Part[] = [
    { text: 'one', metadata: { tone: 'dry' } },
    { data: { n: [1, null] } },
    { raw: 'AAEC', mediaType: 'application/octet-stream', filename: 'three.bin' },
    { url: 'https://hooks.example.com/a', filename: 'a' },
    { text: '' },
    { data: null },
  ];
  const request = makeRequest({
    message: userMessage(parts),
    history: [agentMessage([{ text: 'earlier' }])],
    contextMessages: [userMessage([{ text: 'before' }], 'm-0')],
  });
  const result = validateResult(await echoAdapter.run(request), countingIds());
  expect(result).toEqual({ kind: 'completed', artifacts: [{ artifactId: 'id-1', name: 'echo', parts }] });
});
