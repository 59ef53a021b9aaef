import type { StreamItem } from '../../shared/client/index.ts';
import { MESSAGE, type Reply, status, task } from './fake-agent.ts';

export const SEND = { message: MESSAGE };
export const WORKING = { result: { task: task('TASK_STATE_WORKING') } };
export const DONE = { result: status('TASK_STATE_COMPLETED') };
export const ARTIFACT = {
  result: {
    artifactUpdate: {
      taskId: 't-1',
      contextId: 'c-1',
      artifact: { artifactId: 'a', parts: [{ text: 'x' }] },
    },
  },
};
export const FINISHED = {
  kind: 'end',
  end: { kind: 'finished', taskId: 't-1', state: 'TASK_STATE_COMPLETED' },
};

export function kinds(items: readonly StreamItem[]): string[] {
  return items.map((item) =>
    item.kind === 'event' ? item.event.kind : item.kind === 'end' ? `end:${item.end.kind}` : item.kind,
  );
}

/** Writes text as it stands, in chunks of `size` bytes, and ends the answer. */
export function bytes(text: (id: unknown) => string, size = Number.POSITIVE_INFINITY): Reply {
  return async (response, seen) => {
    response.writeHead(200, { 'content-type': 'Text/Event-Stream; charset=utf-8' });
    const all = Buffer.from(text(JSON.stringify(seen.rpc.id)));
    for (let at = 0; at < all.length; at += size) {
      await new Promise((resolve) =>
        response.write(all.subarray(at, Math.min(all.length, at + size)), resolve),
      );
    }
    response.end();
  };
}
